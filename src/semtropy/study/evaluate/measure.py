"""The last step of an evaluation: from the scores of one recording to AUROCs, curves, savings and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from .metrics import (
    accuracy_rejection_area,
    auroc,
    calibration_error,
    cross_fitted,
    half_width,
    interval,
    resampled_auroc,
    round_scores,
)
from .resampling import ResamplingPlan, seed_words
from .results import AdaptiveCurve, AlphaTrial, Cell, Comparison, EvaluatedRecording, Results, Saving

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...nouns import Floats
    from .metrics import Bools
    from .prepare import StudyRecording
    from .resampling import Scores


# Adaptive budgets: stop sampling a question at the first n where a statistic of its belief is at most t.
#
# Sweeping t gives a curve of AUROC against the mean number of samples. A rule is a statistic of the belief: arrays of
# shape (budgets, questions) in and out.


GRID_POINTS = 2000
# Bands vary slowly along a curve: a few points of it and a few resamples are enough.
BAND_POINTS, BAND_RESAMPLES = 13, 300

# (mean, variance, entropy threshold) -> statistic; the threshold of a question comes from its training fold.
Statistic = Callable[["Floats", "Floats", "Floats"], "Floats"]


def variance_statistic(mean: Floats, variance: Floats, threshold: Floats) -> Floats:
    """The statistic of the paper's rule, `VarianceBelow`: the variance."""
    return variance


def decided_statistic(mean: Floats, variance: Floats, threshold: Floats) -> Floats:
    """The statistic of `Decided`: min(p, 1 - p) with p = P(entropy > threshold).

    p is that of a normal distribution with the belief's mean and variance: the exact distribution at every step
    would cost more than the rest of an evaluation.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(mean - threshold) / np.sqrt(variance)
    return np.asarray(ndtr(-np.nan_to_num(z, nan=0.0, posinf=np.inf)))


RULES: dict[str, Statistic] = {"variance": variance_statistic, "decided": decided_statistic}


def grid(budget: int, first: int = 1) -> Floats:
    """The mean budgets at which curves are evaluated: 2,000 points from the first to the largest budget."""
    return np.linspace(float(first), budget, GRID_POINTS)


def stops(statistic: Floats, threshold: float) -> NDArray[np.intp]:
    """Index of the budget at which each question stops: the first with statistic <= threshold, else the last.

    >>> stops(np.array([[0.9, 0.1], [0.4, 0.2], [0.3, 0.3]]), 0.4).tolist()
    [1, 0]
    """
    stopped = statistic <= threshold
    stopped[-1] = True
    places: NDArray[np.intp] = stopped.argmax(axis=0)
    return places


def sweep(mean: Floats, statistic: Floats, wrong: Bools, first: int = 1) -> tuple[Floats, Floats]:
    """Mean budgets (ascending) and AUROCs over the thresholds: percentiles 0 .. 100 of all statistics, and 0.

    Thresholds with the same mean budget give one point.
    """
    thresholds = np.append(np.percentile(statistic, np.arange(101)), 0.0)
    questions = np.arange(mean.shape[1])
    points: dict[float, float] = {}
    for threshold in np.unique(thresholds)[::-1]:
        stop = stops(statistic, float(threshold))
        budget = float(stop.mean() + first)
        if budget not in points:
            points[budget] = float(auroc(mean[stop, questions], wrong))
    return np.array(list(points)), np.array(list(points.values()))


def curve(
    scores: Scores,
    wrong: Bools,
    rule: Statistic,
    threshold: Floats,
    *,
    bootstrap: int = 0,
    seed: int | Sequence[int] = 0,
) -> tuple[Floats, Floats]:
    """AUROC on the grid of mean budgets, averaged over the repeats, and half of its 95% interval.

    The interval is over questions and repeats together with a `bootstrap`, else over the repeats alone.
    """
    assert scores.variance is not None, "a method without a variance has no adaptive curve"
    first = scores.first or 0
    points = grid(len(scores.mean) + first - 1, first)
    mean, statistic = round_scores(scores.mean), round_scores(rule(scores.mean, scores.variance, threshold))
    lines = [
        np.interp(points, *sweep(mean[:, repeat], statistic[:, repeat], wrong, first))
        for repeat in range(mean.shape[1])
    ]
    stacked = np.stack(lines, axis=-1)
    if bootstrap < 1:
        return stacked.mean(axis=-1), half_width(stacked)
    budgets, widths = _bands(mean, statistic, wrong, min(bootstrap, BAND_RESAMPLES), seed)
    return stacked.mean(axis=-1), np.interp(points, budgets + first, widths)


def _bands(
    mean: Floats, statistic: Floats, wrong: Bools, resamples: int, seed: int | Sequence[int]
) -> tuple[Floats, Floats]:
    """Mean budgets, ascending, and 1.96 standard deviations of the AUROC over resamples, at a few thresholds."""
    questions = np.arange(wrong.size)
    budgets, rows = [], []
    for cut in np.unique(np.percentile(statistic, np.linspace(0, 100, BAND_POINTS)))[::-1]:
        places = [stops(statistic[:, repeat], float(cut)) for repeat in range(mean.shape[1])]
        budgets.append(float(np.mean(places)))
        rows.append([mean[place, repeat, questions] for repeat, place in enumerate(places)])
    areas = resampled_auroc(np.array(rows), wrong, resamples=resamples, seed=seed)
    order = np.argsort(budgets, kind="stable")
    return np.array(budgets)[order], 1.96 * np.nanstd(areas, axis=-1)[order]


def saving(points: Floats, areas: Floats, target: float, samples: int = 10) -> float | None:
    """The smallest mean budget at which a curve reaches `target`, divided by `samples`; None if it never does.

    >>> saving(np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.7, 0.8]), 0.7)
    0.2
    """
    reached = np.flatnonzero(areas >= target)
    return float(points[reached[0]]) / samples if len(reached) else None


# Savings are relative to `histogram` with this many samples.
BASELINE_SAMPLES = 10
# The estimator that others are compared with by default: the first of these that was evaluated.
REFERENCES = ("bayes", "bayes-paper", "histogram")


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """What to measure: the fixed budgets reported, how samples were drawn, and the comparisons."""

    budgets: tuple[int, ...]
    plan: ResamplingPlan
    against: str | None = None
    bootstrap: int = 1000


def measure(recording: StudyRecording, options: MeasureOptions) -> Results:
    """The results of one recording; empty but for a note where all its answers are wrong or all are right."""
    wrong = np.array([bool(question.wrong) for question in recording.test])
    if wrong.all() or not wrong.any():
        label = "wrong" if wrong.all() else "correct"
        line = f"{recording.model} on {recording.dataset}: left out, because every tested answer is {label}"
        return Results(notes=(*recording.notes, line))
    measuring = _Measuring(recording, options, wrong)
    curves = measuring.curves()
    savings, more = measuring.savings(curves)
    return Results(
        tested=(measuring.tested(),),
        cells=measuring.cells(),
        curves=curves,
        savings=savings,
        comparisons=measuring.comparisons(),
        trials=measuring.trials(),
        notes=(*recording.notes, *more),
    )


class _Measuring:
    """A recording and its scores; each method makes one part of the results."""

    def __init__(self, recording: StudyRecording, options: MeasureOptions, wrong: Bools) -> None:
        self.recording, self.options, self.wrong = recording, options, wrong
        self.names = (recording.model, recording.dataset)
        self.methods, self.scores = recording.methods, recording.scores
        self.thresholds = np.concatenate(
            [np.full(len(fold.test), fold.threshold) for fold in recording.folds]
        )
        self.seed = seed_words("bootstrap", options.plan.seed)
        self.means = {name: round_scores(scores.mean) for name, scores in recording.scores.items()}
        # The AUROCs of every method on the same resamples of questions and repeats; none without a bootstrap.
        self.resamples: dict[str, Floats] = {}
        if options.bootstrap > 0:
            for name in self.methods:
                means, first = self.means[name], self.scores[name].first
                if first is not None:
                    means = means[[n - first for n in self.budgets(name)]]
                self.resamples[name] = resampled_auroc(
                    means, wrong, resamples=options.bootstrap, seed=self.seed
                )

    def budgets(self, *names: str) -> list[int]:
        """The budgets at which all of the methods have scores."""
        return [
            n for n in self.options.budgets if all(self.scores[name].row(n) is not None for name in names)
        ]

    def area(self, name: str, budget: int) -> float:
        """The AUROC of a method at one budget, averaged over the repeats."""
        row = self.scores[name].row(budget)
        assert row is not None, "asked for a budget that the method has no score for"
        return float(auroc(self.means[name][row], self.wrong).mean())

    def resampled(self, name: str, budget: int) -> Floats:
        """The resampled AUROCs of a method at one budget."""
        constant = self.scores[name].first is None
        one: Floats = self.resamples[name][0 if constant else self.budgets(name).index(budget)]
        return one

    def tested(self) -> EvaluatedRecording:
        wrong, threshold = self.wrong, float(np.mean(self.thresholds))
        return EvaluatedRecording(*self.names, wrong.size, int(wrong.sum()), self.recording.train, threshold)

    def cells(self) -> tuple[Cell, ...]:
        found: list[Cell] = []
        for name in self.methods:
            means, bounds = self.means[name], self._bounds(name)
            areas = auroc(means, self.wrong).mean(axis=-1)
            rejection = accuracy_rejection_area(means, self.wrong).mean(axis=-1)
            errors = calibration_error(cross_fitted(means, self.wrong), self.wrong).mean(axis=-1)
            for budget, (low, high) in bounds.items():
                at = self.scores[name].row(budget)
                area, kept, error = map(float, (areas[at], rejection[at], errors[at]))
                width = (high - low) / 2
                found.append(Cell(*self.names, name, budget, area, width, kept, error, low, high))
        return tuple(replace(cell, tied=self._tied(cell, found)) for cell in found)

    def _bounds(self, name: str) -> dict[int, tuple[float, float]]:
        """The 95% interval of the AUROC at each budget."""
        if name in self.resamples:
            return {n: interval(self.resampled(name, n)) for n in self.budgets(name)}
        areas = auroc(self.means[name], self.wrong)
        means, widths = areas.mean(axis=-1), half_width(areas)
        rows = {n: self.scores[name].row(n) for n in self.budgets(name)}
        return {n: (float(means[at] - widths[at]), float(means[at] + widths[at])) for n, at in rows.items()}

    def _tied(self, cell: Cell, cells: Sequence[Cell]) -> bool:
        """Whether the best method at the cell's budget is not better than this one beyond chance."""
        best = max((each for each in cells if each.budget == cell.budget), key=lambda each: each.auroc)
        if best is cell or cell.estimator not in self.resamples:
            return best is cell or cell.high >= best.low
        ours, theirs = (self.resampled(each.estimator, cell.budget) for each in (cell, best))
        return interval(ours - theirs)[1] >= 0

    def curves(self) -> tuple[AdaptiveCurve, ...]:
        options, found = self.options, []
        for name in self.methods:
            scores = self.scores[name]
            if scores.variance is None:
                continue
            points = grid(options.plan.budget, scores.first or 0)
            for rule, statistic in RULES.items():
                areas, widths = curve(
                    scores,
                    self.wrong,
                    statistic,
                    self.thresholds,
                    bootstrap=options.bootstrap,
                    seed=self.seed,
                )
                found.append(AdaptiveCurve(*self.names, name, rule, points, areas, widths))
        return tuple(found)

    def savings(self, curves: Sequence[AdaptiveCurve]) -> tuple[tuple[Saving, ...], tuple[str, ...]]:
        """The savings, and a note where there can be none."""
        if not curves:
            return (), ()
        if self.options.plan.budget < BASELINE_SAMPLES:
            line = f"no savings: they need budgets up to {BASELINE_SAMPLES}"
            return (), (f"{' on '.join(self.names)}: {line}",)
        target = self.area("histogram", BASELINE_SAMPLES)
        shares = [saving(each.mean_budget, each.auroc, target, BASELINE_SAMPLES) for each in curves]
        return tuple(
            Saving(*self.names, each.estimator, each.rule, share)
            for each, share in zip(curves, shares, strict=True)
        ), ()

    def comparisons(self) -> tuple[Comparison, ...]:
        against = self.options.against or next((name for name in REFERENCES if name in self.methods), None)
        if against is None or against not in self.resamples:
            return ()
        found = []
        for name in (name for name in self.methods if name != against):
            for budget in self.budgets(name, against):
                gap = self.area(name, budget) - self.area(against, budget)
                gaps = self.resampled(name, budget) - self.resampled(against, budget)
                found.append(Comparison(*self.names, name, against, budget, gap, *interval(gaps)))
        return tuple(found)

    def trials(self) -> tuple[AlphaTrial, ...]:
        found = []
        for name, scores in self.scores.items():
            estimator, marker, alpha = name.partition("@")
            if marker:
                areas = auroc(self.means[name], self.wrong)
                for budget in self.budgets(name):
                    row = scores.row(budget)
                    figures = float(areas[row].mean()), float(half_width(areas)[row])
                    found.append(AlphaTrial(*self.names, estimator, float(alpha), budget, *figures))
        return tuple(found)

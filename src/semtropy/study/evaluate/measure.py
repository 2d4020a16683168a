"""The last step of an evaluation: from the scores of one recording to AUROCs, curves, savings and comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .adaptive import RULES, curve, grid, saving
from .bootstrap import interval, resampled_auroc
from .metrics import accuracy_rejection_area, auroc, calibration_error, half_width, round_scores
from .regression import cross_fitted
from .resample import ResamplingPlan, Scores, seed_words
from .results import AdaptiveCurve, AlphaTrial, Cell, Comparison, EvaluatedRecording, Results, Saving

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .metrics import Bools, Floats
    from .prepare import PreparedRecording

    # The AUROCs of each method on the same resamples, shape (budgets, resamples).
    Resamples = Mapping[str, Floats]

__all__ = ["BASELINE_SAMPLES", "MeasureOptions", "measure"]

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


@dataclass(frozen=True, slots=True)
class _ScoredRecording:
    """The scores and labels of one recording's test questions."""

    model: str
    dataset: str
    wrong: Bools
    scores: Mapping[str, Scores]
    options: MeasureOptions

    def at(self, name: str, budget: int) -> Floats:
        """The scores at one budget, shape (draws, questions); those of a scorer are the same at every budget."""
        row = self.scores[name].row(budget)
        assert row is not None, "asked for a budget that the method has no score for"
        return round_scores(self.scores[name].mean[row])

    def budgets(self, *names: str) -> list[int]:
        """The budgets at which all of the methods have scores."""
        return [
            n for n in self.options.budgets if all(self.scores[name].row(n) is not None for name in names)
        ]


def measure(
    prepared_and_scores: tuple[PreparedRecording, Mapping[str, Scores]], options: MeasureOptions
) -> Results:
    """The results of one recording; empty but for a note where all its answers are wrong or all are right."""
    prepared, scores = prepared_and_scores
    wrong = np.array([bool(question.wrong) for question in prepared.test])
    notes = prepared.notes
    if wrong.all() or not wrong.any():
        label = "wrong" if wrong.all() else "correct"
        line = f"{prepared.model} on {prepared.dataset}: left out, because every tested answer is {label}"
        return Results((), (), (), (), (), (), (*notes, line))
    thresholds = np.concatenate([np.full(len(fold.test), fold.threshold) for fold in prepared.folds])
    recording = _ScoredRecording(prepared.model, prepared.dataset, wrong, scores, options)
    resamples = _resampled(recording, prepared.methods)
    curves = _curves(recording, prepared.methods, thresholds)
    savings, more = _savings(recording, curves)
    tested = EvaluatedRecording(
        prepared.model,
        prepared.dataset,
        wrong.size,
        int(wrong.sum()),
        prepared.train,
        float(np.mean(thresholds)),
    )
    return Results(
        tested=(tested,),
        cells=_cells(recording, prepared.methods, resamples),
        curves=curves,
        savings=savings,
        comparisons=_comparisons(recording, prepared.methods, resamples),
        trials=_trials(recording),
        notes=(*notes, *more),
    )


def _cells(recording: _ScoredRecording, methods: tuple[str, ...], resamples: Resamples) -> tuple[Cell, ...]:
    bounds = {name: _bounds(recording, name, resamples) for name in methods}
    found: list[Cell] = []
    for name in methods:
        means = round_scores(recording.scores[name].mean)
        areas = auroc(means, recording.wrong).mean(axis=-1)
        rejection = accuracy_rejection_area(means, recording.wrong).mean(axis=-1)
        errors = calibration_error(cross_fitted(means, recording.wrong), recording.wrong).mean(axis=-1)
        for budget, (low, high) in bounds[name].items():
            at = recording.scores[name].row(budget)
            figures = (areas[at], (high - low) / 2, rejection[at], errors[at])
            area, width, kept, error = map(float, figures)
            names = (recording.model, recording.dataset, name, budget)
            found.append(Cell(*names, area, width, kept, error, low, high))
    return tuple(replace(cell, tied=_tied(cell, found, recording, resamples)) for cell in found)


def _bounds(recording: _ScoredRecording, name: str, resamples: Resamples) -> dict[int, tuple[float, float]]:
    """The 95% interval of the AUROC at each budget."""
    if name in resamples:
        return {n: interval(_at(resamples, recording, name, n)) for n in recording.budgets(name)}
    areas = auroc(round_scores(recording.scores[name].mean), recording.wrong)
    means, widths = areas.mean(axis=-1), half_width(areas)
    rows = {n: recording.scores[name].row(n) for n in recording.budgets(name)}
    return {n: (float(means[at] - widths[at]), float(means[at] + widths[at])) for n, at in rows.items()}


def _tied(cell: Cell, cells: Sequence[Cell], recording: _ScoredRecording, resamples: Resamples) -> bool:
    """Whether the best method at the cell's budget is not better than this one beyond chance."""
    best = max((each for each in cells if each.budget == cell.budget), key=lambda each: each.auroc)
    if best is cell or cell.estimator not in resamples:
        return best is cell or cell.high >= best.low
    ours, theirs = (_at(resamples, recording, each.estimator, cell.budget) for each in (cell, best))
    return interval(ours - theirs)[1] >= 0


def _curves(
    recording: _ScoredRecording, methods: tuple[str, ...], thresholds: Floats
) -> tuple[AdaptiveCurve, ...]:
    return tuple(
        AdaptiveCurve(
            recording.model,
            recording.dataset,
            name,
            rule,
            grid(recording.options.plan.budget, recording.scores[name].first or 0),
            *curve(
                recording.scores[name],
                recording.wrong,
                statistic,
                thresholds,
                bootstrap=recording.options.bootstrap,
                seed=seed_words("bootstrap", recording.options.plan.seed),
            ),
        )
        for name in methods
        if recording.scores[name].variance is not None
        for rule, statistic in RULES.items()
    )


def _savings(
    recording: _ScoredRecording, curves: tuple[AdaptiveCurve, ...]
) -> tuple[tuple[Saving, ...], tuple[str, ...]]:
    if not curves:
        return (), ()
    if recording.options.plan.budget < BASELINE_SAMPLES:
        line = f"no savings: they need budgets up to {BASELINE_SAMPLES}"
        return (), (f"{recording.model} on {recording.dataset}: {line}",)
    target = float(auroc(recording.at("histogram", BASELINE_SAMPLES), recording.wrong).mean())
    savings = tuple(
        Saving(
            recording.model,
            recording.dataset,
            each.estimator,
            each.rule,
            saving(each.mean_budget, each.auroc, target, BASELINE_SAMPLES),
        )
        for each in curves
    )
    return savings, ()


def _resampled(recording: _ScoredRecording, methods: tuple[str, ...]) -> Resamples:
    """The AUROCs of every method on the same resamples of questions and draws; none without a bootstrap."""
    options = recording.options
    if options.bootstrap < 1:
        return {}
    seed = seed_words("bootstrap", options.plan.seed)
    return {
        name: resampled_auroc(
            _all_budgets(recording, name), recording.wrong, repeats=options.bootstrap, seed=seed
        )
        for name in methods
    }


def _comparisons(
    recording: _ScoredRecording, methods: tuple[str, ...], resamples: Resamples
) -> tuple[Comparison, ...]:
    options = recording.options
    against = options.against or next((name for name in REFERENCES if name in methods), None)
    if against is None or against not in resamples:
        return ()
    found = []
    for name in methods:
        if name == against:
            continue
        for budget in recording.budgets(name, against):
            ours, theirs = (
                auroc(recording.at(each, budget), recording.wrong).mean() for each in (name, against)
            )
            gaps = _at(resamples, recording, name, budget) - _at(resamples, recording, against, budget)
            names = (recording.model, recording.dataset, name, against, budget)
            found.append(Comparison(*names, float(ours - theirs), *interval(gaps)))
    return tuple(found)


def _all_budgets(recording: _ScoredRecording, name: str) -> Floats:
    scores = recording.scores[name]
    means = round_scores(scores.mean)
    if scores.first is None:
        return means
    return means[[n - scores.first for n in recording.budgets(name)]]


def _at(resamples: Resamples, recording: _ScoredRecording, name: str, budget: int) -> Floats:
    """The resampled AUROCs of a method at one budget."""
    constant = recording.scores[name].first is None
    one: Floats = resamples[name][0 if constant else recording.budgets(name).index(budget)]
    return one


def _trials(recording: _ScoredRecording) -> tuple[AlphaTrial, ...]:
    trials = []
    for name, scores in recording.scores.items():
        estimator, marker, alpha = name.partition("@")
        if marker:
            areas = auroc(round_scores(scores.mean), recording.wrong)
            widths = half_width(areas)
            trials += [
                AlphaTrial(
                    recording.model, recording.dataset, estimator, float(alpha), budget, *map(float, at)
                )
                for budget in recording.budgets(name)
                for row in [scores.row(budget)]
                for at in [(areas[row].mean(), widths[row])]
            ]
    return tuple(trials)

"""The last step of an evaluation: from the scores of one recording to AUROCs, curves, savings and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .adaptive import RULES, curve, grid, saving
from .bootstrap import interval, resampled_auroc
from .metrics import accuracy_rejection_area, auroc, calibration_error, half_width, round_scores
from .regression import cross_fitted
from .resample import ResamplingPlan, Scores, seed_words
from .results import AdaptiveCurve, AlphaTrial, Cell, Comparison, EvaluatedRecording, Results, Saving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .metrics import Bools, Floats
    from .prepare import PreparedRecording

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
        means = self.scores[name].mean
        return round_scores(means[min(budget, len(means)) - 1])


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
        cells=_cells(recording, prepared.methods),
        curves=curves,
        savings=savings,
        comparisons=_comparisons(recording, prepared.methods),
        trials=_trials(recording),
        notes=(*notes, *more),
    )


def _cells(recording: _ScoredRecording, methods: tuple[str, ...]) -> tuple[Cell, ...]:
    cells = []
    for name in methods:
        means = round_scores(recording.scores[name].mean)
        areas = auroc(means, recording.wrong)
        widths = half_width(areas)
        rejection = accuracy_rejection_area(means, recording.wrong).mean(axis=-1)
        errors = calibration_error(cross_fitted(means, recording.wrong), recording.wrong).mean(axis=-1)
        for budget in recording.options.budgets:
            at = min(budget, len(means)) - 1
            figures = (areas[at].mean(), widths[at], rejection[at], errors[at])
            cells.append(Cell(recording.model, recording.dataset, name, budget, *map(float, figures)))
    return tuple(cells)


def _curves(
    recording: _ScoredRecording, methods: tuple[str, ...], thresholds: Floats
) -> tuple[AdaptiveCurve, ...]:
    points = grid(recording.options.plan.budget)
    return tuple(
        AdaptiveCurve(
            recording.model,
            recording.dataset,
            name,
            rule,
            points,
            *curve(recording.scores[name], recording.wrong, statistic, thresholds),
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


def _comparisons(recording: _ScoredRecording, methods: tuple[str, ...]) -> tuple[Comparison, ...]:
    options = recording.options
    against = options.against or next((name for name in REFERENCES if name in methods), None)
    if against not in methods or options.bootstrap < 1:
        return ()
    seed = seed_words("bootstrap", options.plan.seed)
    resamples = {
        name: resampled_auroc(
            _all_budgets(recording, name), recording.wrong, repeats=options.bootstrap, seed=seed
        )
        for name in methods
    }
    found = []
    for name in methods:
        if name == against:
            continue
        for place, budget in enumerate(options.budgets):
            ours, theirs = (
                auroc(recording.at(each, budget), recording.wrong).mean() for each in (name, against)
            )
            gaps = _at(resamples[name], place) - _at(resamples[against], place)
            names = (recording.model, recording.dataset, name, against, budget)
            found.append(Comparison(*names, float(ours - theirs), *interval(gaps)))
    return tuple(found)


def _all_budgets(recording: _ScoredRecording, name: str) -> Floats:
    means = round_scores(recording.scores[name].mean)
    return means if len(means) == 1 else means[[budget - 1 for budget in recording.options.budgets]]


def _at(resamples: Floats, place: int) -> Floats:
    one: Floats = resamples[min(place, len(resamples) - 1)]
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
                for budget in recording.options.budgets
                for at in [(areas[budget - 1].mean(), widths[budget - 1])]
            ]
    return tuple(trials)

"""The last step of a study: from beliefs to the figures of one recording."""

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

# Savings are told against `histogram` at this many samples.
BASELINE_SAMPLES = 10
# The estimator that others are compared with unless told otherwise: the first of these that is there.
REFERENCES = ("bayes", "bayes-paper", "histogram")


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """What to measure: the budgets told, how samples were drawn, the comparisons."""

    budgets: tuple[int, ...]
    plan: ResamplingPlan
    against: str | None = None
    bootstrap: int = 1000


@dataclass(frozen=True, slots=True)
class _Pair:
    model: str
    dataset: str
    wrong: Bools
    scores: Mapping[str, Scores]
    measures: MeasureOptions

    def at(self, name: str, budget: int) -> Floats:
        """The scores of one budget, (draws, questions); a constant's are the same at all."""
        means = self.scores[name].mean
        return round_scores(means[min(budget, len(means)) - 1])


def measure(
    prepared_and_scores: tuple[PreparedRecording, Mapping[str, Scores]], measures: MeasureOptions
) -> Results:
    """Everything a study tells of one recording."""
    prepared, scores = prepared_and_scores
    wrong = np.array([bool(question.wrong) for question in prepared.test])
    notes = prepared.notes
    if wrong.all() or not wrong.any():
        kind = "wrong" if wrong.all() else "correct"
        line = f"{prepared.model} on {prepared.dataset}: left out, for every tested answer is {kind}"
        return Results((), (), (), (), (), (), (*notes, line))
    thresholds = np.concatenate([np.full(len(fold.test), fold.threshold) for fold in prepared.folds])
    pair = _Pair(prepared.model, prepared.dataset, wrong, scores, measures)
    curves = _curves(pair, prepared.methods, thresholds)
    savings, more = _savings(pair, curves)
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
        cells=_cells(pair, prepared.methods),
        curves=curves,
        savings=savings,
        comparisons=_comparisons(pair, prepared.methods),
        trials=_trials(pair),
        notes=(*notes, *more),
    )


def _cells(pair: _Pair, methods: tuple[str, ...]) -> tuple[Cell, ...]:
    cells = []
    for name in methods:
        means = round_scores(pair.scores[name].mean)
        areas = auroc(means, pair.wrong)
        widths = half_width(areas)
        rejection = accuracy_rejection_area(means, pair.wrong).mean(axis=-1)
        errors = calibration_error(cross_fitted(means, pair.wrong), pair.wrong).mean(axis=-1)
        for budget in pair.measures.budgets:
            at = min(budget, len(means)) - 1
            figures = (areas[at].mean(), widths[at], rejection[at], errors[at])
            cells.append(Cell(pair.model, pair.dataset, name, budget, *map(float, figures)))
    return tuple(cells)


def _curves(pair: _Pair, methods: tuple[str, ...], thresholds: Floats) -> tuple[AdaptiveCurve, ...]:
    points = grid(pair.measures.plan.budget)
    return tuple(
        AdaptiveCurve(
            pair.model,
            pair.dataset,
            name,
            rule,
            points,
            *curve(pair.scores[name], pair.wrong, statistic, thresholds),
        )
        for name in methods
        if pair.scores[name].variance is not None
        for rule, statistic in RULES.items()
    )


def _savings(pair: _Pair, curves: tuple[AdaptiveCurve, ...]) -> tuple[tuple[Saving, ...], tuple[str, ...]]:
    if not curves:
        return (), ()
    if pair.measures.plan.budget < BASELINE_SAMPLES:
        line = f"no savings: they need budgets up to {BASELINE_SAMPLES}"
        return (), (f"{pair.model} on {pair.dataset}: {line}",)
    target = float(auroc(pair.at("histogram", BASELINE_SAMPLES), pair.wrong).mean())
    savings = tuple(
        Saving(
            pair.model,
            pair.dataset,
            each.estimator,
            each.rule,
            saving(each.mean_budget, each.auroc, target, BASELINE_SAMPLES),
        )
        for each in curves
    )
    return savings, ()


def _comparisons(pair: _Pair, methods: tuple[str, ...]) -> tuple[Comparison, ...]:
    measures = pair.measures
    against = measures.against or next((name for name in REFERENCES if name in methods), None)
    if against not in methods or measures.bootstrap < 1:
        return ()
    seed = seed_words("bootstrap", measures.plan.seed)
    resamples = {
        name: resampled_auroc(_all_budgets(pair, name), pair.wrong, repeats=measures.bootstrap, seed=seed)
        for name in methods
    }
    found = []
    for name in methods:
        if name == against:
            continue
        for place, budget in enumerate(measures.budgets):
            ours, theirs = (auroc(pair.at(each, budget), pair.wrong).mean() for each in (name, against))
            gaps = _at(resamples[name], place) - _at(resamples[against], place)
            names = (pair.model, pair.dataset, name, against, budget)
            found.append(Comparison(*names, float(ours - theirs), *interval(gaps)))
    return tuple(found)


def _all_budgets(pair: _Pair, name: str) -> Floats:
    means = round_scores(pair.scores[name].mean)
    return means if len(means) == 1 else means[[budget - 1 for budget in pair.measures.budgets]]


def _at(resamples: Floats, place: int) -> Floats:
    one: Floats = resamples[min(place, len(resamples) - 1)]
    return one


def _trials(pair: _Pair) -> tuple[AlphaTrial, ...]:
    trials = []
    for name, scores in pair.scores.items():
        estimator, marker, alpha = name.partition("@")
        if marker:
            areas = auroc(round_scores(scores.mean), pair.wrong)
            widths = half_width(areas)
            trials += [
                AlphaTrial(pair.model, pair.dataset, estimator, float(alpha), budget, *map(float, at))
                for budget in pair.measures.budgets
                for at in [(areas[budget - 1].mean(), widths[budget - 1])]
            ]
    return tuple(trials)

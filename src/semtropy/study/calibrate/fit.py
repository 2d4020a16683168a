"""Fit a calibration on a graded recording: which curve, by cross-validation, and which threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...calibration import Calibration, Isotonic, Logistic
from ...errors import InputError
from ...estimators import load_estimator
from ...recording import Recording, read_recording
from ..evaluate.metrics import calibration_error, round_scores
from ..evaluate.questions import StudyQuestion, sorted_by_id
from ..evaluate.regression import isotonic, log_loss, logistic
from ..evaluate.resample import ResamplingPlan, estimate_draws

if TYPE_CHECKING:
    from ..evaluate.metrics import Bools, Floats
    from ..evaluate.prepare import RecordingSource

__all__ = ["FittedCalibration", "ReliabilityBin", "fit_calibration", "threshold_for"]

Fit = Callable[["Floats", "Bools", int], Logistic | Isotonic]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers with about the same probability: how many, the mean probability, and how many of them are wrong."""

    answers: int
    probability: float
    frequency: float


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A calibration with the evidence for it, all of it from questions held out of the fit.

    `kept` is the share of answers that pass the threshold and `error` how many of those are wrong.
    """

    calibration: Calibration
    losses: dict[str, float]
    ece: float
    bins: tuple[ReliabilityBin, ...]
    kept: float | None
    error: float | None


def fit_calibration(
    source: RecordingSource,
    *,
    estimator: str = "bayes",
    budgets: Sequence[int] = tuple(range(1, 11)),
    target_error: float = 0.1,
    seeds: int = 5,
    seed: int = 0,
    folds: int = 5,
    options: dict[str, Any] | None = None,
) -> FittedCalibration:
    """Fit P(hallucination | belief) on the graded questions of a recording.

    Beliefs are those after each of `budgets` samples, because a check that stops when it is sure may stop at any
    of them. A question's beliefs are all in one fold. `options` (such as `prior`) go to the estimator and must be
    those it is used with later.
    """
    recording = source if isinstance(source, Recording) else read_recording(source)
    asked = [
        question for question in map(StudyQuestion.of, sorted_by_id(recording)) if question.wrong is not None
    ]
    labels = np.array([bool(question.wrong) for question in asked])
    if labels.sum() < folds or (~labels).sum() < folds:
        raise InputError(
            f"{len(labels)} graded questions, {int(labels.sum())} of them wrong: "
            f"a calibration needs at least {folds} wrong and {folds} right ones"
        )
    if not 0 < target_error < 1:
        raise InputError(f"the target error is {target_error}: a share of answers between 0 and 1")
    plan = ResamplingPlan(budget=max(budgets), draws=seeds, seed=seed)
    loaded = load_estimator(estimator, **(options or {}))
    beliefs = estimate_draws(asked, {estimator: loaded}, plan)[estimator].mean[
        [n - 1 for n in sorted(set(budgets))]
    ]
    scores = round_scores(beliefs).reshape(-1)
    wrong = np.broadcast_to(labels, beliefs.shape).reshape(-1)
    fold = np.broadcast_to(_stratified(labels, folds), beliefs.shape).reshape(-1)
    held_out = {kind: _held_out(fit, scores, wrong, fold, len(labels)) for kind, fit in FITS.items()}
    losses = {kind: log_loss(probabilities, wrong) for kind, probabilities in held_out.items()}
    kind = min(losses, key=losses.__getitem__)
    threshold = threshold_for(held_out[kind], wrong, target_error)
    calibration = Calibration(
        FITS[kind](scores, wrong, len(labels)),
        estimator=estimator,
        threshold=threshold,
        target_error=target_error,
        about=MappingProxyType(_about(recording, labels, budgets)),
    )
    passing = None if threshold is None else held_out[kind] <= threshold
    return FittedCalibration(
        calibration=calibration,
        losses=losses,
        ece=float(calibration_error(held_out[kind], wrong)),
        bins=_bins(held_out[kind], wrong),
        kept=None if passing is None else float(passing.mean()),
        error=None if passing is None else float(wrong[passing].mean()),
    )


def threshold_for(probabilities: Floats, wrong: Bools, target: float) -> float | None:
    """The largest probability such that of the answers up to it at most `target` are wrong; None if there is none.

    >>> threshold_for(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, True]), 0.34)
    0.3
    """
    order = np.argsort(probabilities, kind="stable")
    ranked = probabilities[order]
    errors = np.cumsum(wrong[order]) / np.arange(1, len(ranked) + 1)
    whole_ties = np.append(np.diff(ranked) > 0, True)
    good = np.flatnonzero(whole_ties & (errors <= target))
    return float(ranked[good[-1]]) if len(good) else None


def _logistic(scores: Floats, wrong: Bools, questions: int) -> Logistic:
    slope, intercept = logistic(scores, wrong)
    return Logistic(float(slope), float(intercept))


def _isotonic(scores: Floats, wrong: Bools, questions: int) -> Isotonic:
    """Only the ends of each flat piece are kept, and no probability is surer than the questions are many."""
    knots, values = isotonic(scores, wrong)
    ends = np.ones(len(knots), dtype=bool)
    ends[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    least = 1 / (questions + 2)
    return Isotonic(tuple(knots[ends].tolist()), tuple(np.clip(values[ends], least, 1 - least).tolist()))


FITS: dict[str, Fit] = {"logistic": _logistic, "isotonic": _isotonic}


def _stratified(labels: Bools, folds: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Folds with the same share of wrong answers."""
    fold = np.empty(len(labels), dtype=np.intp)
    for kind in (True, False):
        places = np.flatnonzero(labels == kind)
        fold[places] = np.arange(len(places)) % folds
    return fold


def _held_out(fit: Fit, scores: Floats, wrong: Bools, fold: np.ndarray[Any, Any], questions: int) -> Floats:
    probabilities = np.empty(len(scores))
    for each in np.unique(fold):
        test = fold == each
        probabilities[test] = fit(scores[~test], wrong[~test], questions)(scores[test])
    return probabilities


def _bins(probabilities: Floats, wrong: Bools, many: int = 10) -> tuple[ReliabilityBin, ...]:
    cell = np.minimum((probabilities * many).astype(int), many - 1)
    groups = [cell == each for each in range(many)]
    return tuple(
        ReliabilityBin(int(group.sum()), float(probabilities[group].mean()), float(wrong[group].mean()))
        for group in groups
        if group.any()
    )


def _about(recording: Recording, labels: Bools, budgets: Sequence[int]) -> dict[str, Any]:
    return {
        "model": recording.header.model,
        "dataset": recording.header.dataset,
        "questions": len(labels),
        "wrong": int(labels.sum()),
        "budgets": sorted(set(budgets)),
    }

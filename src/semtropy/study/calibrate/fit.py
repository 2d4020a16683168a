"""Fits a calibration on a graded recording: a curve chosen by cross-validation, and a threshold for a target error."""

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
    """Answers with similar probabilities: how many, their mean probability, and the share that is wrong.

    `low` and `high` are a 95% interval of that share, for the number of different questions among them.
    """

    answers: int
    probability: float
    frequency: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A calibration with its diagnostics, all computed on questions held out of the fit.

    calibration  the curve and the threshold
    losses       the log loss of each kind of curve
    ece          the expected calibration error
    bins         the points of the reliability figure
    kept         the share of answers up to the threshold; None without a threshold
    error        the share of those that is wrong; None without a threshold

    >>> from semtropy.study import example_recording
    >>> from semtropy.study.calibrate import fit_calibration
    >>> fitted = fit_calibration(example_recording(), estimator="histogram", target_error=0.5)
    >>> sorted(fitted.losses)
    ['isotonic', 'logistic']
    """

    calibration: Calibration
    losses: dict[str, float]
    ece: float
    bins: tuple[ReliabilityBin, ...]
    kept: float | None
    error: float | None


@dataclass(frozen=True, slots=True)
class _LabelledScores:
    """Entropies of every budget and draw with the labels and folds of their questions, flattened."""

    scores: Floats
    wrong: Bools
    fold: np.ndarray[Any, np.dtype[np.intp]]
    questions: int

    def held_out(self, fit: Fit) -> Floats:
        """The probability of each score by a curve fitted on the other folds."""
        probabilities = np.empty(len(self.scores))
        for each in np.unique(self.fold):
            test = self.fold == each
            curve = fit(self.scores[~test], self.wrong[~test], self.questions)
            probabilities[test] = curve(self.scores[test])
        return probabilities


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
    """Fit P(hallucination | mean entropy) on the graded questions of a recording.

    source        a recording with meanings and grades, or its path
    estimator     the name of the estimator
    budgets       numbers of samples after which the entropy is estimated, because a check may stop at any of them
    target_error  the largest share of wrong answers among those that are not flagged, which sets the threshold
    seeds         how many times samples are drawn, all from `seed`
    seed          of the draws
    folds         the number of folds of the cross-validation; all entropies of one question are in the same fold
    options       keyword arguments of the estimator, such as `prior`; use it with the same ones later

    >>> from semtropy.study import example_recording
    >>> fitted = fit_calibration(example_recording(), estimator="histogram", target_error=0.5)
    >>> fitted.calibration.estimator, fitted.error <= 0.5
    ('histogram', True)
    """
    if not 0 < target_error < 1:
        raise InputError(f"the target error is {target_error}: a share of answers between 0 and 1")
    steps = tuple(sorted(set(budgets)))
    if not steps or steps[0] < 1:
        raise InputError(f"--budgets are {list(budgets)}: numbers of samples, 1 or more")
    recording = source if isinstance(source, Recording) else read_recording(source)
    questions = [each for each in map(StudyQuestion.of, sorted_by_id(recording)) if each.wrong is not None]
    labels = np.array([bool(question.wrong) for question in questions])
    if labels.sum() < folds or (~labels).sum() < folds:
        raise InputError(
            f"{len(labels)} graded questions, {int(labels.sum())} of them wrong: "
            f"a calibration needs at least {folds} wrong and {folds} right ones"
        )
    plan = ResamplingPlan(budget=steps[-1], draws=seeds, seed=seed, steps=steps)
    loaded = load_estimator(estimator, **(options or {}))
    entropies = round_scores(estimate_draws(questions, {estimator: loaded}, plan)[estimator].mean)
    data = _LabelledScores(
        entropies.reshape(-1),
        np.broadcast_to(labels, entropies.shape).reshape(-1),
        np.broadcast_to(_stratified_folds(labels, folds), entropies.shape).reshape(-1),
        len(labels),
    )
    return _choose_curve(data, estimator, target_error, _provenance(recording, labels, steps))


def _choose_curve(
    data: _LabelledScores, estimator: str, target_error: float, about: dict[str, Any]
) -> FittedCalibration:
    """Fit the kind of curve with the lowest held-out log loss, and the threshold for the target error."""
    held_out = {kind: data.held_out(fit) for kind, fit in FITS.items()}
    losses = {kind: log_loss(probabilities, data.wrong) for kind, probabilities in held_out.items()}
    kind = min(losses, key=losses.__getitem__)
    probabilities = held_out[kind]
    threshold = threshold_for(probabilities, data.wrong, target_error)
    calibration = Calibration(
        FITS[kind](data.scores, data.wrong, data.questions),
        estimator=estimator,
        threshold=threshold,
        target_error=target_error,
        about=MappingProxyType(about),
    )
    passing = None if threshold is None else probabilities <= threshold
    return FittedCalibration(
        calibration=calibration,
        losses=losses,
        ece=float(calibration_error(probabilities, data.wrong)),
        bins=_reliability_bins(probabilities, data),
        kept=None if passing is None else float(passing.mean()),
        error=None if passing is None else float(data.wrong[passing].mean()),
    )


def threshold_for(probabilities: Floats, wrong: Bools, target: float) -> float | None:
    """The largest threshold at which at most `target` of the answers up to it are wrong; None if there is none.

    >>> threshold_for(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, True]), 0.34)
    0.3
    """
    order = np.argsort(probabilities, kind="stable")
    ranked = probabilities[order]
    errors = np.cumsum(wrong[order]) / np.arange(1, len(ranked) + 1)
    last_of_tie = np.append(np.diff(ranked) > 0, True)
    good = np.flatnonzero(last_of_tie & (errors <= target))
    return float(ranked[good[-1]]) if len(good) else None


def _logistic(scores: Floats, wrong: Bools, questions: int) -> Logistic:
    slope, intercept = logistic(scores, wrong)
    return Logistic(float(slope), float(intercept))


def _isotonic(scores: Floats, wrong: Bools, questions: int) -> Isotonic:
    """Keeps only the ends of flat pieces, and clips probabilities to 1 / (questions + 2) away from 0 and 1."""
    knots, values = isotonic(scores, wrong)
    ends = np.ones(len(knots), dtype=bool)
    ends[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    least = 1 / (questions + 2)
    return Isotonic(tuple(knots[ends].tolist()), tuple(np.clip(values[ends], least, 1 - least).tolist()))


FITS: dict[str, Fit] = {"logistic": _logistic, "isotonic": _isotonic}


def _stratified_folds(labels: Bools, folds: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The fold of each question, with the same share of wrong answers in all."""
    fold = np.empty(len(labels), dtype=np.intp)
    for label in (True, False):
        places = np.flatnonzero(labels == label)
        fold[places] = np.arange(len(places)) % folds
    return fold


def _reliability_bins(
    probabilities: Floats, data: _LabelledScores, bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width; the scores of one question are no independent answers, so their bars count questions."""
    cell = np.minimum((probabilities * bins).astype(int), bins - 1)
    question = np.arange(probabilities.size) % data.questions
    found = []
    for each in np.unique(cell):
        inside = cell == each
        frequency = float(data.wrong[inside].mean())
        bounds = wilson(frequency, np.unique(question[inside]).size)
        found.append(
            ReliabilityBin(int(inside.sum()), float(probabilities[inside].mean()), frequency, *bounds)
        )
    return tuple(found)


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95% interval of a probability of which a share was observed in n trials.

    >>> [round(end, 3) for end in wilson(0.0, 10)]
    [0.0, 0.278]
    """
    centre, spread = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (centre - spread) / (1 + z * z / n), (centre + spread) / (1 + z * z / n)
    return min(share, max(0.0, float(low))), max(share, min(1.0, float(high)))


def _provenance(recording: Recording, labels: Bools, budgets: Sequence[int]) -> dict[str, Any]:
    return {
        "model": recording.header.model,
        "dataset": recording.header.dataset,
        "questions": len(labels),
        "wrong": int(labels.sum()),
        "budgets": list(budgets),
    }

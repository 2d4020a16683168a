"""Metrics of how well a score separates hallucinations from correct answers: AUROC, AURAC, calibration error.

`scores` has shape (..., questions), a higher score is more suspicious, and `wrong` has shape (questions,), True for a
hallucination. Where a metric is undefined (no answers at all; for AUROC, all of them wrong or none) it is NaN here and
None in results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["accuracy_rejection_area", "auroc", "calibration_error", "half_width", "round_scores"]

# The same counts in another order give means that differ in the last bits; these must rank as ties.
DECIMALS = 10


def round_scores(scores: ArrayLike) -> Floats:
    """Scores rounded to 10 decimals, so that equal evidence gathered in another order ties.

    >>> float(round_scores(0.1 + 0.2) - round_scores(0.3))
    0.0
    """
    return np.round(np.asarray(scores, dtype=float), DECIMALS)


def _pair(scores: ArrayLike, wrong: ArrayLike) -> tuple[Floats, Bools]:
    try:
        s = np.asarray(scores, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("scores must be numbers") from None
    labels = np.asarray(wrong)
    y = labels.astype(bool)
    if labels.size and (labels.dtype == object or not np.array_equal(labels, y)):
        raise InputError("wrong must be true or false for every question: leave out those without a grade")
    if y.ndim != 1 or s.shape[-1:] != y.shape:
        raise InputError(
            f"scores of shape {s.shape} for {y.shape} labels: the last axis must be the questions"
        )
    if not np.isfinite(s).all():
        raise InputError("scores hold NaN or infinity: leave out the questions without a score")
    return s, y


def auroc(scores: ArrayLike, wrong: ArrayLike) -> Floats:
    """Area under the ROC curve: P(a hallucination scores above a correct answer), ties counting one half.

    >>> float(auroc([0.1, 0.4, 0.4, 0.9], [False, False, True, True]))
    0.875
    """
    s, y = _pair(scores, wrong)
    if y.all() or not y.any():
        return np.full(s.shape[:-1], np.nan)
    flat = s.reshape(-1, y.size)
    right, bad = np.sort(flat[:, ~y], axis=1), flat[:, y]
    beaten = [
        np.searchsorted(row, scores).sum() + np.searchsorted(row, scores, side="right").sum()
        for row, scores in zip(right, bad, strict=True)
    ]
    areas: Floats = np.array(beaten).reshape(s.shape[:-1]) / (2.0 * right.shape[1] * bad.shape[1])
    return areas


def accuracy_rejection_area(scores: ArrayLike, wrong: ArrayLike) -> Floats:
    """AURAC: accuracy among the k least suspicious answers, averaged over k = 1 .. all.

    Tied answers come in random order, in expectation. A perfect score on half-wrong answers:

    >>> round(float(accuracy_rejection_area([0, 0, 1, 1], [False, False, True, True])), 4)
    0.7917
    """
    s, y = _pair(scores, wrong)
    if not y.size:
        return np.full(s.shape[:-1], np.nan)
    flat = s.reshape(-1, s.shape[-1])
    kept = np.arange(1, y.size + 1)
    areas = np.empty(len(flat))
    for place, row in enumerate(flat):
        order = np.argsort(row, kind="stable")
        right = (~y[order]).astype(float)
        last = np.flatnonzero(np.append(np.diff(row[order]) > 0, True))
        # Within a tie the expected number of right answers grows in a straight line.
        total = np.interp(kept, np.append(0, last + 1), np.append(0.0, np.cumsum(right)[last]))
        areas[place] = (total / kept).mean()
    return areas.reshape(s.shape[:-1])


def calibration_error(probabilities: ArrayLike, wrong: ArrayLike, *, bins: int = 10) -> Floats:
    """Expected calibration error: |frequency - probability| in equal-width bins, weighted by their size.

    >>> round(float(calibration_error([0.9, 0.9, 0.1, 0.1], [True, False, False, False])), 3)
    0.25
    """
    p, y = _pair(probabilities, wrong)
    if ((p < 0) | (p > 1)).any():
        raise InputError("probabilities lie outside 0 .. 1: calibrate the scores first")
    if not y.size:
        return np.full(p.shape[:-1], np.nan)
    flat = p.reshape(-1, p.shape[-1])
    rows = len(flat)
    cell = np.minimum((flat * bins).astype(int), bins - 1) + bins * np.arange(rows)[:, None]
    gap = np.bincount(cell.ravel(), (y - flat).ravel(), minlength=rows * bins)
    return np.asarray(np.abs(gap).reshape(rows, bins).sum(axis=1) / y.size).reshape(p.shape[:-1])


def half_width(values: ArrayLike) -> Floats:
    """1.96 standard errors over the last axis, the repeated draws; 0 for a single draw.

    The standard deviation is that of a sample (n - 1): five draws are few.

    >>> round(float(half_width([0.70, 0.72, 0.74])), 4)
    0.0226
    """
    v = np.asarray(values, dtype=float)
    if v.shape[-1] < 2:
        return np.zeros(v.shape[:-1])
    return np.asarray(1.96 * v.std(axis=-1, ddof=1) / np.sqrt(v.shape[-1]))

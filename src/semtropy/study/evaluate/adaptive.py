"""Adaptive budgets: stop sampling a question at the first n where a statistic of its belief is at most t.

Sweeping t gives a curve of AUROC against the mean number of samples. A rule is a statistic of the belief: arrays of
shape (budgets, questions) in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from .bootstrap import resampled_auroc
from .metrics import auroc, half_width, round_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .metrics import Bools, Floats
    from .resample import Scores

__all__ = ["RULES", "Statistic", "curve", "grid", "saving", "stops", "sweep"]

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
    """AUROC on the grid of mean budgets, averaged over the draws, and half of its 95% interval.

    The interval is over questions and draws together with a `bootstrap`, else over the draws alone.
    """
    assert scores.variance is not None, "a method without a variance has no adaptive curve"
    first = scores.first or 0
    points = grid(len(scores.mean) + first - 1, first)
    mean, statistic = round_scores(scores.mean), round_scores(rule(scores.mean, scores.variance, threshold))
    lines = [
        np.interp(points, *sweep(mean[:, draw], statistic[:, draw], wrong, first))
        for draw in range(mean.shape[1])
    ]
    stacked = np.stack(lines, axis=-1)
    if bootstrap < 1:
        return stacked.mean(axis=-1), half_width(stacked)
    budgets, widths = _bands(mean, statistic, wrong, min(bootstrap, BAND_RESAMPLES), seed)
    return stacked.mean(axis=-1), np.interp(points, budgets + first, widths)


def _bands(
    mean: Floats, statistic: Floats, wrong: Bools, repeats: int, seed: int | Sequence[int]
) -> tuple[Floats, Floats]:
    """Mean budgets, ascending, and 1.96 standard deviations of the AUROC over resamples, at a few thresholds."""
    questions = np.arange(wrong.size)
    budgets, rows = [], []
    for cut in np.unique(np.percentile(statistic, np.linspace(0, 100, BAND_POINTS)))[::-1]:
        places = [stops(statistic[:, draw], float(cut)) for draw in range(mean.shape[1])]
        budgets.append(float(np.mean(places)))
        rows.append([mean[place, draw, questions] for draw, place in enumerate(places)])
    areas = resampled_auroc(np.array(rows), wrong, repeats=repeats, seed=seed)
    order = np.argsort(budgets, kind="stable")
    return np.array(budgets)[order], 1.96 * np.nanstd(areas, axis=-1)[order]


def saving(points: Floats, areas: Floats, target: float, samples: int = 10) -> float | None:
    """The smallest mean budget at which a curve reaches `target`, divided by `samples`; None if it never does.

    >>> saving(np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.7, 0.8]), 0.7)
    0.2
    """
    reached = np.flatnonzero(areas >= target)
    return float(points[reached[0]]) / samples if len(reached) else None

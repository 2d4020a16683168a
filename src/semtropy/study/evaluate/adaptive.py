"""Adaptive budgets: sample each question until its belief is firm, and sweep over how firm.

A rule is any statistic of the belief, (budgets, questions) arrays in and out, that says "stop at the first
n where it is at most t". Sweeping t gives a curve of AUROC against the mean number of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from .metrics import auroc, half_width, round_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .metrics import Bools, Floats
    from .resample import Scores

__all__ = ["RULES", "Statistic", "curve", "grid", "saving", "stops", "sweep"]

GRID_POINTS = 2000

# (mean, variance, entropy threshold) -> the statistic; the threshold is each question's, learnt from
# training.
Statistic = Callable[["Floats", "Floats", "Floats"], "Floats"]


def variance_statistic(mean: Floats, variance: Floats, threshold: Floats) -> Floats:
    """The paper's rule, `VarianceBelow`: the variance itself."""
    return variance


def decided_statistic(mean: Floats, variance: Floats, threshold: Floats) -> Floats:
    """`Decided`: the doubt left about the side of the threshold, min(p, 1 - p) with p = P(entropy >
    threshold).

    p is that of a normal distribution with the belief's mean and variance: replaying the exact distribution
    at every step of a sweep would cost more than all the rest of a study.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(mean - threshold) / np.sqrt(variance)
    return np.asarray(ndtr(-np.nan_to_num(z, nan=0.0, posinf=np.inf)))


RULES: dict[str, Statistic] = {"variance": variance_statistic, "decided": decided_statistic}


def grid(budget: int) -> Floats:
    """The mean budgets at which curves are told: 2,000 points from 1 to the largest budget."""
    return np.linspace(1.0, budget, GRID_POINTS)


def stops(statistic: Floats, threshold: float) -> NDArray[np.intp]:
    """Where each question stops (0 is the first sample), the last budget if nowhere before.

    >>> stops(np.array([[0.9, 0.1], [0.4, 0.2], [0.3, 0.3]]), 0.4).tolist()
    [1, 0]
    """
    firm = statistic <= threshold
    firm[-1] = True
    places: NDArray[np.intp] = firm.argmax(axis=0)
    return places


def sweep(mean: Floats, statistic: Floats, wrong: Bools) -> tuple[Floats, Floats]:
    """Mean budgets and AUROCs over the thresholds: percentiles 0 .. 100 of all statistics, and 0.

    The budgets grow; thresholds that stop every question at the same place give one point.
    """
    thresholds = np.append(np.percentile(statistic, np.arange(101)), 0.0)
    questions = np.arange(mean.shape[1])
    points: dict[float, float] = {}
    for threshold in np.unique(thresholds)[::-1]:
        stop = stops(statistic, float(threshold))
        budget = float(stop.mean() + 1)
        if budget not in points:
            points[budget] = float(auroc(mean[stop, questions], wrong))
    return np.array(list(points)), np.array(list(points.values()))


def curve(scores: Scores, wrong: Bools, rule: Statistic, threshold: Floats) -> tuple[Floats, Floats]:
    """AUROC on the grid of mean budgets, averaged over the draws, and its half width."""
    assert scores.variance is not None, "a method without a variance has no adaptive curve"
    points = grid(len(scores.mean))
    mean, statistic = round_scores(scores.mean), round_scores(rule(scores.mean, scores.variance, threshold))
    lines = [
        np.interp(points, *sweep(mean[:, draw], statistic[:, draw], wrong)) for draw in range(mean.shape[1])
    ]
    stacked = np.stack(lines, axis=-1)
    return stacked.mean(axis=-1), half_width(stacked)


def saving(points: Floats, areas: Floats, target: float, samples: int = 10) -> float | None:
    """The first mean budget at which a curve reaches `target`, over `samples`; None where it never does.

    >>> saving(np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.7, 0.8]), 0.7)
    0.2
    """
    reached = np.flatnonzero(areas >= target)
    return float(points[reached[0]]) / samples if len(reached) else None

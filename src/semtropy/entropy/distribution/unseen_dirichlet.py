"""The distribution of the entropy of a symmetric Dirichlet: the finite number of meanings that were not seen.

One meaning has entropy 0, and the entropy of two is a function of one probability. Larger tables are made of
smaller ones: if a share w of the mass falls on the first a of a + b meanings, w is Beta(a alpha, b alpha), and

    h = H2(w) + w h_a + (1 - w) h_b,     H2 the entropy of two outcomes,

so P(h <= t) is the mean of P(h_b <= (t - H2(w) - w h_a) / (1 - w)) over lattice points for (w, h_a). Doubling
reaches a thousand meanings in ten steps. Tables are cached: they depend on the number of meanings and alpha alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, xlog1py, xlogy

from .entropy_table import EntropyTable, graded_points, scaled_average
from .qmc import lattice
from .share_density import beta_table
from .unseen_moments import LARGE_MASS, block_moments, gamma_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["joined_table", "shared_table", "symmetric_table"]

ONE_BY_ONE = 8
ROUGH, FINER = 256, 1024
SHAPE_DIGITS, BELL = 4, 4.0
WIDEST = 12.0  # standard deviations on either side of the mean


@lru_cache(maxsize=4096)
def symmetric_table(meanings: int, alpha: float, points: int) -> EntropyTable:
    """The distribution function for two or more meanings, with `points` lattice points in each step.

    >>> two = symmetric_table(2, 1.0, 1024)
    >>> two.cdf(np.array([0.5])).round(6)
    array([0.39942])
    """
    if meanings == 2:
        return _two(alpha)
    if meanings * alpha >= LARGE_MASS:
        return gamma_table(alpha, meanings * alpha, _window(meanings, alpha))
    # A single meaning has no entropy within it: one dimension to integrate instead of two.
    first = 1 if meanings <= ONE_BY_ONE else meanings - (1 << ((meanings - 1).bit_length() - 1))
    at, share = lattice(1, 4 * points) if first == 1 else lattice(2, points)
    rest = symmetric_table(meanings - first, alpha, points)
    within = symmetric_table(first, alpha, points) if first > 1 else None
    window = _window(meanings, alpha)
    return joined_table(first * alpha, (meanings - first) * alpha, rest, window, at, share, within)


@lru_cache(maxsize=4096)
def shared_table(meanings: int, alpha: float) -> EntropyTable:
    """An approximation of `symmetric_table` that numbers of meanings with the same four leading binary digits share.

    Its mean and standard deviation are exact; its shape is that of the rounded number.

    >>> middle = np.array([5.58])
    >>> shared_table(997, 0.2).cdf(middle).round(1), symmetric_table(997, 0.2, 1024).cdf(middle).round(1)
    (array([0.4]), array([0.4]))
    """
    alike = meanings * alpha >= BELL  # below, most of the mass lies at 0, and shifting a shape would not do
    digits = max(0, meanings.bit_length() - SHAPE_DIGITS) if alike else 0
    shared = round(meanings / 2**digits) << digits
    table = symmetric_table(shared, alpha, ROUGH if alike else FINER)
    if shared == meanings:
        return table
    (mean, sd), (own_mean, own_sd) = (block_moments(alpha, n * alpha) for n in (shared, meanings))
    low, high = (own_mean + (end - mean) * own_sd / sd for end in (table.low, table.high))
    return EntropyTable(low, high, table.value, table.slope)


def _window(meanings: int, alpha: float) -> tuple[float, float]:
    mean, sd = block_moments(alpha, meanings * alpha)
    return max(0.0, mean - WIDEST * sd), min(float(np.log(meanings)), mean + WIDEST * sd)


def _two(alpha: float) -> EntropyTable:
    """H2(w) <= t where the smaller of w and 1 - w is below the root of H2 = t, found by bisection in log w."""
    low, high = _window(2, alpha)
    target = graded_points(low, high)[1:-1]
    first, last = np.full(target.size, -700.0), np.full(target.size, -np.log(2))
    for _ in range(60):
        middle = (first + last) / 2
        w = np.exp(middle)
        under = -xlogy(w, w) - xlog1py(1 - w, -w) <= target
        first, last = np.where(under, middle, first), np.where(under, last, middle)
    tails = 2 * betainc(alpha, alpha, np.exp(first))
    return EntropyTable.through(low, high, np.concatenate([[0], tails, [1]]))


def joined_table(
    first: float,
    second: float,
    rest: EntropyTable,
    window: tuple[float, float],
    at: Floats,
    share: Floats,
    within: EntropyTable | None = None,
) -> EntropyTable:
    """The entropy of two blocks, the first taking a share Beta(first, second) of the mass.

    The second block's entropy is distributed as in `rest`, the first's as in `within`, or is 0 where that is None.
    `at` are lattice points (of two dimensions where there is a `within`), `share` their weights.
    """
    z, log_slope = beta_table(first, second).draw(at[:, 0], np.zeros(len(at)))
    log_w, log_rest = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    log_weight = log_slope + first * log_w + second * log_rest
    weight = share * np.exp(
        log_weight - log_weight.max()
    )  # relative, because a density of many meanings underflows
    w, left = np.exp(log_w), np.exp(np.maximum(log_rest, -690.0))
    fixed = -w * log_w - left * log_rest
    if within is not None:
        fixed += w * within.quantile(at[:, 1])
    found = scaled_average(rest, fixed, left, weight / weight.sum(), graded_points(*window))
    return EntropyTable.through(*window, found)

"""The distribution of the entropy of the meanings that were not seen, as tables: finitely many, or unboundedly many."""

from __future__ import annotations

from functools import lru_cache
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, digamma, gammaincc, polygamma, xlog1py, xlogy

from ..dirichlet import dirichlet_variance
from .interpolation import EntropyTable, graded_points, lattice, scaled_average
from .share_density import beta_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...nouns import Floats


# Exact moments of the entropy of unseen meanings, and the reflected gamma distribution that has the first three.
#
# A block of unseen meanings is mass / alpha of them, Dirichlet(alpha); for a negative alpha it is a Pitman-Yor
# process of discount -alpha and concentration `mass`. The moments are analytic in alpha, so one formula serves both
# (Archer, Park and Pillow, "Bayesian entropy estimation for countable discrete distributions", JMLR 2014).


# From here on the entropy is gamma distributed to 1e-5, and skewness falls as 1 / sqrt(mass).
LARGE_MASS = 1e5


def block_moments(alpha: float, mass: float) -> tuple[float, float]:
    """Mean and standard deviation of the entropy within a block of unseen meanings.

    mass / alpha meanings are Dirichlet(alpha); for a negative alpha, the block is a Pitman-Yor process of discount
    -alpha and concentration `mass` (Archer, Park and Pillow, JMLR 2014). The mean is digamma(mass + 1) -
    digamma(alpha + 1).
    """
    mean = float(digamma(mass + 1) - digamma(alpha + 1))
    return mean, float(np.sqrt(dirichlet_variance(np.array([alpha]), np.array([mass]), mean)))


def skewness(alpha: float, mass: float) -> float:
    """The third central moment of the entropy of such a block over the third power of its standard deviation.

    E[sum of p_i^a p_j^b p_k^c over different meanings] is a product of gamma functions for any a, b, c (Pitman's
    exchangeable partition probabilities); its derivatives at a + b + c = 3 are the parts of E[h^3].

    >>> round(skewness(-0.25, 10.0), 4)
    -0.4649
    """
    if alpha >= 10:  # log K - h is nearly a multiple of a chi-squared variable with K - 1 degrees of freedom
        return -sqrt(8 / (mass / alpha - 1))
    c, d, top = mass, -alpha, mass + 3
    one, two, three = digamma(top), polygamma(1, top), polygamma(2, top)
    norm = 1 / ((c + 1) * (c + 2))
    first = {n: float(digamma(n - d) - one) for n in (1, 2, 3)}
    second = {n: float(polygamma(1, n - d) - two) for n in (2, 3)}
    alone = first[3] ** 3 + 3 * first[3] * second[3] + polygamma(2, 3 - d) - three
    pair = first[2] ** 2 * first[1] - 2 * first[2] * two + second[2] * first[1] - three
    triple = first[1] ** 3 - 3 * first[1] * two - three
    cube = norm * ((2 - d) * (1 - d) * alone + 3 * (c + d) * (1 - d) * pair + (c + d) * (c + 2 * d) * triple)
    mean, sd = block_moments(alpha, mass)
    return float((-cube - 3 * mean * sd**2 - mean**3) / sd**3)


def gamma_table(alpha: float, mass: float, window: tuple[float, float]) -> EntropyTable:
    """The distribution function of a reflected gamma distribution with the block's mean, variance and skewness.

    >>> gamma_table(-0.25, 10.0, (1.0, 5.0)).cdf(np.array([3.0])).round(3)
    array([0.069])
    """
    mean, sd = block_moments(alpha, mass)
    # The formula for the skewness loses its digits to cancellation where the mass is large.
    skew = skewness(alpha, min(mass, LARGE_MASS)) * min(1.0, sqrt(LARGE_MASS / mass))
    shape = 4 / max(skew**2, 1e-9)
    z = (graded_points(*window) - mean) / sd
    return EntropyTable.through(*window, gammaincc(shape, np.maximum(shape - z * np.sqrt(shape), 0.0)))


# The distribution of the entropy of a symmetric Dirichlet: the finite number of meanings that were not seen.
#
# One meaning has entropy 0, and the entropy of two is a function of one probability. Larger tables are made of
# smaller ones: if a share w of the mass falls on the first a of a + b meanings, w is Beta(a alpha, b alpha), and
#
#     h = H2(w) + w h_a + (1 - w) h_b,     H2 the entropy of two outcomes,
#
# so P(h <= t) is the mean of P(h_b <= (t - H2(w) - w h_a) / (1 - w)) over lattice points for (w, h_a). Doubling
# reaches a thousand meanings in ten steps. Tables are cached: they depend on the number of meanings and alpha alone.


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
    # Relative weights, because a density of many meanings underflows.
    weight = share * np.exp(log_weight - log_weight.max())
    w, left = np.exp(log_w), np.exp(np.maximum(log_rest, -690.0))
    fixed = -w * log_w - left * log_rest
    if within is not None:
        fixed += w * within.quantile(at[:, 1])
    found = scaled_average(rest, fixed, left, weight / weight.sum(), graded_points(*window))
    return EntropyTable.through(*window, found)


# The distribution of the entropy of a Pitman-Yor process: an unbounded number of meanings, none of them seen.
#
# By stick breaking (Pitman and Yor, Ann. Probab. 1997) the first meaning found takes a share w of the mass,
# Beta(1 - discount, concentration + discount), and the rest is split by such a process again, its concentration higher
# by the discount:
#
#     h = H2(w) + (1 - w) h',     H2 the entropy of two outcomes.
#
# So each table is made from that of the next concentration by an integral over w alone. The recursion starts at a
# concentration where the distribution is a bell: there it is taken to be a reflected gamma distribution with the right
# first three moments (`gamma_table`). That start is off by up to 0.005 at a concentration of 8; each step down reduces
# the error, to 2e-5 at half the concentration.
#
# A small discount would need hundreds of steps. There, the recursion is solved at a few concentrations, the rungs of a
# ladder, where h' has nearly the distribution of h: as a fixed point, h' interpolated between the rung and the one
# above. Any other table is four steps below an interpolated one. It differs from that of the full recursion by 5e-4 at
# most.


POINTS = 512
# From these concentrations on, three moments determine the distribution well enough.
PITMAN_YOR_BELL, LADDER_TOP = 8.0, 16.0
BELOW, ABOVE = 12.0, 8.0  # standard deviations on either side of the mean
MOST_STEPS = 64  # of the full recursion
RUNG_RATIO, ITERATIONS, SETTLED = 1.4, 6, 2e-4
STEPS_BELOW = 4  # from an interpolated table to the one asked for


@lru_cache(maxsize=4096)
def pitman_yor_table(concentration: float, discount: float) -> EntropyTable:
    """The distribution function of the entropy, for any concentration above 0 and a discount between 0 and 1.

    >>> import numpy as np
    >>> pitman_yor_table(1.0, 0.25).cdf(np.array([0.5, 1.5, 3.0])).round(3)
    array([0.047, 0.471, 0.999])
    """
    if concentration >= PITMAN_YOR_BELL:
        return _gamma(concentration, discount)
    if (PITMAN_YOR_BELL - concentration) / discount > MOST_STEPS:
        start = concentration + STEPS_BELOW * discount
        table = _interpolated(_ladder(discount), start, discount)
        for i in reversed(range(STEPS_BELOW)):
            table = _step(concentration + i * discount, discount, table)
        return table
    return _step(concentration, discount, pitman_yor_table(concentration + discount, discount))


class _Rung(NamedTuple):
    """A concentration and its table."""

    concentration: float
    table: EntropyTable


def _pitman_yor_window(concentration: float, discount: float) -> tuple[float, float]:
    mean, sd = block_moments(-discount, concentration)
    return max(0.0, mean - BELOW * sd), mean + ABOVE * sd


def _gamma(concentration: float, discount: float) -> EntropyTable:
    return gamma_table(-discount, concentration, _pitman_yor_window(concentration, discount))


def _step(concentration: float, discount: float, rest: EntropyTable) -> EntropyTable:
    """The table of a concentration from that of the next, `concentration + discount`."""
    second, window = concentration + discount, _pitman_yor_window(concentration, discount)
    return joined_table(1 - discount, second, rest, window, *lattice(1, POINTS))


def _interpolated(rungs: Sequence[_Rung], concentration: float, discount: float) -> EntropyTable:
    """Between two rungs, ascending: distributions shifted and scaled to the right mean and deviation, averaged."""
    i = min(sum(rung.concentration <= concentration for rung in rungs), len(rungs) - 1)
    low, high = rungs[max(i - 1, 0)], rungs[i]
    upper = 1.0
    if high.concentration > low.concentration:
        upper = log(concentration / low.concentration) / log(high.concentration / low.concentration)
    window = _pitman_yor_window(concentration, discount)
    mean, sd = block_moments(-discount, concentration)
    z = (graded_points(*window) - mean) / sd
    value = np.zeros(z.size)
    for rung, weight in ((low, 1 - upper), (high, upper)):
        own_mean, own_sd = block_moments(-discount, rung.concentration)
        value += weight * rung.table.cdf(own_mean + own_sd * z)
    return EntropyTable.through(*window, value)


@lru_cache(maxsize=64)
def _ladder(discount: float) -> tuple[_Rung, ...]:
    """Rungs from a concentration below the discount to one where the distribution is a bell, ascending."""
    rungs = [_Rung(LADDER_TOP, _gamma(LADDER_TOP, discount))]
    while rungs[0].concentration > discount:
        above = rungs[0]
        concentration = above.concentration / RUNG_RATIO
        table = _interpolated([above], concentration, discount)
        for _ in range(ITERATIONS):
            near = [_Rung(concentration, table), *rungs]
            better = _step(concentration, discount, _interpolated(near, concentration + discount, discount))
            change = float(np.abs(better.value - table.value).max())
            table = better
            if change < SETTLED:
                break
        rungs.insert(0, _Rung(concentration, table))
    return tuple(rungs)

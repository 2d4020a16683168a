"""The distribution of the entropy of a symmetric Dirichlet: meanings of which nothing is known but how many they are.

Two exact cases start it, one meaning (entropy 0) and two (a function of one probability). More are made of fewer: if a
share w of the mass falls on the first a of a + b meanings, w is Beta(a alpha, b alpha), and

    h = H2(w) + w h_a + (1 - w) h_b,     H2 the entropy of two outcomes,

so P(h <= t) is the mean of P(h_b <= (t - H2(w) - w h_a) / (1 - w)) over lattice points for (w, h_a). Doubling reaches a
thousand meanings in ten steps. Tables are kept: they depend on the number of meanings and alpha alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, digamma, xlog1py, xlogy

from ..dirichlet import dirichlet_variance
from .qmc import lattice
from .splits import Factor, single_table

try:
    from .._native import distribution as _distribution  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _distribution = None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "EntropyTable",
    "block_moments",
    "graded_points",
    "joined",
    "shared_table",
    "stretched_sums",
    "symmetric_table",
]

CHUNK = 1 << 18
NODES = 321
ONE_BY_ONE = 8
ROUGH, FINER = 256, 1024
SHAPE_DIGITS, BELL = 4, 4.0
WIDEST = 12.0  # standard deviations on either side of the mean
GRADED = np.linspace(0, 1, NODES)


@dataclass(frozen=True, slots=True)
class EntropyTable:
    """A distribution function on [low, high] as a monotone cubic in g, the way up being 1 - (1 - g^4)^2.

    That makes steps fine at both ends, where the function may rise like a small power or a square root.
    """

    low: float
    high: float
    value: Floats
    slope: Floats

    @staticmethod
    def through(low: float, high: float, value: Floats) -> EntropyTable:
        rising = np.maximum.accumulate(np.clip(value, 0, 1))
        rising[0], rising[-1] = 0.0, 1.0
        return EntropyTable(low, high, rising, _rising_slopes(rising))

    def cdf(self, h: Floats) -> Floats:
        at = (1 - np.sqrt(1 - np.clip((h - self.low) / (self.high - self.low), 0, 1))) ** 0.25 * (NODES - 1)
        cell = np.minimum(at.astype(np.intp), NODES - 2)
        s = at - cell
        f0, f1, d0, d1 = self.value[cell], self.value[cell + 1], self.slope[cell], self.slope[cell + 1]
        a, b = 2 * (f0 - f1) + d0 + d1, 3 * (f1 - f0) - 2 * d0 - d1
        result: Floats = f0 + s * (d0 + s * (b + s * a))
        return result

    def quantile(self, level: Floats) -> Floats:
        fine = np.linspace(0, 1, 8 * (NODES - 1) + 1)
        points = self.low + (self.high - self.low) * (1 - (1 - fine**4) ** 2)
        result: Floats = np.interp(level, self.cdf(points), points)
        return result


def _rising_slopes(value: Floats) -> Floats:
    """Slopes of a cubic that rises where the values do: harmonic means of the steps on either side."""
    step = np.diff(value)
    total = step[1:] + step[:-1]
    inner = np.divide(2 * step[1:] * step[:-1], total, out=np.zeros_like(total), where=total > 0)
    return np.concatenate([step[:1], inner, step[-1:]])


def graded_points(low: float, high: float) -> Floats:
    points: Floats = low + (high - low) * (1 - (1 - GRADED**4) ** 2)
    return points


@lru_cache(maxsize=4096)
def symmetric_table(meanings: int, alpha: float, points: int) -> EntropyTable:
    """The distribution function for so many meanings (two or more), from so many lattice points a step.

    >>> two = symmetric_table(2, 1.0, 1024)
    >>> two.cdf(np.array([0.5])).round(6)
    array([0.39942])
    """
    if meanings == 2:
        return _two(alpha)
    if (
        meanings <= ONE_BY_ONE
    ):  # a meaning alone has no entropy of its own: one dimension to integrate, not two
        return _joined(1, meanings - 1, alpha, points)
    part = 1 << ((meanings - 1).bit_length() - 1)
    return _joined(meanings - part, part, alpha, points)


@lru_cache(maxsize=4096)
def shared_table(meanings: int, alpha: float) -> EntropyTable:
    """Nearly the same, its shape that of a number with four binary digits: tables that many questions share.

    The mean and the standard deviation are the number's own.

    >>> middle = np.array([5.58])
    >>> shared_table(997, 0.2).cdf(middle).round(1), symmetric_table(997, 0.2, 1024).cdf(middle).round(1)
    (array([0.4]), array([0.4]))
    """
    alike = meanings * alpha >= BELL  # below, most of the mass lies at 0 and a shape does not move
    digits = max(0, meanings.bit_length() - SHAPE_DIGITS) if alike else 0
    shared = round(meanings / 2**digits) << digits
    table = symmetric_table(shared, alpha, ROUGH if alike else FINER)
    if shared == meanings:
        return table
    (mean, sd), (own_mean, own_sd) = (block_moments(alpha, n * alpha) for n in (shared, meanings))
    low, high = (own_mean + (end - mean) * own_sd / sd for end in (table.low, table.high))
    return EntropyTable(low, high, table.value, table.slope)


def block_moments(alpha: float, mass: float) -> tuple[float, float]:
    """Mean and standard deviation of the entropy within a block of unseen meanings (see contour.py)."""
    mean = float(digamma(mass + 1) - digamma(alpha + 1))
    return mean, float(np.sqrt(dirichlet_variance(np.array([alpha]), np.array([mass]), mean)))


def _window(meanings: int, alpha: float) -> tuple[float, float]:
    mean, sd = block_moments(alpha, meanings * alpha)
    return max(0.0, mean - WIDEST * sd), min(float(np.log(meanings)), mean + WIDEST * sd)


def _two(alpha: float) -> EntropyTable:
    low, high = _window(2, alpha)
    target = graded_points(low, high)[1:-1]
    first, last = np.full(target.size, -700.0), np.full(target.size, -np.log(2))
    for _ in range(60):
        middle = (first + last) / 2
        w = np.exp(middle)
        under = -xlogy(w, w) - xlog1py(1 - w, -w) <= target
        first, last = np.where(under, middle, first), np.where(under, last, middle)
    return EntropyTable.through(
        low, high, np.concatenate([[0], 2 * betainc(alpha, alpha, np.exp(first)), [1]])
    )


def _joined(a: int, b: int, alpha: float, points: int) -> EntropyTable:
    at, share = lattice(1, 4 * points) if a == 1 else lattice(2, points)
    rest, first = symmetric_table(b, alpha, points), symmetric_table(a, alpha, points) if a > 1 else None
    return joined(a * alpha, b * alpha, rest, _window(a + b, alpha), at, share, first)


def joined(
    first: float,
    second: float,
    rest: EntropyTable,
    window: tuple[float, float],
    at: Floats,
    share: Floats,
    within: EntropyTable | None = None,
) -> EntropyTable:
    """Of two parts of the mass, the first Beta(first, second) of it: one meaning, or split as in `within`.

    The second is split as in `rest`. `at` are lattice points (of two dimensions where there is a `within`)
    and `share` their weights.
    """
    z, log_slope = single_table(Factor(0.0, first, 0.0), Factor(0.0, second, 0.0)).draw(
        at[:, 0], np.zeros(len(at))
    )
    log_w, log_rest = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    log_weight = log_slope + first * log_w + second * log_rest
    weight = share * np.exp(log_weight - log_weight.max())  # many meanings make any one density tiny
    w, left = np.exp(log_w), np.exp(np.maximum(log_rest, -690.0))
    fixed = -w * log_w - left * log_rest
    if within is not None:
        fixed += w * within.quantile(at[:, 1])
    found = stretched_sums(rest, fixed, left, weight / weight.sum(), graded_points(*window))
    return EntropyTable.through(*window, found)


def stretched_sums(
    table: EntropyTable, fixed: Floats, scale: Floats, weight: Floats, points: Floats
) -> Floats:
    """The sum over draws of weight * P(fixed + scale * h <= point), h distributed as in the table."""
    total = np.empty(points.size)
    if _distribution is not None:
        at = np.ascontiguousarray(points)
        _distribution.stretched(
            table.value, table.slope, table.low, table.high, fixed, scale, weight, at, total
        )
        return total
    step = max(1, CHUNK // max(1, fixed.size))
    for i in range(0, points.size, step):
        total[i : i + step] = table.cdf((points[i : i + step, None] - fixed) / scale) @ weight
    return total

"""Cubic interpolation, the distribution of an entropy as a table, and the points of quasi-Monte Carlo integrals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .._native import distribution as _distribution

if TYPE_CHECKING:
    from ...nouns import Floats


# Cubic Hermite interpolation: the cubic between two knots, and slopes that keep an interpolant monotone.
#
# With f0, f1 the values at the ends of a unit cell, d0, d1 the slopes there (per cell) and s in [0, 1] the place in
# it,
#
#     f(s) = f0 + d0 s + b s^2 + a s^3,   a = 2 (f0 - f1) + d0 + d1,   b = 3 (f1 - f0) - 2 d0 - d1.
#
# Such a cubic rises throughout if the values rise and no slope is negative or above 3 (f1 - f0) (Fritsch and Carlson,
# "Monotone piecewise cubic interpolation", SIAM J. Numer. Anal. 1980).


STEEPEST = 2.5  # a slope over the secant; 3 is the most that keeps a cubic rising


def _bends(f0: Floats, f1: Floats, d0: Floats, d1: Floats) -> tuple[Floats, Floats]:
    return 2 * (f0 - f1) + d0 + d1, 3 * (f1 - f0) - 2 * d0 - d1


def cubic(s: Floats, f0: Floats, f1: Floats, d0: Floats, d1: Floats) -> Floats:
    """The cubic's value at s.

    >>> half, zero, one = np.array(0.5), np.array(0.0), np.array(1.0)
    >>> float(cubic(half, zero, one, one, one))
    0.5
    """
    a, b = _bends(f0, f1, d0, d1)
    return f0 + s * (d0 + s * (b + s * a))


def cubic_and_slope(s: Floats, f0: Floats, f1: Floats, d0: Floats, d1: Floats) -> tuple[Floats, Floats]:
    """The cubic's value and its derivative at s."""
    a, b = _bends(f0, f1, d0, d1)
    return f0 + s * (d0 + s * (b + s * a)), d0 + s * (2 * b + 3 * s * a)


def harmonic_slopes(value: Floats) -> Floats:
    """Slopes at evenly spaced knots that rise wherever the values do: harmonic means of neighbouring steps."""
    step = np.diff(value)
    total = step[1:] + step[:-1]
    inner = np.divide(2 * step[1:] * step[:-1], total, out=np.zeros_like(total), where=total > 0)
    return np.concatenate([step[:1], inner, step[-1:]])


def limited_slopes(x: Floats, f: Floats, d: Floats) -> Floats:
    """The slopes d, cut so that the cubic between any two of the rising points (x, f) rises throughout."""
    secant = np.diff(f) / np.diff(x)
    return np.minimum(d, STEEPEST * np.minimum(np.append(secant, secant[-1:]), np.append(secant[:1], secant)))


def interpolate(x: Floats, f: Floats, d: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Values and slopes at `at` of the cubic through (x, f) with slopes d; a straight line beyond the last knots.

    >>> knots = np.array([0.0, 1.0])
    >>> value, slope = interpolate(knots, knots, np.ones(2), np.array([-1.0, 0.5, 3.0]))
    >>> value.tolist(), slope.tolist()
    ([-1.0, 0.5, 3.0], [1.0, 1.0, 1.0])
    """
    inside = np.clip(at, x[0], x[-1])
    i = np.clip(np.searchsorted(x, inside, side="right") - 1, 0, x.size - 2)
    w = x[i + 1] - x[i]
    value, slope = cubic_and_slope((inside - x[i]) / w, f[i], f[i + 1], d[i] * w, d[i + 1] * w)
    slope = slope / w
    return value + (at - inside) * slope, slope


# A tabulated distribution function of an entropy, and averages of shifted and scaled copies of it.


CHUNK = 1 << 18
CELLS = 320
GRADED, FINE = np.linspace(0, 1, CELLS + 1), np.linspace(0, 1, 8 * CELLS + 1)


@dataclass(frozen=True, slots=True)
class EntropyTable:
    """A distribution function on [low, high] as a monotone cubic in g, where h = low + (high - low) (1 - (1 - g^4)^2).

    Even steps in g are fine at both ends of h, where the function may rise like a small power or a square root.
    """

    low: float
    high: float
    value: Floats
    slope: Floats

    @staticmethod
    def through(low: float, high: float, value: Floats) -> EntropyTable:
        """The table with these values at `graded_points(low, high)`."""
        rising = np.maximum.accumulate(np.clip(value, 0, 1))
        rising[0], rising[-1] = 0.0, 1.0
        return EntropyTable(low, high, rising, harmonic_slopes(rising))

    def cdf(self, h: Floats) -> Floats:
        """P(entropy <= h)."""
        at = (1 - np.sqrt(1 - np.clip((h - self.low) / (self.high - self.low), 0, 1))) ** 0.25 * CELLS
        cell = np.minimum(at.astype(np.intp), CELLS - 1)
        ends = self.value[cell], self.value[cell + 1], self.slope[cell], self.slope[cell + 1]
        return cubic(at - cell, *ends)

    def quantile(self, level: Floats) -> Floats:
        """The entropy at which the distribution function reaches each level."""
        points = _graded(self.low, self.high, FINE)
        result: Floats = np.interp(level, self.cdf(points), points)
        return result


def graded_points(low: float, high: float) -> Floats:
    """Where a table on [low, high] has its knots."""
    return _graded(low, high, GRADED)


def _graded(low: float, high: float, g: Floats) -> Floats:
    points: Floats = low + (high - low) * (1 - (1 - g**4) ** 2)
    return points


def scaled_average(
    table: EntropyTable, shift: Floats, scale: Floats, weight: Floats, points: Floats
) -> Floats:
    """The sum over i of weight_i P(shift_i + scale_i h <= point), h distributed as in the table, for each point."""
    total = np.empty(points.size)
    if _distribution is not None:
        at = np.ascontiguousarray(points)
        own = table.value, table.slope, table.low, table.high
        _distribution.stretched(*own, shift, scale, weight, at, total)
        return total
    step = max(1, CHUNK // max(1, shift.size))
    for i in range(0, points.size, step):
        total[i : i + step] = table.cdf((points[i : i + step, None] - shift) / scale) @ weight
    return total


# Quasi-Monte Carlo points: a rank-1 lattice in the unit cube, transformed so that functions need not be periodic.
#
# The generating numbers were searched for one dimension at a time so that lattices of 2^8 to 2^18 points, all with
# the same numbers, have a small worst-case error with weights 1 / j^2 on the dimensions.


# fmt: off
GENERATORS = (
    1, 119433, 55489, 46391, 24519, 41565, 94441, 237929, 34649, 161581, 43569, 117069, 175921, 100395, 109789,
    194873, 177125, 218375, 152025, 259575, 227551, 99635, 27285, 198497, 187215, 79513, 233749, 177037, 83919,
    140223, 253237, 57153, 93363, 166291, 169133, 57241, 260641, 14411, 152665, 130347, 220403, 231991, 158139,
    112905, 258081, 96821, 120801, 216735, 91335, 210007, 255965, 111321, 41059, 72965, 28235, 241537, 97157,
    249007, 243481, 257497, 226015, 60721, 221105, 155999,
)
# fmt: on
MOST_DIMENSIONS = len(GENERATORS)
SHIFT = (np.sqrt(5) - 1) / 2


SMOOTHED = 6  # in more dimensions the weights of the smoothing cost more than they gain


@lru_cache(maxsize=64)
def lattice(dimensions: int, points: int) -> tuple[Floats, Floats]:
    """`points` (a power of 2) rows in the open unit cube, and their weights.

    In few dimensions u = 3 v^2 - 2 v^3 flattens what a function does at the cube's faces; in many, points are
    folded. Each half of the points is also a lattice.

    >>> u, weight = lattice(1, 4)
    >>> u[:, 0].tolist(), weight.tolist()
    ([0.04296875, 0.68359375, 0.31640625, 0.95703125], [0.65625, 1.40625, 1.40625, 0.65625])
    """
    index = np.concatenate([np.arange(0, points, 2), np.arange(1, points, 2)]) if points > 1 else np.zeros(1)
    if dimensions == 1:
        v: Floats = ((index + 0.5) / points)[:, None]
    else:
        shift = np.modf(SHIFT * np.arange(1, dimensions + 1))[0]
        v = np.modf(index[:, None] * (np.array(GENERATORS[:dimensions]) % points / points) + shift)[0]
    if dimensions <= SMOOTHED:
        u, weight = v * v * (3 - 2 * v), np.prod(6 * v * (1 - v), axis=1)
    else:
        u, weight = 1 - np.abs(2 * v - 1), np.ones(points)
    u = np.clip(u, 1e-14, 1 - 1e-14)
    u.flags.writeable = weight.flags.writeable = False
    return u, weight

"""A tabulated distribution function of an entropy, and averages of shifted and scaled copies of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .hermite import cubic, harmonic_slopes

try:
    from .._native import distribution as _distribution  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _distribution = None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["EntropyTable", "graded_points", "scaled_average"]

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

"""The normalising integral V(r) of several factors over all ways to split a total r between them, as a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .hermite import interpolate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .factor import Factor

    Floats = NDArray[np.float64]

__all__ = ["LogNormalizer"]


@dataclass(frozen=True, slots=True)
class LogNormalizer:
    """log V(r), the integral of some factors over all splits of r, as a function of log r.

    It is the logarithm of one factor, `base`, plus a cubic through points, straight beyond them.
    """

    base: Factor
    x: Floats
    y: Floats
    slope: Floats

    @staticmethod
    def of_one(factor: Factor) -> LogNormalizer:
        """V of a single factor: the factor."""
        none = np.zeros(2)
        return LogNormalizer(factor, np.array([0.0, 1.0]), none, none)

    @staticmethod
    def through(base: Factor, x: Floats, log_v: Floats) -> LogNormalizer:
        """The curve through values log_v at x = log r."""
        y = log_v - base.log(x)
        secant, w = np.diff(y) / np.diff(x), np.diff(x)
        inner = (secant[:-1] * w[1:] + secant[1:] * w[:-1]) / (w[1:] + w[:-1])
        return LogNormalizer(base, x, y, np.concatenate([secant[:1], inner, secant[-1:]]))

    def log(self, log_rest: Floats) -> Floats:
        """log V at each log r."""
        return interpolate(self.x, self.y, self.slope, log_rest)[0] + self.base.log(log_rest)

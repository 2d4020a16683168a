"""Cubic Hermite interpolation: the cubic between two knots, and slopes that keep an interpolant monotone.

With f0, f1 the values at the ends of a unit cell, d0, d1 the slopes there (per cell) and s in [0, 1] the place in
it,

    f(s) = f0 + d0 s + b s^2 + a s^3,   a = 2 (f0 - f1) + d0 + d1,   b = 3 (f1 - f0) - 2 d0 - d1.

Such a cubic rises throughout if the values rise and no slope is negative or above 3 (f1 - f0) (Fritsch and Carlson,
"Monotone piecewise cubic interpolation", SIAM J. Numer. Anal. 1980).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["cubic", "cubic_and_slope", "harmonic_slopes", "interpolate", "limited_slopes"]

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

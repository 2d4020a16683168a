"""The trigamma function, several times as fast as `scipy.special.polygamma(1, x)`, which sums a zeta function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["trigamma"]

SHIFT = 10
# Bernoulli numbers B2, B4, ..., B12. From x = 10 on, the first one left out changes no digit of a double.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)


def trigamma(x: ArrayLike) -> NDArray[np.float64]:
    """The second derivative of log Gamma at x > 0.

    psi'(x) = sum_{k < 10} 1 / (x + k)^2 + psi'(x + 10), and for y = x + 10 the asymptotic series
    1 / y + 1 / (2 y^2) + sum_j B_2j / y^(2j + 1).

    >>> float(trigamma(1.0).round(12))  # pi^2 / 6
    1.644934066848
    """
    y: NDArray[np.float64] = np.array(x, dtype=float)
    near = np.zeros_like(y)
    for _ in range(SHIFT):
        near += 1 / (y * y)
        y += 1
    inverse = 1 / y
    square = inverse * inverse
    series = np.zeros_like(y)
    for bernoulli in reversed(BERNOULLI):
        series = square * (bernoulli + series)
    total: NDArray[np.float64] = near + (inverse * (1 + series) + square / 2)
    return total

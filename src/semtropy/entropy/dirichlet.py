"""Moments of the entropy under a Dirichlet distribution, in closed form (Appendix A.1 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, polygamma, xlogy

from ..errors import ConvergenceError, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..nouns import Floats


SMALLEST, LARGEST = 1e-100, 1e15


def dirichlet_moments(alphas: ArrayLike) -> tuple[float, float]:
    """E[h] and E[h^2] of the entropy h, in nats, of probabilities drawn from Dirichlet(alphas).

    E[h] = digamma(A + 1) - sum_j a_j / A digamma(a_j + 1), with A = sum_j a_j.

    alphas  the parameters of the Dirichlet, one per meaning

    >>> mean, second = dirichlet_moments([1.0, 1.0])
    >>> round(mean, 12), round(second - mean**2, 12)
    (0.5, 0.035021977717)
    """
    try:
        a = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("alphas must be a list of numbers") from None
    if a.ndim != 1 or a.size == 0 or not ((a >= SMALLEST) & (a <= LARGEST)).all():
        raise InputError(f"alphas must be a non-empty list of numbers from {SMALLEST:g} to {LARGEST:g}")
    if a.size == 1:
        return 0.0, 0.0
    total = a.sum()
    mean = float(digamma(total + 1) - (a / total * digamma(a + 1)).sum())
    second = dirichlet_variance(a, a, mean) + mean**2
    if not np.isfinite(second):
        raise ConvergenceError("the moments of the entropy are beyond the range of doubles for these alphas")
    return max(mean, 0.0), second


def dirichlet_variance(shape: np.ndarray, mass: np.ndarray, mean: float) -> float:
    """Variance of the entropy, from second moments around its mean so that no digits cancel.

    Meanings come in blocks of equal ones: `shape` is the parameter of each meaning in a block, `mass` their sum.
    """
    total = mass.sum()
    off = digamma(shape + 1) - digamma(total + 2) + mean
    inner = mass * (off**2 + 2 * off + 1 / (shape + 1) + (shape + 1) * polygamma(1, shape + 2))
    spread = (inner.sum() + (total / (total + 1)) ** 2) / (total * (total + 1))
    return max(0.0, float(spread - polygamma(1, total + 2)))


# One probability's term in the Shannon entropy, -x log x, in nats.


def entropy_term(x: Floats) -> Floats:
    """-x log x for each probability x, 0 at x = 0.

    >>> entropy_term(np.array([0.25, 0.5])).round(6)
    array([0.346574, 0.346574])
    """
    return np.asarray(-xlogy(x, x), dtype=np.float64)


# The trigamma function, several times as fast as `scipy.special.polygamma(1, x)`, which sums a zeta function.


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

"""Moments of the entropy under a Dirichlet distribution, in closed form (Appendix A.1 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, polygamma

from ..errors import ConvergenceError, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["dirichlet_moments", "dirichlet_variance"]

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

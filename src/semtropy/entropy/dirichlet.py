"""Entropy under a Dirichlet belief, closed form (the paper's Appendix A.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, polygamma

from ..errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["dirichlet_moments"]


def dirichlet_moments(alphas: ArrayLike) -> tuple[float, float]:
    """E[h] and E[h^2] of the entropy h of a Dirichlet(alphas) distribution, in nats.

    >>> mean, second = dirichlet_moments([1.0, 1.0])
    >>> round(mean, 12), round(second - mean**2, 12)
    (0.5, 0.035021977717)
    """
    a = np.asarray(alphas, dtype=float)
    if a.ndim != 1 or a.size == 0 or not np.all(np.isfinite(a)) or np.any(a <= 0):
        raise InputError("alphas must be a non-empty list of positive numbers")
    if a.size == 1:
        return 0.0, 0.0
    total = a.sum()
    mean = float(digamma(total + 1) - (a / total * digamma(a + 1)).sum())
    return mean, dirichlet_variance(a, a, mean) + mean**2


def dirichlet_variance(shape: np.ndarray, mass: np.ndarray, mean: float) -> float:
    """The variance, from second moments taken around the mean so that no digits cancel.

    Meanings come in blocks, each with the parameter `shape` of every one of its meanings and their sum `mass`.
    """
    total = mass.sum()
    off = digamma(shape + 1) - digamma(total + 2) + mean
    inner = mass * (off**2 + 2 * off + 1 / (shape + 1) + (shape + 1) * polygamma(1, shape + 2))
    spread = (inner.sum() + (total / (total + 1)) ** 2) / (total * (total + 1))
    return max(0.0, float(spread - polygamma(1, total + 2)))

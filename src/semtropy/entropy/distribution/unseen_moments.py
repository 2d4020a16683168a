"""Exact moments of the entropy of unseen meanings, and the reflected gamma distribution that has the first three.

A block of unseen meanings is mass / alpha of them, Dirichlet(alpha); for a negative alpha it is a Pitman-Yor
process of discount -alpha and concentration `mass`. The moments are analytic in alpha, so one formula serves both
(Archer, Park and Pillow, "Bayesian entropy estimation for countable discrete distributions", JMLR 2014).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, gammaincc, polygamma

from ..dirichlet import dirichlet_variance
from .entropy_table import EntropyTable, graded_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["LARGE_MASS", "block_moments", "gamma_table", "skewness"]

LARGE_MASS = (
    1e5  # from here on the entropy is gamma distributed to 1e-5, and skewness falls as 1 / sqrt(mass)
)


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

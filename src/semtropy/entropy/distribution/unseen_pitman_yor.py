"""The distribution of the entropy of a Pitman-Yor process: an unbounded number of meanings, none of them seen.

By stick breaking (Pitman and Yor, Ann. Probab. 1997) the first meaning found takes a share w of the mass, Beta(1 -
discount, concentration + discount), and the rest is split by such a process again, its concentration higher by the
discount:

    h = H2(w) + (1 - w) h',     H2 the entropy of two outcomes.

So each table is made from that of the next concentration by an integral over w alone. The recursion starts at a
concentration where the distribution is a bell: there it is taken to be a reflected gamma distribution with the
right first three moments, which have a closed form (`skewness`). That start is off by up to 0.005; each step down
reduces the error, to 2e-5 at half the concentration.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, gammaincc, polygamma

from .entropy_table import EntropyTable, graded_points
from .qmc import lattice
from .unseen_dirichlet import block_moments, joined_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["pitman_yor_table", "skewness"]

POINTS = 512
BELL = 8.0  # from this concentration on, three moments determine the distribution well enough
BELOW, ABOVE = 12.0, 8.0  # standard deviations on either side of the mean


@lru_cache(maxsize=4096)
def pitman_yor_table(concentration: float, discount: float) -> EntropyTable:
    """The distribution function of the entropy, for any concentration above 0 and a discount between 0 and 1.

    >>> pitman_yor_table(1.0, 0.25).cdf(np.array([0.5, 1.5, 3.0])).round(3)
    array([0.047, 0.471, 0.999])
    """
    mean, sd = block_moments(-discount, concentration)
    low, high = max(0.0, mean - BELOW * sd), mean + ABOVE * sd
    if concentration >= BELL:
        points, skew = graded_points(low, high), skewness(concentration, discount)
        return EntropyTable.through(low, high, _reflected_gamma((points - mean) / sd, skew))
    above = [concentration]
    while above[-1] + discount < BELL:
        above.append(above[-1] + discount)
    for c in above[:0:-1]:  # fills the cache from the top: a small discount would exceed the recursion limit
        pitman_yor_table(c, discount)
    rest = pitman_yor_table(concentration + discount, discount)
    return joined_table(1 - discount, concentration + discount, rest, (low, high), *lattice(1, POINTS))


def skewness(concentration: float, discount: float) -> float:
    """The third central moment of the entropy over the third power of its standard deviation.

    E[sum of p_i^a p_j^b p_k^c over different meanings] is a product of gamma functions for any a, b, c (Pitman's
    exchangeable partition probabilities); its derivatives at a + b + c = 3 are the parts of E[h^3].

    >>> round(skewness(10.0, 0.25), 4)
    -0.4649
    """
    c, d, top = concentration, discount, concentration + 3
    one, two, three = digamma(top), polygamma(1, top), polygamma(2, top)
    norm = 1 / ((c + 1) * (c + 2))
    first = {n: float(digamma(n - d) - one) for n in (1, 2, 3)}
    second = {n: float(polygamma(1, n - d) - two) for n in (2, 3)}
    alone = first[3] ** 3 + 3 * first[3] * second[3] + polygamma(2, 3 - d) - three
    pair = first[2] ** 2 * first[1] - 2 * first[2] * two + second[2] * first[1] - three
    triple = first[1] ** 3 - 3 * first[1] * two - three
    cube = norm * ((2 - d) * (1 - d) * alone + 3 * (c + d) * (1 - d) * pair + (c + d) * (c + 2 * d) * triple)
    mean, sd = block_moments(-d, c)
    return float((-cube - 3 * mean * sd**2 - mean**3) / sd**3)


def _reflected_gamma(z: Floats, skew: float) -> Floats:
    """P(at most z standard deviations above the mean) for a reflected gamma distribution of that skewness (< 0)."""
    shape = 4 / max(skew**2, 1e-6)
    result: Floats = gammaincc(shape, np.maximum(shape - z * np.sqrt(shape), 0.0))
    return result

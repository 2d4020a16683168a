"""P(entropy <= point) for one number of meanings K, with draws added until the error estimate meets a tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConvergenceError, InputError
from ..inputs import LARGEST_SIZE, check_alpha, clean_floors, vector, whole_counts
from .component import PosteriorComponent
from .mixture import Mixture

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["cdf", "two_level_cdf"]

DRAWS, MOST_DRAWS = 1 << 11, 1 << 18


def cdf(
    counts: ArrayLike,
    floors: ArrayLike,
    size: int,
    points: ArrayLike,
    alpha: float = 0.5,
    *,
    tolerance: float = 1e-5,
) -> Floats:
    """P(h <= point) under a Dirichlet(alpha + counts) over `size` meanings, each seen one above its lower bound.

    This is the truncated Dirichlet posterior of Ciosek et al. (TMLR 2025).

    counts     number of draws of each meaning seen
    floors     lower bound of each of these meanings' probabilities
    size       the number of meanings K
    points     entropies in nats
    alpha      parameter of the symmetric Dirichlet
    tolerance  aim for the error; raises ConvergenceError if the estimate stays 100 times above it

    >>> cdf([1], [0.3], 7, [0.5, 1.0, 1.5]).round(4)
    array([0.0067, 0.1395, 0.8287])
    """
    c, floor = whole_counts(counts), clean_floors(vector(floors, "floors"))
    _check_length(c, floor, "counts")
    alpha = check_alpha(alpha)
    return _refine(c + (alpha - 1.0), np.ones(c.size), floor, size, points, alpha, tolerance)


def two_level_cdf(
    floors: ArrayLike,
    size: int,
    points: ArrayLike,
    alpha: float = 0.5,
    theta: float = 1.0,
    *,
    no_logprob: ArrayLike | None = None,
    tolerance: float = 1e-5,
) -> Floats:
    """P(h <= point) under the two-level model (see two_level.py) with K = `size` meanings.

    floors      summed probability of the distinct sequences of each meaning seen
    size        the number of meanings K
    points      entropies in nats
    alpha       parameter of the symmetric Dirichlet over meanings
    theta       concentration of the stick-breaking prior over sequences
    no_logprob  further draws of each meaning whose probability is unknown; default none
    tolerance   aim for the error, as in `cdf`

    The number of distinct sequences does not matter.

    >>> two_level_cdf([0.3], 7, [0.5, 1.0, 1.5], alpha=0.05, theta=0.1).round(4)
    array([0.172 , 0.7907, 0.9984])
    """
    floor = clean_floors(vector(floors, "floors"))
    u = np.zeros(floor.size) if no_logprob is None else whole_counts(no_logprob, least=0, name="no_logprob")
    _check_length(u, floor, "no_logprob")
    alpha = check_alpha(alpha)
    theta = check_alpha(theta, "theta")
    return _refine(u + (alpha - theta), np.full(floor.size, theta), floor, size, points, alpha, tolerance)


def _check_length(array: Floats, floors: Floats, name: str) -> None:
    if array.size != floors.size:
        raise InputError(
            f"{name} has {array.size} entries and floors {floors.size}: both need one entry per meaning"
        )


def _whole_size(size: object, seen: int) -> int:
    if (
        isinstance(size, int | float | np.integer | np.floating)
        and seen <= size <= LARGEST_SIZE
        and size == int(size)
    ):
        return int(size)
    raise InputError(
        f"size is {size!r}: it must be a whole number from {seen}, the meanings seen, to {LARGEST_SIZE:g}"
    )


def _refine(
    p: Floats, q: Floats, floors: Floats, size: int, points: ArrayLike, alpha: float, tolerance: float
) -> Floats:
    k = _whole_size(size, floors.size)
    if not 1e-7 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}: it must be a number from 1e-7 to below 1")
    component = PosteriorComponent(1.0, p, q, floors, (k - floors.size) * alpha, alpha)
    at, draws = vector(points, "points"), DRAWS
    while True:
        mixture = Mixture((component,), draws, rough=False)
        error = mixture.error(at)
        if error <= tolerance or draws >= MOST_DRAWS:
            break
        draws *= 4 if error > 2 * tolerance else 2
    if not error <= 100 * tolerance:
        raise ConvergenceError(
            f"the distribution function converged to {error:.1e}; {tolerance:.1e} was asked for"
        )
    return mixture.cdf(at)

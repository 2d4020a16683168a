"""Moments of the entropy under the paper's posterior: a Dirichlet truncated below at a lower bound per meaning.

A meaning's lower bound (floor) is the summed probability of its sequences seen (Ciosek et al., TMLR 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import InputError
from .components import placement
from .contour import Problems, solve
from .importance import importance_moments
from .inputs import (
    check_alpha,
    check_counts,
    check_sizes,
    clean_batch,
    clean_floors,
    ends,
    joined,
    vector,
    whole_counts,
    whole_sizes,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Moments", "moments", "moments_batch"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of the entropy, with one entry per support size.

    mean          posterior mean, in nats
    variance      posterior variance, in squared nats
    log_evidence  logarithm of the marginal likelihood

    >>> moments([2, 1], [0.3, 0.1], [2, 3]).mean.round(6)
    array([0.598971, 0.789831])
    """

    mean: Floats
    variance: Floats
    log_evidence: Floats

    def __getitem__(self, where: slice) -> Moments:
        return Moments(self.mean[where], self.variance[where], self.log_evidence[where])


def moments(
    counts: ArrayLike,
    floors: ArrayLike,
    sizes: ArrayLike,
    alpha: float = 0.5,
    *,
    method: Literal["exact", "importance"] = "exact",
    rng: np.random.Generator | None = None,
    draws: int = 1000,
    tolerance: float = 1e-9,
) -> Moments:
    """Moments of the entropy under Dirichlet(alpha + counts) over K meanings, truncated below at the floors.

    counts     number of draws of each meaning seen, whole numbers up to 10^8
    floors     lower bound of each of these meanings' probabilities
    sizes      the numbers of meanings K to consider, rising, up to 10^12
    alpha      parameter of the symmetric Dirichlet
    method     "exact", or "importance" for the paper's importance sampler
    rng        source of randomness of the importance sampler
    draws      number of its draws
    tolerance  absolute error of the mean; 100 times that, relative, for the variance and the evidence

    Raises ConvergenceError where the tolerance is not reached. The evidence of very many meanings is a difference of
    large logarithms of gamma functions: its rounding error is about 1e-16 K alpha log(K alpha).

    >>> moments([1], [0.3], [7]).mean.round(9)
    array([1.26870883])
    """
    if method == "importance":
        mean, variance, log_z = importance_moments(counts, floors, sizes, alpha, rng, draws)
        k, m = whole_sizes(sizes), whole_counts(counts).size
        return Moments(mean, variance, log_z + placement(k, m, alpha))
    if method != "exact":
        raise InputError(f"method is {method!r}; it must be 'exact' or 'importance'")
    c, floor = whole_counts(counts), clean_floors(vector(floors, "floors"))
    if c.size != floor.size:
        raise InputError(
            f"counts has {c.size} entries and floors {floor.size}; both need one for each meaning"
        )
    alpha = check_alpha(alpha)
    k = whole_sizes(sizes, seen=c.size)
    bounds, k_bounds = np.array([0, c.size]), np.array([0, k.size])
    problem = Problems(
        c + (alpha - 1.0), np.ones(c.size), floor, bounds, np.array([alpha]), (k - c.size) * alpha, k_bounds
    )
    solved = solve(problem, tolerance)
    return Moments(solved.mean, solved.variance, solved.log_z + placement(k, c.size, alpha))


def moments_batch(
    counts: Sequence[Sequence[float] | NDArray[Any]],
    floors: Sequence[Sequence[float] | NDArray[Any]],
    sizes: Sequence[Sequence[float] | NDArray[Any]],
    alpha: float = 0.5,
    *,
    tolerance: float = 1e-9,
) -> list[Moments]:
    """`moments` for many prompts in one pass.

    counts     one list per prompt: the number of draws of each meaning seen
    floors     one list per prompt: the lower bound of each of these meanings' probabilities
    sizes      one list per prompt: the numbers of meanings K to consider, rising
    alpha      parameter of the symmetric Dirichlet
    tolerance  as in `moments`

    >>> [m.mean.round(6).tolist() for m in moments_batch([[1], [2, 1]], [[0.3], [0.5, 0.1]], [[2, 3], [2]])]
    [[0.380629, 0.647436], [0.575976]]
    """
    alpha = check_alpha(alpha)
    lengths, c = joined(counts, "counts")
    floor_lengths, floor = joined(floors, "floors")
    k_lengths, k = joined(sizes, "sizes")
    if not np.array_equal(lengths, floor_lengths) or lengths.size != k_lengths.size:
        raise InputError(
            "counts, floors and sizes need one list for each prompt, counts and floors one entry for each meaning"
        )
    bounds, k_bounds = ends(lengths), ends(k_lengths)
    check_counts(c)
    check_sizes(k)
    floor = clean_batch(floor, bounds)
    seen = np.repeat(lengths, k_lengths).astype(float)
    if np.any(k < seen):
        raise InputError("sizes contains a K below the number of meanings seen")
    if np.any(np.diff(k)[np.setdiff1d(np.arange(k.size - 1), k_bounds[1:-1] - 1)] <= 0):
        raise InputError("the sizes of each prompt must rise")
    alphas = np.full(lengths.size, alpha)
    solved = solve(
        Problems(c + (alpha - 1.0), np.ones(c.size), floor, bounds, alphas, (k - seen) * alpha, k_bounds),
        tolerance,
    )
    together = Moments(solved.mean, solved.variance, solved.log_z + placement(k, seen, alpha))
    return [together[a:b] for a, b in zip(k_bounds[:-1].tolist(), k_bounds[1:].tolist(), strict=True)]

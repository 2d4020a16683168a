"""Moments of the entropy under the paper's posterior: a Dirichlet truncated below at a lower bound per meaning.

A meaning's lower bound (floor) is the summed probability of its sequences seen (Ciosek et al., TMLR 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import gammaln

from ..errors import ConvergenceError, InputError
from ..numeric_checks import is_whole
from .components import placement
from .contour import Problems, solve
from .inputs import (
    check_alpha,
    check_counts,
    check_sizes,
    clean_batch,
    counts_above,
    ends,
    joined,
    whole_sizes,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..nouns import Floats


# Self-normalised importance sampling with uniform proposals: the paper's integrator, to reproduce its numbers.
#
# For alpha <= 0.5 the weights have infinite variance. `moments` is exact and faster.


MOST_NUMBERS = 2e7  # draws times meanings: each takes 8 bytes in several arrays


def importance_moments(
    counts: Floats,
    floors: Floats,
    sizes: Floats,
    alpha: float,
    rng: np.random.Generator | None,
    draws: int = 1000,
) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of the entropy and log Z for each K in `sizes`, by importance sampling.

    counts  number of draws of each meaning seen
    floors  lower bound of each of these meanings' probabilities
    sizes   the numbers of meanings K to consider
    alpha   parameter of the symmetric Dirichlet
    rng     source of randomness
    draws   number of proposals

    The proposals are uniform on the part of the simplex above the floors; the weights are the density
    prod_j b_j^(alpha + c_j - 1).

    >>> counts, floors, sizes = np.array([1.0]), np.array([0.3]), np.array([7.0])
    >>> mean, variance, log_z = importance_moments(counts, floors, sizes, 0.5, np.random.default_rng(0), 100_000)
    >>> mean.round(1)
    array([1.3])
    """
    if rng is None:
        raise InputError("importance sampling draws at random: pass rng=numpy.random.default_rng(seed)")
    if not is_whole(draws) or draws < 1:
        raise InputError(f"draws is {draws!r}; it must be a whole number, at least 1")
    if draws * sizes[-1] > MOST_NUMBERS:
        raise InputError(
            f"{draws} draws of {sizes[-1]:g} meanings are too many: their product may be {MOST_NUMBERS:g} at most; "
            'method="exact" has no such limit'
        )
    rows = [_one_size(counts, floors, int(size), alpha, rng, int(draws)) for size in sizes]
    table = np.array(rows)
    if not np.isfinite(table).all():
        raise ConvergenceError('importance sampling gave no finite answer; use method="exact"')
    return table[:, 0], table[:, 1], table[:, 2]


def _one_size(
    counts: Floats, floors: Floats, size: int, alpha: float, rng: np.random.Generator, draws: int
) -> tuple[float, float, float]:
    m, room = counts.size, 1.0 - floors.sum()
    power, lowest = np.full(size, alpha - 1.0), np.zeros(size)
    power[:m] += counts
    lowest[:m] = floors
    spacing = rng.standard_exponential((draws, size))
    b = np.maximum(lowest + room * spacing / spacing.sum(axis=1, keepdims=True), 1e-300)
    log_b = np.log(b)
    log_weight = log_b @ power
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    h = -(b * log_b).sum(axis=1)
    mean = weight @ h / weight.sum()
    variance = weight @ (h - mean) ** 2 / weight.sum()
    # Uniform points have density Gamma(K) / room^(K - 1); unseen meanings leave Gamma(alpha) each to the constant.
    log_volume = (size - 1) * np.log(room) - gammaln(size) - (size - m) * gammaln(alpha)
    return mean, variance, np.log(weight.mean()) + top + log_volume


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
    floor, c = counts_above(floors, counts)
    alpha, k = check_alpha(alpha), whole_sizes(sizes, seen=c.size)
    if method == "importance":
        mean, variance, log_z = importance_moments(c, floor, k, alpha, rng, draws)
        return Moments(mean, variance, log_z + placement(k, c.size, alpha))
    if method != "exact":
        raise InputError(f"method is {method!r}; it must be 'exact' or 'importance'")
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

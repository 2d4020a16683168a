"""Self-normalised importance sampling with uniform proposals: the paper's integrator, to reproduce its numbers.

For alpha <= 0.5 the weights have infinite variance. `moments` is exact and faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from ..errors import ConvergenceError, InputError
from .inputs import check_alpha, clean_floors, vector, whole_counts, whole_sizes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["importance_moments"]

MOST_NUMBERS = 2e7  # draws times meanings: each takes 8 bytes in several arrays


def importance_moments(
    counts: ArrayLike,
    floors: ArrayLike,
    sizes: ArrayLike,
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

    >>> mean, variance, log_z = importance_moments([1], [0.3], [7], 0.5, np.random.default_rng(0), draws=100_000)
    >>> mean.round(1)
    array([1.3])
    """
    if rng is None:
        raise InputError("importance sampling draws at random: pass rng=numpy.random.default_rng(seed)")
    c, floor = whole_counts(counts), clean_floors(vector(floors, "floors"))
    k = whole_sizes(sizes, seen=c.size)
    alpha = check_alpha(alpha)
    if c.size != floor.size:
        raise InputError(
            f"counts has {c.size} entries and floors {floor.size}; both need one for each meaning"
        )
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise InputError(f"draws is {draws!r}; it must be a whole number, at least 1")
    if draws * k[-1] > MOST_NUMBERS:
        raise InputError(
            f"{draws} draws of {k[-1]:g} meanings are too many: their product may be {MOST_NUMBERS:g} at most; "
            'method="exact" has no such limit'
        )
    rows = [_one_size(c, floor, int(size), alpha, rng, int(draws)) for size in k]
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

"""The belief about entropy given what was seen: the arrays-in, arrays-out face of the contour integrals.

Two models. `moments`: the paper's, a Dirichlet cut off below by floors. `two_level_moments`: meanings are Dirichlet, and the
sequences of a meaning are a Dirichlet process with concentration theta, so that a sequence's probability tells how much
of its meaning's mass has been found. Its likelihood of everything seen (counts of known sequences drop out) is

    product over seen meanings of theta^n_j ((b_j - l_j) / b_j)^(theta - 1) b_j^(u_j),   b_j > l_j,

n_j distinct sequences of known probability that sum to l_j, and u_j draws whose probability is not known. With no
probabilities at all it is the Dirichlet-multinomial: one model for samples with and without log-probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import gammaln

from ..errors import InputError
from .contour import TINIEST_FLOOR, Problems, exact_room, solve
from .importance import importance_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Moments", "moments", "moments_batch", "two_level_batch", "two_level_moments"]

# Floors come from sums of exponentials of rounded log-probabilities: this much above 1 is rounding, more is an error.
EXCESS_ALLOWED = 1e-6
FULL = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and variance of the entropy, and the log-evidence, for each support size asked for."""

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
    """Entropy of a Dirichlet(alpha + counts) over K meanings, each above its floor, for every K in `sizes`.

    `counts` and `floors` are those of the meanings seen. Exact to `tolerance` (100 times that, relative, in the variance);
    `method="importance"` gives the paper's estimate from `draws` uniform draws of `rng` instead.

    >>> moments([1], [0.3], [7]).mean.round(9)
    array([1.26870883])
    """
    c, floor, k = _counts(counts), _floors(floors), _sizes(sizes)
    _same_length(c, floor, "counts")
    _check_alpha(alpha)
    if k[0] < c.size:
        raise InputError(f"sizes holds {int(k[0])} but {c.size} meanings were seen: K is at least that")
    if method == "importance":
        mean, variance, log_z = importance_moments(c, floor, k, alpha, rng, draws)
        return Moments(mean, variance, log_z + _constant(k, c.size, alpha))
    if method != "exact":
        raise InputError(f"method is {method!r}: 'exact' or 'importance'")
    ends, k_ends = np.array([0, c.size]), np.array([0, k.size])
    problem = Problems(c + (alpha - 1.0), np.ones(c.size), floor, ends, np.array([alpha]), k - c.size, k_ends)
    solved = solve(problem, tolerance)
    return Moments(solved.mean, solved.variance, solved.log_z + _constant(k, c.size, alpha))


def moments_batch(
    counts: Sequence[ArrayLike],
    floors: Sequence[ArrayLike],
    sizes: Sequence[ArrayLike],
    alpha: float = 0.5,
    *,
    tolerance: float = 1e-9,
) -> list[Moments]:
    """`moments` for many prompts in one pass.

    >>> [m.mean.round(6).tolist() for m in moments_batch([[1], [2, 1]], [[0.3], [0.5, 0.1]], [[2, 3], [2]])]
    [[0.39906, 0.701217], [0.56196]]
    """
    _check_alpha(alpha)
    lengths, c = _joined(counts, "counts")
    floor_lengths, floor = _joined(floors, "floors")
    k_lengths, k = _joined(sizes, "sizes")
    if not np.array_equal(lengths, floor_lengths) or lengths.size != k_lengths.size:
        raise InputError("counts, floors and sizes must have one entry a prompt, counts and floors one a meaning")
    ends, k_ends = _ends(lengths), _ends(k_lengths)
    _check_counts(c)
    floor = _cut_batch(floor, ends)
    seen = np.repeat(lengths, k_lengths)
    if np.any(k < seen):
        raise InputError("sizes holds a K below the number of meanings seen")
    if np.any(np.diff(k)[np.setdiff1d(np.arange(k.size - 1), k_ends[1:-1] - 1)] <= 0):
        raise InputError("the sizes of each prompt must rise")
    alphas = np.full(lengths.size, alpha)
    solved = solve(Problems(c + (alpha - 1.0), np.ones(c.size), floor, ends, alphas, k - seen, k_ends), tolerance)
    together = Moments(solved.mean, solved.variance, solved.log_z + _constant(k, seen, alpha))
    return [together[a:b] for a, b in zip(k_ends[:-1].tolist(), k_ends[1:].tolist(), strict=True)]


def two_level_moments(
    floors: ArrayLike,
    distinct: ArrayLike,
    sizes: ArrayLike,
    alpha: float = 0.5,
    theta: float = 1.0,
    *,
    unpriced: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> Moments:
    """Entropy under the two-level model, for every number of meanings K in `sizes`.

    `floors` is the summed probability of each seen meaning's sequences, `distinct` how many they are, `unpriced` how many
    further draws of the meaning had no known probability (none by default).

    >>> two_level_moments([0.3], [1], [7], alpha=0.05, theta=0.1).mean.round(9)
    array([0.71470493])
    """
    floor, k = _floors(floors), _sizes(sizes)
    n = _counts(distinct, least=0, name="distinct")
    u = np.zeros(floor.size) if unpriced is None else _counts(unpriced, least=0, name="unpriced")
    _same_length(n, floor, "distinct")
    _same_length(u, floor, "unpriced")
    if k[0] < floor.size:
        raise InputError(f"sizes holds {int(k[0])} but {floor.size} meanings were seen: K is at least that")
    return two_level_batch([(floor, n, u)], [(alpha, theta, k)], tolerance=tolerance)[0][0]


def two_level_batch(
    evidence: Sequence[tuple[Floats, Floats, Floats]],
    components: Sequence[tuple[float, float, Floats]],
    *,
    tolerance: float = 1e-9,
) -> list[list[Moments]]:
    """The two-level model for many prompts under many parameters: a list a prompt, an entry a component.

    `evidence` holds (floors, distinct, unpriced) arrays as in `two_level_moments`, `components` (alpha, theta, sizes).
    Sizes below the number of meanings seen are possible for no one: their log-evidence is -inf and moments 0.
    """
    for alpha, theta, _ in components:
        _check_alpha(alpha)
        _check_theta(theta)
    floors = [_cut(np.asarray(row[0], dtype=float)) for row in evidence]
    p, q, floor, lengths, alphas, unseen, unseen_lengths = [], [], [], [], [], [], []
    for (_, _, unpriced), own in zip(evidence, floors, strict=True):
        for alpha, theta, sizes in components:
            possible = sizes[sizes >= own.size] - own.size
            p.append(unpriced + (alpha - theta))
            q.append(np.full(own.size, theta))
            floor.append(own)
            lengths.append(own.size)
            alphas.append(alpha)
            unseen.append(possible)
            unseen_lengths.append(possible.size)
    solved = solve(
        Problems(
            *(np.concatenate(p), np.concatenate(q), np.concatenate(floor), _ends(lengths)),
            *(np.array(alphas, dtype=float), np.concatenate(unseen).astype(float), _ends(unseen_lengths)),
        ),
        tolerance,
    )
    ends = iter(_ends(unseen_lengths).tolist()[:-1])
    return [
        [_placed(solved.mean, solved.variance, solved.log_z, next(ends), row, component) for component in components]
        for row in evidence
    ]


def _placed(
    mean: Floats,
    variance: Floats,
    log_z: Floats,
    start: int,
    row: tuple[Floats, Floats, Floats],
    component: tuple[float, float, Floats],
) -> Moments:
    """One component's moments over its own sizes, constants included, from a run of the solution."""
    alpha, theta, sizes = component
    m, found = row[0].size, float(row[1].sum())
    impossible = int((sizes < m).sum())
    out = Moments(np.zeros(sizes.size), np.zeros(sizes.size), np.full(sizes.size, -np.inf))
    run = slice(start, start + sizes.size - impossible)
    out.mean[impossible:], out.variance[impossible:] = mean[run], variance[run]
    k = sizes[impossible:]
    out.log_evidence[impossible:] = log_z[run] + _constant(k, m, alpha) + found * np.log(theta)
    return out


def _constant(sizes: Floats, seen: int | Floats, alpha: float) -> Floats:
    """log of K! / (K - m)! Gamma(K alpha) / Gamma(alpha)^m: which meanings were seen, and the prior's norm."""
    placed: Floats = gammaln(sizes + 1) - gammaln(sizes - seen + 1) + gammaln(sizes * alpha) - seen * gammaln(alpha)
    return placed


# ---- input -------------------------------------------------------------------------------------------------------


def _vector(values: ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list of numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a list of at least one number, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a number that is not finite")
    return array


def _counts(counts: ArrayLike, least: int = 1, name: str = "counts") -> Floats:
    array = _vector(counts, name)
    _check_counts(array, least, name)
    return array


def _check_counts(array: Floats, least: int = 1, name: str = "counts") -> None:
    if array.min() < least:
        raise InputError(f"{name} holds {array.min():g}: every seen meaning has at least {least}")


def _floors(floors: ArrayLike) -> Floats:
    return _cut(_vector(floors, "floors"))


def _cut(floors: Floats) -> Floats:
    if floors.min() < 0:
        raise InputError(f"floors holds {floors.min():g}: a floor is a probability")
    room = exact_room(floors)
    if room < -EXCESS_ALLOWED:
        raise InputError(f"floors sum to {1 - room:.9g}: probabilities of distinct sequences cannot exceed 1")
    if room < 1 - FULL:
        floors = floors * ((1 - 1.5 * (1 - FULL)) / (1 - room))
    tiny = (floors > 0) & (floors < TINIEST_FLOOR)
    return np.where(tiny, TINIEST_FLOOR, floors) if tiny.any() else floors


def _cut_batch(floors: Floats, ends: NDArray[np.int64]) -> Floats:
    if not np.isfinite(floors).all():
        raise InputError("floors holds a number that is not finite")
    totals = np.add.reduceat(floors, ends[:-1])
    if floors.min() >= TINIEST_FLOOR and totals.max() < FULL - 1e-9:
        return floors
    return np.concatenate([_cut(floors[a:b]) for a, b in zip(ends[:-1], ends[1:], strict=True)])


def _sizes(sizes: ArrayLike) -> Floats:
    array = _vector(sizes, "sizes")
    if array.size > 1 and np.diff(array).min() <= 0:
        raise InputError("sizes must rise")
    if array[0] < 1 or np.any(array != np.rint(array)):
        raise InputError("sizes must be whole numbers of meanings")
    return array


def _same_length(array: Floats, floors: Floats, name: str) -> None:
    if array.size != floors.size:
        raise InputError(f"{name} has {array.size} entries and floors {floors.size}: one a meaning each")


def _check_alpha(alpha: float) -> None:
    if not 1e-3 <= alpha <= 1e3:
        raise InputError(f"alpha is {alpha}: a number from 0.001 to 1000")


def _check_theta(theta: float) -> None:
    if not 1e-3 <= theta <= 1e3:
        raise InputError(f"theta is {theta}: a number from 0.001 to 1000")


def _joined(rows: Sequence[ArrayLike], name: str) -> tuple[NDArray[np.int64], Floats]:
    arrays = [np.asarray(row, dtype=float) for row in rows]
    if not arrays or any(array.ndim != 1 or array.size == 0 for array in arrays):
        raise InputError(f"{name} must be a list with a non-empty list for each prompt")
    return np.array([array.size for array in arrays]), np.concatenate(arrays)


def _ends(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

"""The two-level model: meanings with probabilities, and wordings within each meaning.

Meanings are Dirichlet(alpha) over K. Within a meaning, sequences are found in size-biased order, each taking a share of
what is left of the meaning's mass: Beta(1, theta) under a Dirichlet process (small theta: essentially one wording,
large: many). Real meanings often have a few wordings of like size instead (two tokenisations of one number, with and
without a full stop), so the first `main` of them may take shares Beta(1 + evenness, theta + evenness (main - i));
answers as long as sentences have so many rare wordings that shares Beta(1 - discount, theta + discount i) fit them
better (Pitman-Yor). The product over the sequences found telescopes for all: with n_j sequences of known probability
that sum to l_j, the likelihood of everything seen is

    b_j^(1 - theta - evenness main) (b_j - l_j)^(q_j - 1) * constants,
    q_j = theta + evenness max(main - n_j, 0) + discount n_j

for each seen meaning, times b_j for every draw whose probability is not known. Drawing again a sequence whose
probability is known says nothing new, so counts of known sequences drop out. With no probabilities at all
this is the Dirichlet-multinomial: samples with and without log-probabilities are one model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln

from ..errors import InputError
from .contour import Problems, exact_room, screen, solve
from .inputs import check_alpha, clean_floors, ends, vector, whole_counts, whole_sizes
from .posterior import Moments, placement
from .splitting import entropy_share

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..nouns import Evidence

    Floats = NDArray[np.float64]

__all__ = ["Kind", "Wordings", "evaluate", "two_level_moments"]


# Log-probabilities are sums of rounded 32-bit numbers: room below this cannot be told from none, and further
# digits would only order questions by their rounding. Providers round more, so a sum may exceed 1 by a little.
LEAST_ROOM = 1e-6
DIGITS = 6
MOST_EXCESS = 0.01
# Columns whose weight, by the saddle point, is below this share of the best are not worth an integral.
NEGLIGIBLE = -10.0


@dataclass(frozen=True, slots=True)
class Wordings:
    """How a meaning splits over sequences: `main` ones of like size, then a tail of concentration `theta`.

    A `discount` between 0 and 1 makes the tail heavy (Pitman-Yor): so many rare wordings that finding one is
    evidence for its meaning, as a draw is. It goes without `main`.
    """

    theta: float
    main: int = 0
    evenness: float = 0.0
    discount: float = 0.0

    def __post_init__(self) -> None:
        if not 1e-3 <= self.theta <= 1e3:
            raise InputError(f"theta is {self.theta}: a number from 0.001 to 1000")
        if self.main < 0 or self.evenness < 0 or not 0 <= self.discount < 1:
            raise InputError("main and evenness cannot be negative, and discount is from 0 to below 1")
        if self.main and self.discount:
            raise InputError("a heavy tail (discount) and main wordings do not go together")

    def powers(self, alpha: float, seen: Seen) -> tuple[Floats, Floats]:
        """p and q of each seen meaning's factor b^p (b - floor)^(q - 1)."""
        total = self.theta + self.evenness * self.main
        left = (
            self.theta + self.evenness * np.maximum(self.main - seen.found, 0.0) + self.discount * seen.found
        )
        return seen.unpriced + (alpha - total), left

    def log_constant(self, seen: Seen) -> float:
        """What the likelihood of the sequences found has beside its powers of b_j and b_j - l_j."""
        if not self.main and not self.discount:
            return float(seen.found.sum()) * math.log(self.theta)
        constant = 0.0
        for own in seen.logprobs:
            for i, logprob in enumerate(own, start=1):
                lean = -self.discount if i > self.main else self.evenness
                left = self.theta + self.discount * i + self.evenness * max(self.main - i, 0)
                constant += lean * logprob - _log_beta(1 + lean, left)
        return constant


@lru_cache(maxsize=4096)
def _log_beta(a: float, b: float) -> float:
    return float(betaln(a, b))


@dataclass(frozen=True)
class Kind:
    """A kind of question: how even its meanings are, how they are worded, and the support sizes to consider, rising."""

    alpha: float
    wordings: Wordings
    sizes: tuple[int, ...]

    @cached_property
    def columns(self) -> Floats:
        return np.array(self.sizes, dtype=float)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model sees of a question, per meaning: floors, sequences found, their log-probabilities, other draws."""

    floors: Floats
    found: Floats
    logprobs: tuple[tuple[float, ...], ...]
    unpriced: Floats

    @classmethod
    def of(cls, evidence: Evidence) -> Seen:
        """The evidence of real samples, to the digits it has."""
        told = tuple(tuple(round(min(logprob, 0.0), DIGITS) for logprob in own) for own in evidence.logprobs)
        floors = np.array([math.fsum(math.exp(logprob) for logprob in own) for own in told])
        total = float(floors.sum())
        if total > 1 + MOST_EXCESS:
            raise InputError(
                f"the probabilities of the distinct sequences seen sum to {total:.4g}: their log-probabilities are not "
                "those of the distribution they were drawn from (another temperature? a prefix?)"
            )
        found = np.array([len(own) for own in told], dtype=float)
        floors = clean_floors(floors / max(total, 1.0), LEAST_ROOM)
        return cls(floors, found, told, np.array(evidence.unpriced, dtype=float))

    @property
    def settled(self) -> float | None:
        """The entropy itself, where the sequences found leave no room for any other; None where they do."""
        if exact_room(self.floors) > 2 * LEAST_ROOM:
            return None
        return float(entropy_share(self.floors / self.floors.sum()).sum())


def evaluate(
    seen: Sequence[Seen],
    kinds: Sequence[Kind],
    *,
    tolerance: float = 1e-9,
    log_prior: Floats | None = None,
) -> Moments:
    """Moments and evidence of every question (rows) under every size of every kind (columns, kind by kind).

    A size below the number of meanings seen is impossible: log-evidence -inf, moments 0. With `log_prior`,
    one a column, the same is said of columns that would have next to no weight, which saves most of the work.
    """
    blocks = [_Block.of(own, kind) for own in seen for kind in kinds]
    if log_prior is not None:
        _drop_negligible(blocks, len(kinds), log_prior)
    solved = solve(_problems([block for block in blocks if block.kept.size]), tolerance, give_up=True)
    starts = np.cumsum([0] + [len(kind.sizes) for kind in kinds])
    shape = len(seen), int(starts[-1])
    out = Moments(np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf))
    at = 0
    for i, block in enumerate(blocks):
        row, columns = i // len(kinds), starts[i % len(kinds)] + block.kept
        run = slice(at, at + block.kept.size)
        at += block.kept.size
        out.mean[row, columns], out.variance[row, columns] = solved.mean[run], solved.variance[run]
        out.log_evidence[row, columns] = solved.log_z[run] + block.constants()
    return out


@dataclass(slots=True)
class _Block:
    """One question under one kind: its factors, and which sizes are still worth integrating."""

    kind: Kind
    p: Floats
    q: Floats
    floors: Floats
    constant: float
    kept: NDArray[np.intp]

    @classmethod
    def of(cls, seen: Seen, kind: Kind) -> _Block:
        p, q = kind.wordings.powers(kind.alpha, seen)
        kept, _ = _possible(kind, seen.floors.size)
        return cls(kind, p, q, seen.floors, kind.wordings.log_constant(seen), kept)

    def constants(self) -> Floats:
        return self.constant + _possible(self.kind, self.floors.size)[1][self.kept]


@lru_cache(maxsize=4096)
def _possible(kind: Kind, seen: int) -> tuple[NDArray[np.intp], Floats]:
    """Which sizes of a kind are possible once `seen` meanings were, and the constant of each size."""
    return np.flatnonzero(kind.columns >= seen), placement(np.maximum(kind.columns, seen), seen, kind.alpha)


def _problems(blocks: Sequence[_Block]) -> Problems:
    return Problems(
        p=np.concatenate([block.p for block in blocks]),
        q=np.concatenate([block.q for block in blocks]),
        floors=np.concatenate([block.floors for block in blocks]),
        offsets=ends([block.floors.size for block in blocks]),
        alpha=np.array([block.kind.alpha for block in blocks]),
        unseen=np.concatenate([block.kind.columns[block.kept] - block.floors.size for block in blocks]),
        unseen_offsets=ends([block.kept.size for block in blocks]),
    )


def _drop_negligible(blocks: Sequence[_Block], kinds: int, log_prior: Floats) -> None:
    rough = screen(_problems(blocks))
    if rough is None:
        return
    starts = np.cumsum([0] + [len(block.kind.sizes) for block in blocks[:kinds]])
    weights, at = [], 0
    for i, block in enumerate(blocks):
        own = rough[at : at + block.kept.size] + block.constants()
        at += block.kept.size
        weights.append(own + log_prior[starts[i % kinds] + block.kept])
    for first in range(0, len(blocks), kinds):
        row = weights[first : first + kinds]
        top = max(own.max(initial=-np.inf) for own in row)
        for block, own in zip(blocks[first : first + kinds], row, strict=True):
            block.kept = block.kept[own >= top + NEGLIGIBLE]


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

    `floors` is the summed probability of each seen meaning's sequences, `distinct` how many they are,
    `unpriced` how many further draws of the meaning had no known probability (none by default).

    >>> two_level_moments([0.3], [1], [7], alpha=0.05, theta=0.1).mean.round(9)
    array([0.71470493])
    """
    floor, k = clean_floors(vector(floors, "floors")), whole_sizes(sizes)
    n = whole_counts(distinct, least=0, name="distinct")
    u = np.zeros(floor.size) if unpriced is None else whole_counts(unpriced, least=0, name="unpriced")
    if not floor.size == n.size == u.size:
        raise InputError("floors, distinct and unpriced must have one entry a meaning each")
    if k[0] < floor.size:
        raise InputError(f"sizes holds {int(k[0])} but {floor.size} meanings were seen: K is at least that")
    check_alpha(alpha)
    shares = tuple(
        (float(np.log(f / d)),) * int(d) if f > 0 and d else () for f, d in zip(floor, n, strict=True)
    )
    kind = Kind(alpha, Wordings(theta), tuple(k.astype(int).tolist()))
    found = evaluate([Seen(floor, n, shares, u)], [kind], tolerance=tolerance)
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])

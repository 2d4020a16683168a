"""The two-level model: meanings with probabilities, and wordings within each meaning.

Meanings are Dirichlet(alpha) over K. Within a meaning, sequences are found in size-biased order, each taking
a share of what is left of the meaning's mass: Beta(1, theta) under a Dirichlet process (small theta:
essentially one wording, large: many). Real meanings often have a few wordings of like size instead (two
tokenisations of one number, with and without a full stop), so the first `main` of them may take shares Beta(1
+ evenness, theta + evenness (main - i)). The product over the sequences found telescopes for both: with n_j
sequences of known probability that sum to l_j, the likelihood of everything seen is

    b_j^(1 - theta - evenness main) (b_j - l_j)^(q_j - 1) * constants,  q_j = theta + evenness max(main - n_j, 0)

for each seen meaning, times b_j for every draw whose probability is not known. Drawing again a sequence whose
probability is known says nothing new, so counts of known sequences drop out. With no probabilities at all
this is the Dirichlet-multinomial: samples with and without log-probabilities are one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln

from ..errors import InputError
from .contour import Problems, solve
from .inputs import check_alpha, clean_floors, ends, vector, whole_counts, whole_sizes
from .posterior import Moments, placement

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..nouns import Evidence

    Floats = NDArray[np.float64]

__all__ = ["Kind", "Wordings", "evaluate", "two_level_moments"]


@dataclass(frozen=True, slots=True)
class Wordings:
    """How a meaning splits over sequences: `main` ones of like size, then a tail of concentration `theta`."""

    theta: float
    main: int = 0
    evenness: float = 0.0

    def __post_init__(self) -> None:
        if not 1e-3 <= self.theta <= 1e3:
            raise InputError(f"theta is {self.theta}: a number from 0.001 to 1000")
        if self.main < 0 or self.evenness < 0:
            raise InputError("main and evenness cannot be negative")

    @property
    def total(self) -> float:
        return self.theta + self.main * self.evenness

    def left(self, found: Floats) -> Floats:
        """q_j: the concentration of what is not found yet, after `found` sequences of a meaning."""
        q: Floats = self.theta + self.evenness * np.maximum(self.main - found, 0.0)
        return q

    def log_constant(self, logprobs: Sequence[Sequence[float]]) -> float:
        """What the likelihood of the sequences found has beside its powers of b_j and b_j - l_j."""
        constant = 0.0
        for own in logprobs:
            constant += max(len(own) - self.main, 0) * np.log(self.theta)
            for i, logprob in enumerate(own[: self.main], start=1):
                left = self.theta + self.evenness * (self.main - i)
                constant += self.evenness * logprob - _log_beta(1 + self.evenness, left)
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


def evaluate(evidences: Sequence[Evidence], kinds: Sequence[Kind], *, tolerance: float = 1e-9) -> Moments:
    """Moments and evidence of every question (rows) under every size of every kind (columns, kind by kind).

    A size below the number of meanings seen is impossible: log-evidence -inf, moments 0.
    """
    layout = [_layout(tuple(kinds), len(e.counts)) for e in evidences]
    floors = [clean_floors(np.array(e.floors, dtype=float)) for e in evidences]
    p, q, repeated = [], [], []
    for evidence, floor, (alphas, shifts, _, _, _) in zip(evidences, floors, layout, strict=True):
        found = np.array(evidence.distinct, dtype=float)
        unpriced = np.array(evidence.unpriced, dtype=float)
        p.append((unpriced[None, :] + (alphas - shifts)[:, None]).ravel())
        q.append(np.concatenate([kind.wordings.left(found) for kind in kinds]))
        repeated.append(np.tile(floor, len(kinds)))
    lengths = np.repeat([floor.size for floor in floors], len(kinds))
    problems = Problems(
        *(np.concatenate(p), np.concatenate(q), np.concatenate(repeated), ends(lengths)),
        *(np.tile(layout[0][0], len(evidences)), np.concatenate([row[2] for row in layout])),
        ends(np.concatenate([row[3] for row in layout])),
    )
    solved = solve(problems, tolerance, give_up=True)
    out = [np.zeros((len(evidences), layout[0][4].size)) for _ in range(3)]
    out[2][:] = -np.inf
    start = 0
    for i, (evidence, (_, _, unseen, lengths_k, possible)) in enumerate(zip(evidences, layout, strict=True)):
        run = slice(start, start + unseen.size)
        start += unseen.size
        constants = np.array([kind.wordings.log_constant(evidence.logprobs) for kind in kinds])
        out[0][i, possible], out[1][i, possible] = solved.mean[run], solved.variance[run]
        out[2][i, possible] = solved.log_z[run] + np.repeat(constants, lengths_k)
    out[2] += np.array([_placements(tuple(kinds), len(e.counts)) for e in evidences])
    return Moments(*out)


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
    from ..nouns import Evidence

    floor, k = clean_floors(vector(floors, "floors")), whole_sizes(sizes)
    n = whole_counts(distinct, least=0, name="distinct")
    u = np.zeros(floor.size) if unpriced is None else whole_counts(unpriced, least=0, name="unpriced")
    if not floor.size == n.size == u.size:
        raise InputError("floors, distinct and unpriced must have one entry a meaning each")
    if k[0] < floor.size:
        raise InputError(f"sizes holds {int(k[0])} but {floor.size} meanings were seen: K is at least that")
    check_alpha(alpha)
    seen = Evidence(
        counts=tuple(np.maximum(n + u, 1).astype(int).tolist()),
        floors=tuple(floor.tolist()),
        distinct=tuple(n.astype(int).tolist()),
        unpriced=tuple(u.astype(int).tolist()),
    )
    kind = Kind(alpha, Wordings(theta), tuple(k.astype(int).tolist()))
    found = evaluate([seen], [kind], tolerance=tolerance)
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])


@lru_cache(maxsize=512)
def _layout(
    kinds: tuple[Kind, ...], seen: int
) -> tuple[Floats, Floats, Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """What depends only on how many were seen: alphas, shifts, unseen numbers and lengths, what is possible."""
    alphas = np.array([kind.alpha for kind in kinds])
    shifts = np.array([kind.wordings.total for kind in kinds])
    unseen = [np.array([size - seen for size in kind.sizes if size >= seen], dtype=float) for kind in kinds]
    possible = np.array([size >= seen for kind in kinds for size in kind.sizes])
    return alphas, shifts, np.concatenate(unseen), np.array([u.size for u in unseen]), possible


@lru_cache(maxsize=512)
def _placements(kinds: tuple[Kind, ...], seen: int) -> Floats:
    """The constants of which meanings were seen, over all columns; 0 where impossible."""
    columns = [
        placement(np.maximum(np.array(kind.sizes, dtype=float), seen), seen, kind.alpha) for kind in kinds
    ]
    return np.concatenate(columns)

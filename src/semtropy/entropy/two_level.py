"""The two-level model: meanings with probabilities, and wordings within each meaning.

`kinds` has the priors of both levels. The product over the sequences found telescopes for all of them: with n_j
sequences of known probability that sum to l_j, the likelihood of everything seen is

    b_j^(1 - theta - evenness main) (b_j - l_j)^(q_j - 1) * constants,
    q_j = theta + evenness max(main - n_j, 0) + discount n_j

for each seen meaning, times b_j for every draw whose probability is not known. Drawing again a sequence whose
probability is known says nothing new, so counts of known sequences drop out. With no probabilities at all
this is the Dirichlet-multinomial: samples with and without log-probabilities are one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .components import DirichletComponent, PitmanYorComponent, SequencePrior, component_grid
from .contour import Problems, screen, solve
from .inputs import check_alpha, clean_floors, ends, vector, whole_counts, whole_sizes
from .observations import Observations
from .posterior import Moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["component_moments", "two_level_moments"]


# ComponentGrid whose weight, by the saddle point, is below this share of the best are not worth an integral.
NEGLIGIBLE = -10.0


def component_moments(
    seen: Sequence[Observations],
    kinds: Sequence[DirichletComponent | PitmanYorComponent],
    *,
    tolerance: float = 1e-9,
    log_prior: Floats | None = None,
) -> Moments:
    """Moments and evidence of every question (rows) under every point of every kind (columns, kind by kind).

    A size below the number of meanings seen is impossible: log-evidence -inf, moments 0. With `log_prior`,
    one a column, the same is said of columns that would have next to no weight, which saves most of the work.
    """
    blocks = [_Block.of(own, kind) for own in seen for kind in kinds]
    if log_prior is not None:
        _drop_negligible(blocks, len(kinds), log_prior)
    solved = solve(_problems([block for block in blocks if block.kept.size]), tolerance, on_failure="exclude")
    starts = np.cumsum([0] + [len(kind.points) for kind in kinds])
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
    """One question under one kind: its factors, and which columns are still worth integrating."""

    kind: DirichletComponent | PitmanYorComponent
    p: Floats
    q: Floats
    floors: Floats
    constant: float
    kept: NDArray[np.intp]

    @classmethod
    def of(cls, seen: Observations, kind: DirichletComponent | PitmanYorComponent) -> _Block:
        p, q = kind.sequences.powers(kind.alpha, seen)
        possible = component_grid(kind, seen.floors.size).possible
        return cls(kind, p, q, seen.floors, kind.sequences.log_constant(seen), possible)

    def mass(self) -> Floats:
        return component_grid(self.kind, self.floors.size).mass[self.kept]

    def constants(self) -> Floats:
        return self.constant + component_grid(self.kind, self.floors.size).constant[self.kept]


def _problems(blocks: Sequence[_Block]) -> Problems:
    return Problems(
        p=np.concatenate([block.p for block in blocks]),
        q=np.concatenate([block.q for block in blocks]),
        floors=np.concatenate([block.floors for block in blocks]),
        offsets=ends([block.floors.size for block in blocks]),
        alpha=np.array([block.kind.alpha for block in blocks]),
        mass=np.concatenate([block.mass() for block in blocks]),
        mass_offsets=ends([block.kept.size for block in blocks]),
    )


def _drop_negligible(blocks: Sequence[_Block], kinds: int, log_prior: Floats) -> None:
    rough = screen(_problems(blocks))
    starts = np.cumsum([0] + [len(block.kind.points) for block in blocks[:kinds]])
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
    no_logprob: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> Moments:
    """Entropy under the two-level model, for every number of meanings K in `sizes`.

    `floors` is the summed probability of each seen meaning's sequences, `distinct` how many they are,
    `no_logprob` how many further draws of the meaning had no known probability (none by default).

    >>> two_level_moments([0.3], [1], [7], alpha=0.05, theta=0.1).mean.round(9)
    array([0.71470493])
    """
    floor, k = clean_floors(vector(floors, "floors")), whole_sizes(sizes)
    n = whole_counts(distinct, least=0, name="distinct")
    u = np.zeros(floor.size) if no_logprob is None else whole_counts(no_logprob, least=0, name="no_logprob")
    if not floor.size == n.size == u.size:
        raise InputError("floors, distinct and no_logprob must have one entry a meaning each")
    if k[0] < floor.size:
        raise InputError(f"sizes holds {int(k[0])} but {floor.size} meanings were seen: K is at least that")
    check_alpha(alpha)
    shares = tuple(
        (float(np.log(f / d)),) * int(d) if f > 0 and d else () for f, d in zip(floor, n, strict=True)
    )
    kind = DirichletComponent(alpha, SequencePrior(theta), tuple(k.astype(int).tolist()))
    found = component_moments([Observations(floor, n, shares, u)], [kind], tolerance=tolerance)
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])

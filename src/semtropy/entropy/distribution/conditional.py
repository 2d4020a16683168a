"""The entropy's distribution for a product density: all probabilities but one are lattice draws, one is integrated out.

Each draw leaves a piece of distribution rather than a point:

- with two or more unseen meanings, their mass is drawn and their entropy is a table (`symmetric`, or `endless`),
  stretched by it;
- with none or one, the last split is not drawn: it is laid out in cells, and entropy is a parabola over each.

The distribution function is the weighted mean of the pieces. Draws are in two halves, each a lattice of its own; how
far they differ tells the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from ..shannon import entropy_term
from .pitman_yor import pitman_yor_table
from .qmc import lattice
from .splits import Factor, Splits, Table
from .unseen import EntropyTable, shared_table, stretched_sums, symmetric_table

try:
    from .._native import distribution as _distribution  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _distribution = None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Cells", "Pieces", "Stretched", "pieces", "unseen_meanings"]

CELLS = 32
TINY = 1e-14
COARSE, FINE = 1024, 8192  # lattice points for the tables of unseen meanings


@dataclass(frozen=True, slots=True)
class Stretched:
    """P(fixed + scale * h' <= t), h' distributed as in the table, averaged over draws."""

    table: EntropyTable
    fixed: Floats
    scale: Floats
    weight: Floats

    def spread(self) -> float:
        """A standard deviation, nearly."""
        within = self.scale.mean() * (self.table.high - self.table.low) / 8
        return float(within + np.sqrt(self.weight @ (self.fixed - self.weight @ self.fixed) ** 2))

    def sums(self, points: Floats, draws: slice) -> Floats:
        return stretched_sums(self.table, self.fixed[draws], self.scale[draws], self.weight[draws], points)


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of mass, a row a draw; over each, entropy is start + rise s - bow s^2 with s uniform on (0, 1)."""

    start: Floats
    rise: Floats
    bow: Floats
    weight: Floats

    def spread(self) -> float:
        """A standard deviation, nearly."""
        middle = self.start + self.rise / 2 - self.bow / 4
        return float(np.sqrt((self.weight * (middle - (self.weight * middle).sum()) ** 2).sum()))

    def sums(self, points: Floats, draws: slice) -> Floats:
        start, rise, bow = self.start[draws].ravel(), self.rise[draws].ravel(), self.bow[draws].ravel()
        weight = self.weight[draws].ravel()
        total = np.empty(points.size)
        if _distribution is not None:
            _distribution.cells(start, rise, bow, weight, np.ascontiguousarray(points), total)
            return total
        for i, point in enumerate(points):
            above = point - start
            inside = rise * rise - 4 * bow * above
            root = np.sqrt(np.maximum(inside, 0))
            sum_ = np.where(rise < 0, rise - root, rise + root)
            with np.errstate(
                over="ignore"
            ):  # a straight cell has next to no bow, and its far root lies beyond any number
                one = np.clip(sum_ / (2 * bow), 0, 1)
                other = np.clip(2 * above / np.where(sum_ == 0, 1e-300, sum_), 0, 1)
            between = np.where(inside > 0, np.abs(one - other), 0.0)
            total[i] = np.where(bow > 0, 1 - between, between) @ weight
        return total


Pieces = Stretched | Cells


@dataclass(slots=True)
class _Draws:
    """Draws on the way down: what is left of each total, the entropy so far, and the log of the weight."""

    log_rest: Floats
    entropy: Floats
    log_weight: Floats

    def take(self, factor: Factor, table: Table, u: Floats) -> Floats:
        """Draw the factor's share of what is left; returns the log of it."""
        if _distribution is not None:
            taken, own = np.empty(u.size), (factor.p, factor.q, factor.floor)
            _distribution.take(
                *(own, table.log_rest, table.z, table.slope, np.ascontiguousarray(u)),
                *(self.log_rest, self.entropy, self.log_weight, taken),
            )
            return taken
        z, log_slope = table.draw(u, self.log_rest)
        log_y, log_left = self.log_rest - np.logaddexp(0, -z), self.log_rest - np.logaddexp(0, z)
        self.log_weight += log_slope + factor.log(log_y) + log_y + log_left - self.log_rest
        self.entropy += entropy_term(factor.floor + np.exp(log_y))
        self.log_rest = log_left
        return log_y


@dataclass(frozen=True, slots=True)
class _Block:
    """Unseen meanings, two or more: their mass, how many draws it is worth, and the table of their entropy."""

    mass: float
    draws: int
    table: EntropyTable


def _begin(n: int, log_room: float) -> _Draws:
    return _Draws(np.full(n, log_room), np.zeros(n), np.zeros(n))


def pieces(
    factors: Sequence[Factor],
    log_room: float,
    alpha: float,
    masses: Sequence[float],
    draws: Sequence[int],
    *,
    rough: bool = False,
) -> list[Pieces]:
    """The pieces for each mass of unseen meanings, from so many draws (powers of 2) each.

    `rough` takes smaller and shared tables: quicker, and the right thing where draws are few.
    """
    ordered = sorted(factors, key=lambda f: (f.floor, f.p, f.q))
    levels = len(ordered) if any(masses) else max(1, len(ordered) - 1)
    splits = Splits.of(ordered, log_room, levels, rough=rough)
    tables = [_table(alpha, mass, n, rough=rough) for mass, n in zip(masses, draws, strict=True)]
    blocks = [
        _Block(mass, n, table)
        for mass, n, table in zip(masses, draws, tables, strict=True)
        if table is not None
    ]
    stretched = iter(_stretched(splits, log_room, blocks))
    return [
        _cells(splits, log_room, mass, n) if table is None else next(stretched)
        for mass, n, table in zip(masses, draws, tables, strict=True)
    ]


def unseen_meanings(mass: float, alpha: float) -> int | None:
    """How many meanings of `alpha` each make up the mass; None where they have no end."""
    return round(mass / alpha) if alpha > 0 else None


def _table(alpha: float, mass: float, draws: int, *, rough: bool) -> EntropyTable | None:
    """The entropy of unseen meanings; None where they are one or none and have none."""
    unseen = unseen_meanings(mass, alpha)
    if unseen is None:
        return pitman_yor_table(mass, -alpha)
    if unseen < 2:
        return None
    return shared_table(unseen, alpha) if rough else symmetric_table(unseen, alpha, _table_points(draws))


def _table_points(draws: int) -> int:
    return COARSE if draws <= 1 << 15 else FINE


def _stretched(splits: Splits, log_room: float, blocks: Sequence[_Block]) -> list[Stretched]:
    if not blocks:
        return []
    m = len(splits.factors)
    lattices = [lattice(m, block.draws) for block in blocks]
    at, share = (np.concatenate(arrays) for arrays in zip(*lattices, strict=True))
    state, log_mass = _begin(len(at), log_room), np.empty(len(at))
    ends = np.cumsum([0, *(block.draws for block in blocks)])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    for block, part in zip(blocks, parts, strict=True):
        factor, own = Factor(0.0, block.mass, 0.0), _begin(block.draws, log_room)
        log_mass[part] = own.take(factor, splits.split(factor, m, np.array([log_room])).table(), at[part, 0])
        state.log_rest[part], state.entropy[part], state.log_weight[part] = (
            own.log_rest,
            own.entropy,
            own.log_weight,
        )
    for j in range(m - 1, 0, -1):
        factor = splits.factors[j]
        state.take(factor, splits.table(factor, j, state.log_rest), at[:, m - j])
    first = splits.factors[0]
    log_weight = state.log_weight + first.log(state.log_rest)
    entropy = state.entropy + entropy_term(first.floor + np.exp(state.log_rest))
    scale = np.exp(np.maximum(log_mass, -690.0))
    return [
        Stretched(block.table, entropy[part], scale[part], _normal(log_weight[part], share[part]))
        for block, part in zip(blocks, parts, strict=True)
    ]


def _normal(log_weight: Floats, share: Floats) -> Floats:
    weight: Floats = share * np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    return weight


def _cells(splits: Splits, log_room: float, unseen: float, draws: int) -> Cells:
    """All splits but the last are drawn; the last is between the first factor and the one above it."""
    m = len(splits.factors)
    chain = [(splits.factors[j], j) for j in range(m - 1, 0, -1)]
    if unseen:
        chain = [(Factor(0.0, unseen, 0.0), m), *chain]
    outer = len(chain) - 1
    n = draws // 4 if outer else 1
    state = _begin(n, log_room)
    u, share = lattice(outer, n) if outer else (np.empty((1, 0)), np.ones(1))
    for k, (factor, below) in enumerate(chain[:-1]):
        state.take(factor, splits.table(factor, below, state.log_rest), u[:, k])
    state.log_weight += np.log(share)
    factor, below = chain[-1]
    table = splits.table(factor, below, state.log_rest)
    return _laid_out(state, splits.factors[0], factor, table, CELLS if outer else 4 * draws)


def _laid_out(state: _Draws, first: Factor, last: Factor, table: Table, cells: int) -> Cells:
    edges = np.concatenate([[TINY], expit(np.linspace(-16, 16, cells - 1)), [1 - TINY]])
    u = np.empty(2 * cells + 1)
    u[::2], u[1::2] = edges, (edges[1:] + edges[:-1]) / 2
    n = state.log_rest.size
    spread = _Draws(*(np.repeat(a, u.size) for a in (state.log_rest, state.entropy, state.log_weight)))
    spread.take(last, table, np.tile(u, n))
    log_weight = spread.log_weight + first.log(spread.log_rest)
    weight = np.exp(log_weight - log_weight.max()).reshape(n, -1)
    entropy = spread.entropy + entropy_term(first.floor + np.exp(spread.log_rest))
    entropy = entropy.reshape(n, -1)
    mass = np.diff(edges) * (weight[:, :-2:2] + 4 * weight[:, 1::2] + weight[:, 2::2])
    start, middle, end = entropy[:, :-2:2], entropy[:, 1::2], entropy[:, 2::2]
    bow = 2 * (2 * middle - start - end)
    flat = np.where(np.abs(bow) < 1e-300, 1e-300, bow)
    return Cells(np.ascontiguousarray(start), end - start + bow, flat, mass / mass.sum())

"""Lattice draws from a product density over meaning probabilities, each with the conditional distribution it leaves.

The meanings' probabilities are drawn from the top down (`Splits`), all but one; the remaining one is integrated out
(`ConditionalAverage`). The draws are in two halves, each a lattice, so that the difference of the halves estimates the
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from .._native import distribution as _distribution
from ..dirichlet import entropy_term
from .interpolation import EntropyTable, lattice, scaled_average
from .share_density import Factor, Splits
from .unseen import pitman_yor_table, shared_table, symmetric_table

if TYPE_CHECKING:
    from ...nouns import Floats
    from .share_density import ShareTable


# The entropy's distribution given all probabilities but one, averaged over lattice draws of those probabilities.
#
# A draw contributes a piece of distribution rather than a point:
#
# - `ScaledTables`: with two or more unseen meanings, their total mass is drawn and their entropy is a table, scaled
#   by it;
# - `ParabolicCells`: with one or none, the last split is not drawn but divided into cells, over each of which the
#   entropy is a parabola.


@dataclass(frozen=True, slots=True)
class ScaledTables:
    """P(fixed + scale h' <= t), h' distributed as in the table, averaged over draws."""

    table: EntropyTable
    fixed: Floats
    scale: Floats
    weight: Floats

    def sharper_than(self, deviation: float) -> bool:
        """Whether the standard deviation of the entropy is below this, approximately."""
        within = float(self.scale.mean()) * (self.table.high - self.table.low) / 8
        if within > deviation:
            return False
        between = np.sqrt(self.weight @ (self.fixed - self.weight @ self.fixed) ** 2)
        return bool(within + between <= deviation)

    @property
    def effective(self) -> float:
        """How many draws of equal weight would be worth as much."""
        return _effective(self.weight)

    def cdf(self, points: Floats, draws: slice = slice(None)) -> Floats:
        """The weighted sum over some of the draws, at each point."""
        return scaled_average(self.table, self.fixed[draws], self.scale[draws], self.weight[draws], points)


@dataclass(frozen=True, slots=True)
class ParabolicCells:
    """Cells of probability, one row for each draw.

    Over a cell the entropy is start + rise s - bow s^2, with s uniform on (0, 1).
    """

    start: Floats
    rise: Floats
    bow: Floats
    weight: Floats

    def sharper_than(self, deviation: float) -> bool:
        """Whether the standard deviation of the entropy is below this, approximately."""
        middle = self.start + self.rise / 2 - self.bow / 4
        spread = np.sqrt((self.weight * (middle - (self.weight * middle).sum()) ** 2).sum())
        return bool(spread <= deviation)

    @property
    def effective(self) -> float:
        """How many draws of equal weight would be worth as much."""
        return _effective(self.weight.sum(axis=1))

    def cdf(self, points: Floats, draws: slice = slice(None)) -> Floats:
        """The weighted sum over some of the draws, at each point."""
        start, rise, bow = self.start[draws].ravel(), self.rise[draws].ravel(), self.bow[draws].ravel()
        weight = self.weight[draws].ravel()
        total = np.empty(points.size)
        if _distribution is not None:
            _distribution.cells(start, rise, bow, weight, np.ascontiguousarray(points), total)
            return total
        for i, point in enumerate(points):
            total[i] = _below(point - start, rise, bow) @ weight
        return total


def _effective(weight: Floats) -> float:
    """Kish's effective number of draws, (sum w)^2 / sum w^2."""
    return float(weight.sum() ** 2 / (weight @ weight))


def _below(above: Floats, rise: Floats, bow: Floats) -> Floats:
    """The length of {s in (0, 1): rise s - bow s^2 <= above} for each cell, from the roots of the parabola."""
    inside = rise * rise - 4 * bow * above
    root = np.sqrt(np.maximum(inside, 0))
    sum_ = np.where(rise < 0, rise - root, rise + root)
    with np.errstate(over="ignore"):  # the far root of a nearly straight cell overflows, and is clipped
        one = np.clip(sum_ / (2 * bow), 0, 1)
        other = np.clip(2 * above / np.where(sum_ == 0, 1e-300, sum_), 0, 1)
    between = np.where(inside > 0, np.abs(one - other), 0.0)
    return np.where(bow > 0, 1 - between, between)


ConditionalAverage = ScaledTables | ParabolicCells


CELLS = 32
TINY = 1e-14
COARSE, FINE = 1024, 8192  # lattice points for the tables of unseen meanings
LEAST_LOG_SCALE = -690.0


@dataclass(slots=True)
class _PartialDraws:
    """Draws on the way down: the log of what is left of each total, the entropy so far, and the log of the weight."""

    log_rest: Floats
    entropy: Floats
    log_weight: Floats

    @staticmethod
    def begin(n: int, log_room: float) -> _PartialDraws:
        return _PartialDraws(np.full(n, log_room), np.zeros(n), np.zeros(n))

    def part(self, draws: slice) -> _PartialDraws:
        """Some of the draws, sharing memory with all of them."""
        return _PartialDraws(self.log_rest[draws], self.entropy[draws], self.log_weight[draws])

    def take(self, factor: Factor, table: ShareTable, u: Floats) -> Floats:
        """Draw the factor's part y of what is left, at cumulative probabilities u; returns log y."""
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
        self.log_rest[:] = log_left
        return log_y

    def finish(self, first: Factor) -> tuple[Floats, Floats]:
        """The entropy and the log-weight once the first meaning takes what is left."""
        entropy = self.entropy + entropy_term(first.floor + np.exp(self.log_rest))
        return entropy, self.log_weight + first.log(self.log_rest)


@dataclass(frozen=True, slots=True)
class _UnseenBlock:
    """Two or more unseen meanings: their Dirichlet mass, the number of draws, and the table of their entropy."""

    mass: float
    draws: int
    table: EntropyTable


def conditional_averages(
    factors: Sequence[Factor],
    log_room: float,
    alpha: float,
    masses: Sequence[float],
    draws: Sequence[int],
    *,
    rough: bool = False,
) -> list[ConditionalAverage]:
    """The averaged conditional distributions for each mass of unseen meanings, from `draws` draws (powers of 2) each.

    `rough` uses smaller and shared tables: faster, and accurate enough where draws are few.
    """
    ordered = sorted(factors, key=lambda f: (f.floor, f.p, f.q))
    levels = len(ordered) if any(masses) else max(1, len(ordered) - 1)
    splits = Splits.of(ordered, log_room, levels, rough=rough)
    tables = [_unseen_table(alpha, mass, n, rough=rough) for mass, n in zip(masses, draws, strict=True)]
    requests = list(zip(masses, draws, tables, strict=True))
    blocks = [_UnseenBlock(mass, n, table) for mass, n, table in requests if table is not None]
    scaled = iter(_scaled_tables(splits, log_room, blocks))
    return [
        _cells(splits, log_room, mass, n) if table is None else next(scaled) for mass, n, table in requests
    ]


def unseen_meanings(mass: float, alpha: float) -> int | None:
    """The number of unseen meanings, `alpha` of the mass each; None where it is unbounded (a Pitman-Yor process)."""
    return round(mass / alpha) if alpha > 0 else None


def _unseen_table(alpha: float, mass: float, draws: int, *, rough: bool) -> EntropyTable | None:
    """The entropy of the unseen meanings; None where they are one or none, which have none."""
    unseen = unseen_meanings(mass, alpha)
    if unseen is None:
        return pitman_yor_table(mass, -alpha)
    if unseen < 2:
        return None
    if rough:
        return shared_table(unseen, alpha)
    return symmetric_table(unseen, alpha, COARSE if draws <= 1 << 15 else FINE)


def _scaled_tables(splits: Splits, log_room: float, blocks: Sequence[_UnseenBlock]) -> list[ScaledTables]:
    """The mass of each unseen block is drawn first, then the seen meanings from the last to the first."""
    if not blocks:
        return []
    m = len(splits.factors)
    lattices = [lattice(m, block.draws) for block in blocks]
    at, share = (np.concatenate(arrays) for arrays in zip(*lattices, strict=True))
    state, log_mass = _PartialDraws.begin(len(at), log_room), np.empty(len(at))
    parts = [slice(a, b) for a, b in pairwise(np.cumsum([0, *(block.draws for block in blocks)]))]
    for block, part in zip(blocks, parts, strict=True):
        factor, own = Factor(0.0, block.mass, 0.0), state.part(part)
        log_mass[part] = own.take(factor, splits.share(factor, m, np.array([log_room])).table(), at[part, 0])
    # The entropy of the block's mass as a whole is counted; its table adds what is within.
    for j in range(m - 1, 0, -1):
        factor = splits.factors[j]
        state.take(factor, splits.table(factor, j, state.log_rest), at[:, m - j])
    entropy, log_weight = state.finish(splits.factors[0])
    scale = np.exp(np.maximum(log_mass, LEAST_LOG_SCALE))
    return [
        ScaledTables(block.table, entropy[part], scale[part], _normalised(log_weight[part], share[part]))
        for block, part in zip(blocks, parts, strict=True)
    ]


def _normalised(log_weight: Floats, share: Floats) -> Floats:
    weight: Floats = share * np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    return weight


def _cells(splits: Splits, log_room: float, unseen: float, draws: int) -> ParabolicCells:
    """All splits but the last are drawn; the last is between the first factor and the one above it."""
    m = len(splits.factors)
    chain = [(splits.factors[j], j) for j in range(m - 1, 0, -1)]
    if unseen:
        chain = [(Factor(0.0, unseen, 0.0), m), *chain]
    outer = len(chain) - 1
    n = max(1, draws // 4) if outer else 1
    state = _PartialDraws.begin(n, log_room)
    u, share = lattice(outer, n) if outer else (np.empty((1, 0)), np.ones(1))
    for k, (factor, below) in enumerate(chain[:-1]):
        state.take(factor, splits.table(factor, below, state.log_rest), u[:, k])
    state.log_weight += np.log(share)
    factor, below = chain[-1]
    table = splits.table(factor, below, state.log_rest)
    return _last_split(state, splits.factors[0], factor, table, CELLS if outer else 4 * draws)


def _last_split(
    state: _PartialDraws, first: Factor, last: Factor, table: ShareTable, cells: int
) -> ParabolicCells:
    """The last split in `cells` cells for each draw: parabolas through the entropy at both ends and the middle."""
    u, widths = _cell_points(cells)
    n = state.log_rest.size
    spread = _PartialDraws(*(np.repeat(a, u.size) for a in (state.log_rest, state.entropy, state.log_weight)))
    spread.take(last, table, np.tile(u, n))
    entropy, log_weight = (a.reshape(n, -1) for a in spread.finish(first))
    weight = np.exp(log_weight - log_weight.max())
    mass = widths * (weight[:, :-2:2] + 4 * weight[:, 1::2] + weight[:, 2::2])
    start, middle, end = entropy[:, :-2:2], entropy[:, 1::2], entropy[:, 2::2]
    bow = 2 * (2 * middle - start - end)
    flat = np.where(np.abs(bow) < 1e-300, 1e-300, bow)
    return ParabolicCells(np.ascontiguousarray(start), end - start + bow, flat, mass / mass.sum())


@lru_cache(maxsize=64)
def _cell_points(cells: int) -> tuple[Floats, Floats]:
    """Cumulative probabilities at the edges and the middle of each cell, in turn, and the cells' widths."""
    edges = np.concatenate([[TINY], expit(np.linspace(-16, 16, cells - 1)), [1 - TINY]])
    u = np.empty(2 * cells + 1)
    u[::2], u[1::2] = edges, (edges[1:] + edges[:-1]) / 2
    return u, np.diff(edges)

"""The entropy's distribution given all probabilities but one, averaged over lattice draws of those probabilities.

A draw contributes a piece of distribution rather than a point:

- `ScaledTables`: with two or more unseen meanings, their total mass is drawn and their entropy is a table, scaled
  by it;
- `ParabolicCells`: with one or none, the last split is not drawn but divided into cells, over each of which the
  entropy is a parabola.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .entropy_table import EntropyTable, scaled_average

try:
    from .._native import distribution as _distribution  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _distribution = None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["ConditionalAverage", "ParabolicCells", "ScaledTables"]


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

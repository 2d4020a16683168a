"""How a total probability is split over the meanings of a product density, from the last meaning down to the first.

The density of contour.py is a product of factors (floor + y)^p y^(q - 1) over meanings whose y sum to the room
above their lower bounds. It is drawn from the top down: first the share of the last meaning, then that of the one
before it in what is left, and so on (`share_density`). This needs

    V_1 = f_1,     V_j(r) = integral of f_j(y) V_{j-1}(r - y) dy over 0 < y < r,

which is built from the bottom up, once. The tables only guide the draws: each draw carries the exact density over
the density it was drawn with as its weight, which is 1 but for the tables' rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from .factor import Factor
from .normalizer import LogNormalizer
from .share_density import ShareDensity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .share_table import ShareTable

    Floats = NDArray[np.float64]

__all__ = ["Splits"]

SMALLEST = -690.0  # the log of the smallest total that differs from 0
ROWS, ROUGH_ROWS = 10, 5
MOST_SHARING = 2.0
NEAR = np.array([0, 0.6, 1.4, 2.5, 4, 7, 14, 35, 100, 350.0])
NEAR = np.concatenate([-NEAR[:0:-1], NEAR])


@dataclass(frozen=True, slots=True)
class Splits:
    """A product density: its factors, and log V_j of the first j = 1, 2, ... of them."""

    factors: tuple[Factor, ...]
    log_v: tuple[LogNormalizer, ...]
    rows: int  # totals at which a split is tabulated

    @staticmethod
    def of(factors: Sequence[Factor], log_room: float, levels: int, *, rough: bool = False) -> Splits:
        """V_j for j up to `levels`.

        `rough` evaluates the factors where the rest is divided in proportion to the q's. That is exact where no
        lower bound matters or all of them do, needs no integral, and only makes the weights less even. It is not
        used for powers p so large that they determine the division.
        """
        rough = rough and max(f.p for f in factors) <= MOST_SHARING
        rows = ROUGH_ROWS if rough else ROWS
        splits = Splits(tuple(factors), (LogNormalizer.of_one(factors[0]),), rows)
        for j in range(1, levels):
            own = factors[: j + 1]
            at = _grid([f.floor for f in own], log_room)
            together = Factor(sum(f.p for f in own), 1.0, sum(f.floor for f in own))
            log_v = _proportional(own, at) if rough else splits.share(factors[j], j, at).log_integral()
            curve = LogNormalizer.through(together, at, log_v)
            splits = Splits(splits.factors, (*splits.log_v, curve), rows)
        return splits

    def share(self, factor: Factor, below: int, log_rest: Floats) -> ShareDensity:
        """The density of `factor`'s share of each total, the rest going to the first `below` factors."""
        return ShareDensity(factor, self.log_v[below - 1], log_rest, _bends(self.factors[:below]))

    def table(self, factor: Factor, below: int, log_rest: Floats) -> ShareTable:
        """The table of that share for totals like these: rows at even ranks, so dense where the totals are."""
        ranked = np.sort(log_rest)
        rows = ranked[_even_ranks(ranked.size, min(self.rows, ranked.size))]
        distinct = np.concatenate([[True], rows[1:] > rows[:-1]])
        return self.share(factor, below, rows[distinct]).table()


@lru_cache(maxsize=1024)
def _bends(factors: tuple[Factor, ...]) -> tuple[float, ...]:
    """Logs of the distinct lower bounds, four of them at most."""
    floors = sorted({f.floor for f in factors if f.floor > 0})
    few = floors if len(floors) <= 4 else [floors[i * (len(floors) - 1) // 3] for i in range(4)]
    return tuple(log(floor) for floor in few)


@lru_cache(maxsize=1024)
def _even_ranks(size: int, rows: int) -> NDArray[np.intp]:
    return np.linspace(0, size - 1, rows).astype(np.intp)


def _proportional(factors: Sequence[Factor], log_rest: Floats) -> Floats:
    q, rest = sum(f.q for f in factors), np.exp(log_rest)
    log_v: Floats = (q - 1) * log_rest
    for f in factors:
        if f.floor > 0:
            log_v += f.p * np.log(f.floor + f.q / q * rest)
    return log_v


def _grid(floors: Sequence[float], log_room: float) -> Floats:
    """Logs of totals up to the room, dense where a lower bound bends V."""
    scales = np.array([log_room, *(np.log(f) for f in floors if f > 0)])
    places = (scales[:, None] + NEAR).ravel()
    places = np.sort(places[(places > SMALLEST) & (places < log_room - 0.3)]).tolist()
    kept = [places[0]]
    for x in places[1:]:
        if x - kept[-1] > 0.5:
            kept.append(x)
    return np.array([*kept, log_room])

"""The density of one meaning's share of a total under a product density, and its integral.

Of a total t, one meaning takes y and the meanings before it the rest. With z the logit of the share y / t, the
density is

    f(y) V(t - y) y (t - y) / t,

f being the meaning's factor and V the normalising integral of the others (`LogNormalizer`). It is integrated with
Gauss-Legendre panels laid around its mode and around the places where a lower bound bends it. Everything is in
logarithms, because shares of 1e-300 matter when q is 0.01.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from .._native import distribution as _distribution
from .interpolation import cubic_and_slope, interpolate, limited_slopes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...nouns import Floats


# One meaning's factor (floor + y)^p y^(q - 1) of a product density, y being its probability above its lower bound.


@dataclass(frozen=True, slots=True)
class Factor:
    """(floor + y)^p y^(q - 1); without a lower bound the powers join, and p is 0."""

    p: float
    q: float
    floor: float

    @staticmethod
    def of(p: float, q: float, floor: float) -> Factor:
        """The factor with these powers, joined where the lower bound is 0."""
        return Factor(p, q, floor) if floor > 0 else Factor(0.0, p + q, 0.0)

    def log(self, log_y: Floats) -> Floats:
        """The factor's logarithm, y given by its own."""
        power: Floats = (self.q - 1) * log_y
        return power + self.p * np.log(self.floor + np.exp(log_y)) if self.floor > 0 else power


# The normalising integral V(r) of several factors over all ways to split a total r between them, as a curve.


@dataclass(frozen=True, slots=True)
class LogNormalizer:
    """log V(r), the integral of some factors over all splits of r, as a function of log r.

    It is the logarithm of one factor, `base`, plus a cubic through points, straight beyond them.
    """

    base: Factor
    x: Floats
    y: Floats
    slope: Floats

    @staticmethod
    def of_one(factor: Factor) -> LogNormalizer:
        """V of a single factor: the factor."""
        none = np.zeros(2)
        return LogNormalizer(factor, np.array([0.0, 1.0]), none, none)

    @staticmethod
    def through(base: Factor, x: Floats, log_v: Floats) -> LogNormalizer:
        """The curve through values log_v at x = log r."""
        y = log_v - base.log(x)
        secant, w = np.diff(y) / np.diff(x), np.diff(x)
        inner = (secant[:-1] * w[1:] + secant[1:] * w[:-1]) / (w[1:] + w[:-1])
        return LogNormalizer(base, x, y, np.concatenate([secant[:1], inner, secant[-1:]]))

    def log(self, log_rest: Floats) -> Floats:
        """log V at each log r."""
        return interpolate(self.x, self.y, self.slope, log_rest)[0] + self.base.log(log_rest)


# The inverse distribution function of one meaning's share of a total, tabulated in logits.
#
# With z the logit of the share, the table holds z against the logit of its cumulative probability. Both tails of that
# function are straight lines, however small the powers of the density are.


LOGITS = np.linspace(-16, 16, 65)
STEP = LOGITS[1] - LOGITS[0]


@dataclass(frozen=True, slots=True)
class ShareTable:
    """z against the logit of its cumulative probability: one row for each total in `log_rest`, ascending."""

    log_rest: Floats
    z: Floats
    slope: Floats

    def draw(self, u: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
        """z at the cumulative probability u, and log dz/du; rows are interpolated linearly in log_rest."""
        logit = np.log(u) - np.log1p(-u)
        at = np.clip((logit - LOGITS[0]) / STEP, 0, LOGITS.size - 1)
        cell = np.minimum(at.astype(np.intp), LOGITS.size - 2)
        beyond = logit - np.clip(logit, LOGITS[0], LOGITS[-1])
        rows = self.log_rest
        if rows.size == 1:
            z, slope = self._row(0, cell, at - cell)
        else:
            row = np.clip(np.searchsorted(rows, log_rest, side="right") - 1, 0, rows.size - 2)
            upper = np.clip((log_rest - rows[row]) / (rows[row + 1] - rows[row]), 0, 1)
            z, slope = self._row(row, cell, at - cell)
            z_up, slope_up = self._row(row + 1, cell, at - cell)
            z, slope = z + upper * (z_up - z), slope + upper * (slope_up - slope)
        return z + beyond * slope, np.log(slope) - np.log(u) - np.log1p(-u)

    def _row(self, row: int | NDArray[np.intp], cell: NDArray[np.intp], s: Floats) -> tuple[Floats, Floats]:
        ends = self.slope[row, cell] * STEP, self.slope[row, cell + 1] * STEP
        z, slope = cubic_and_slope(s, self.z[row, cell], self.z[row, cell + 1], *ends)
        return z, slope / STEP


def at_logits(x: Floats, f: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Values and slopes at LOGITS of the rising cubic through (x, f) with slopes d."""
    keep = np.concatenate([[True], np.diff(x) > 1e-9])
    x, f = x[keep], f[keep]
    value, slope = interpolate(x, f, limited_slopes(x, f, d[keep]), LOGITS)
    return value, limited_slopes(LOGITS, value, slope)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)
FAR = 700.0  # the largest |z| considered
DROP = 30.0  # density this far below the peak, as a logarithm, is left out
STEPS = np.array([0, 0.6, 1.2, 2, 3, 4.5, 7, 12, 22, 45, 110, 300, 1000.0])
AROUND = np.array([0, 1, 2.2, 4, 8, 20, 60.0])
BENDS = np.concatenate([-AROUND[:0:-1], AROUND])
START = np.sinh(np.linspace(-np.arcsinh(FAR), np.arcsinh(FAR), 41))
GOLDEN, GOLDEN_STEPS, HALVINGS = (np.sqrt(5) - 1) / 2, 16, 10


@dataclass(frozen=True, slots=True)
class ShareDensity:
    """The density in z of one meaning's share of each total, unnormalised."""

    factor: Factor
    below: LogNormalizer
    log_rest: Floats
    bends: tuple[float, ...]  # logs of the lower bounds among the other meanings

    def log_density(self, z: Floats) -> Floats:
        """The log-density at z, one row for each total."""
        rest = self.log_rest.reshape(-1, *(1,) * (z.ndim - 1))
        log_y, log_left = rest - np.logaddexp(0, -z), rest - np.logaddexp(0, z)
        return self.factor.log(log_y) + log_y + self.below.log(log_left) + log_left - rest

    def log_integral(self) -> Floats:
        """The logarithm of the integral, for each total."""
        return self._integrate()[3] if _distribution is None else self._compiled(tabled=False)[0]

    def table(self) -> ShareTable:
        """The inverse distribution function, for each total."""
        if _distribution is not None:
            _, z, slope = self._compiled(tabled=True)
            return ShareTable(self.log_rest, z, slope)
        edges, left, right, log_v = self._integrate()
        density = np.exp(self.log_density(edges) - log_v[:, None])
        rows = self.log_rest.size
        z, slope = np.empty((rows, LOGITS.size)), np.empty((rows, LOGITS.size))
        for i in range(rows):
            use = (left[i] > 0) & (right[i] > 0) & (density[i] > 0)
            use[1:] &= np.diff(edges[i]) > 1e-13 * np.abs(edges[i, 1:]).clip(1e-3)
            logit = np.log(left[i, use]) - np.log(right[i, use])
            z[i], slope[i] = at_logits(logit, edges[i, use], left[i, use] * right[i, use] / density[i, use])
        return ShareTable(self.log_rest, z, slope)

    def _compiled(self, tabled: bool) -> tuple[Floats, Floats, Floats]:
        """The log-integral, z and its slopes by the compiled form."""
        rows = self.log_rest.size
        log_v, shape = np.empty(rows), (rows if tabled else 0, LOGITS.size)
        z, slope = np.empty(shape), np.empty(shape)
        own, base, below = self.factor, self.below.base, self.below
        _distribution.split(
            *((own.p, own.q, own.floor), (base.p, base.q, base.floor), below.x, below.y, below.slope),
            *(self.log_rest, np.array(self.bends), log_v, z, slope),
        )
        return log_v, z, slope

    def _peak(self) -> tuple[Floats, Floats]:
        """The mode, by golden section around the best of a few points, and the log-density there."""
        grid = np.broadcast_to(START, (self.log_rest.size, START.size))
        best = np.clip(self.log_density(grid).argmax(axis=1), 1, START.size - 2)
        low, high = START[best - 1], START[best + 1]
        for _ in range(GOLDEN_STEPS):
            a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            left = self.log_density(a) > self.log_density(b)
            low, high = np.where(left, low, a), np.where(left, b, high)
        peak = (low + high) / 2
        return peak, self.log_density(peak)

    def _reach(self, peak: Floats, level: Floats, sign: float) -> Floats:
        """How far from the peak, up to FAR, the log-density stays above the level, by bisection; one per total."""
        low, high = np.full(peak.size, -9.0), np.full(peak.size, np.log(2 * FAR))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            yes = self.log_density(peak + sign * np.exp(middle)) > level
            low, high = np.where(yes, middle, low), np.where(yes, high, middle)
        return np.asarray(np.exp(high))

    def _panels(self) -> tuple[Floats, Floats]:
        """Edges of the integration panels, one row for each total, and the log-density at the mode."""
        peak, top = self._peak()
        sides = []
        for sign in (-1.0, 1.0):
            half = self._reach(peak, top - 0.5, sign)
            end = self._reach(peak, top - DROP, sign)
            sides.append((sign * half, np.clip(peak + sign * end, -FAR, FAR)))
        (left, first), (right, last) = sides
        places = [peak[:, None] + left[:, None] * STEPS[::-1], peak[:, None] + right[:, None] * STEPS]
        at_floors = [self.log_rest * 0]
        if self.factor.floor > 0:
            at_floors.append(np.log(self.factor.floor) - self.log_rest)
        at_floors += [self.log_rest - bend for bend in self.bends]
        places += [np.clip(at, -FAR, FAR)[:, None] + BENDS for at in at_floors]
        edges = np.sort(np.clip(np.concatenate(places, axis=1), first[:, None], last[:, None]), axis=1)
        return edges, top

    def _integrate(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Panel edges, the mass left and right of each as shares of the integral, and its logarithm."""
        edges, top = self._panels()
        half = np.diff(edges, axis=1) / 2
        inside = (edges[:, 1:] + edges[:, :-1])[..., None] / 2 + half[..., None] * NODES
        mass = (np.exp(self.log_density(inside) - top[:, None, None]) @ WEIGHTS) * half
        total = mass.sum(axis=1)
        zero = np.zeros((top.size, 1))
        left = np.concatenate([zero, np.cumsum(mass, axis=1)], axis=1)
        right = np.concatenate([np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], zero], axis=1)
        return edges, left / total[:, None], right / total[:, None], np.log(total) + top


def beta_table(a: float, b: float) -> ShareTable:
    """The share, Beta(a, b), of one of two parts of a total of 1."""
    other = LogNormalizer.of_one(Factor(0.0, b, 0.0))
    return ShareDensity(Factor(0.0, a, 0.0), other, np.zeros(1), ()).table()


# How a total probability is split over the meanings of a product density, from the last meaning down to the first.
#
# The density of contour.py is a product of factors (floor + y)^p y^(q - 1) over meanings whose y sum to the room
# above their lower bounds. It is drawn from the top down: first the share of the last meaning, then that of the one
# before it in what is left, and so on (`share_density`). This needs
#
#     V_1 = f_1,     V_j(r) = integral of f_j(y) V_{j-1}(r - y) dy over 0 < y < r,
#
# which is built from the bottom up, once. The tables only guide the draws: each draw carries the exact density over
# the density it was drawn with as its weight, which is 1 but for the tables' rounding.


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

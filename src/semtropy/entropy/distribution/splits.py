"""How a total splits between one meaning and the rest: tables, and even draws from a product density on a simplex.

The density of contour.py, a product of factors (floor + y)^p y^(q - 1) over meanings whose y sum to the room above the
floors, is drawn from the top down: first how much the last meaning takes of the whole room, then how much the one
before it takes of the rest, and so on. The share y / rest has the density (in z = logit of the share)

    f_j(y) V_{j-1}(rest - y) y (rest - y) / rest,     V_j(rest) = its integral over y,  V_1 = f_1,

so that V is built from the bottom up once, as a cubic in log rest, with Gauss-Legendre panels laid around the
mode and around the places where a floor bends the density. A share is drawn through a table of z against
the logit of the cumulative probability: both tails of that function are straight lines, however small q is.

The tables only guide: every draw carries the exact density over the density it was drawn with as its weight, which is
1 but for the tables' rounding. All of it happens in logarithms, for shares of 1e-300 matter when q is 0.01.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..shannon import entropy_term

try:
    from .._native import distribution as _distribution  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _distribution = None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Curve", "Factor", "Splits", "Table", "entropy_term"]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)
SMALLEST = -690.0  # log of the least total that is told from 0
STEEPEST = 2.5  # a slope over the secant; a rising cubic needs no more than 3
FAR = 700.0  # as far as shares go, in z
DROP = 30.0  # what lies this far below the peak, as a logarithm, is left out
STEPS = np.array([0, 0.6, 1.2, 2, 3, 4.5, 7, 12, 22, 45, 110, 300, 1000.0])
AROUND = np.array([0, 1, 2.2, 4, 8, 20, 60.0])
BENDS = np.concatenate([-AROUND[:0:-1], AROUND])
START = np.sinh(np.linspace(-np.arcsinh(FAR), np.arcsinh(FAR), 41))
GOLDEN, GOLDEN_STEPS, HALVINGS = (np.sqrt(5) - 1) / 2, 16, 10
ROWS, ROUGH_ROWS = 10, 5
MOST_SHARING = 2.0
NEAR = np.array([0, 0.6, 1.4, 2.5, 4, 7, 14, 35, 100, 350.0])
NEAR = np.concatenate([-NEAR[:0:-1], NEAR])
LOGITS = np.linspace(-16, 16, 65)
STEP = LOGITS[1] - LOGITS[0]


@dataclass(frozen=True, slots=True)
class Factor:
    """(floor + y)^p y^(q - 1); without a floor, p is 0."""

    p: float
    q: float
    floor: float

    @staticmethod
    def of(p: float, q: float, floor: float) -> Factor:
        return Factor(p, q, floor) if floor > 0 else Factor(0.0, p + q, 0.0)

    def log(self, log_y: Floats) -> Floats:
        power: Floats = (self.q - 1) * log_y
        return power + self.p * np.log(self.floor + np.exp(log_y)) if self.floor > 0 else power


@dataclass(frozen=True, slots=True)
class Curve:
    """log V: a factor's own logarithm, plus a cubic in log rest through points, straight beyond them."""

    base: Factor
    x: Floats
    y: Floats
    slope: Floats

    @staticmethod
    def alone(factor: Factor) -> Curve:
        none = np.zeros(2)
        return Curve(factor, np.array([0.0, 1.0]), none, none)

    @staticmethod
    def through(base: Factor, x: Floats, log_v: Floats) -> Curve:
        y = log_v - base.log(x)
        secant, w = np.diff(y) / np.diff(x), np.diff(x)
        inner = (secant[:-1] * w[1:] + secant[1:] * w[:-1]) / (w[1:] + w[:-1])
        return Curve(base, x, y, np.concatenate([secant[:1], inner, secant[-1:]]))

    def log(self, log_rest: Floats) -> Floats:
        at = np.clip(log_rest, self.x[0], self.x[-1])
        i = np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, self.x.size - 2)
        w = self.x[i + 1] - self.x[i]
        s, d0, d1, f0, f1 = (
            (at - self.x[i]) / w,
            self.slope[i] * w,
            self.slope[i + 1] * w,
            self.y[i],
            self.y[i + 1],
        )
        inside = f0 + s * (d0 + s * (3 * (f1 - f0) - 2 * d0 - d1 + s * (2 * (f0 - f1) + d0 + d1)))
        beyond = (log_rest - at) * np.where(log_rest < at, self.slope[0], self.slope[-1])
        result: Floats = inside + beyond + self.base.log(log_rest)
        return result


@dataclass(frozen=True, slots=True)
class Table:
    """z against the logit of its cumulative probability, a row for each total in `log_rest` (rising)."""

    log_rest: Floats
    z: Floats
    slope: Floats

    def draw(self, u: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
        """z at the cumulative probability u, and log dz/du."""
        logit = np.log(u) - np.log1p(-u)
        at = np.clip((logit - LOGITS[0]) / STEP, 0, LOGITS.size - 1)
        cell = np.minimum(at.astype(np.intp), LOGITS.size - 2)
        beyond = logit - np.clip(logit, LOGITS[0], LOGITS[-1])
        if self.log_rest.size == 1:
            z, slope = self._row(0, cell, at - cell)
        else:
            row = np.clip(
                np.searchsorted(self.log_rest, log_rest, side="right") - 1, 0, self.log_rest.size - 2
            )
            width = self.log_rest[row + 1] - self.log_rest[row]
            upper = np.clip((log_rest - self.log_rest[row]) / width, 0, 1)
            (z, slope), (z_up, slope_up) = (
                self._row(row, cell, at - cell),
                self._row(row + 1, cell, at - cell),
            )
            z, slope = z + upper * (z_up - z), slope + upper * (slope_up - slope)
        return z + beyond * slope, np.log(slope) - np.log(u) - np.log1p(-u)

    def _row(self, row: int | NDArray[np.intp], cell: NDArray[np.intp], s: Floats) -> tuple[Floats, Floats]:
        z0, z1 = self.z[row, cell], self.z[row, cell + 1]
        d0, d1 = self.slope[row, cell] * STEP, self.slope[row, cell + 1] * STEP
        a, b = 2 * (z0 - z1) + d0 + d1, 3 * (z1 - z0) - 2 * d0 - d1
        return z0 + s * (d0 + s * (b + s * a)), (d0 + s * (2 * b + 3 * s * a)) / STEP


def _bisect(inside: Callable[[Floats], NDArray[np.bool_]], rows: int) -> Floats:
    """The largest distance, up to FAR, that is still inside, for each row."""
    low, high = np.full(rows, -9.0), np.full(rows, np.log(2 * FAR))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        yes = inside(np.exp(middle))
        low, high = np.where(yes, middle, low), np.where(yes, high, middle)
    return np.asarray(np.exp(high))


@dataclass(frozen=True, slots=True)
class _Split:
    """The density in z of one meaning's share of each total."""

    factor: Factor
    below: Curve
    log_rest: Floats
    bends: tuple[float, ...]  # logs of the floors below

    def log_density(self, z: Floats) -> Floats:
        rest = self.log_rest.reshape(-1, *(1,) * (z.ndim - 1))
        log_y, log_left = rest - np.logaddexp(0, -z), rest - np.logaddexp(0, z)
        return self.factor.log(log_y) + log_y + self.below.log(log_left) + log_left - rest

    def _peak(self) -> tuple[Floats, Floats]:
        grid = np.broadcast_to(START, (self.log_rest.size, START.size))
        best = np.clip(self.log_density(grid).argmax(axis=1), 1, START.size - 2)
        low, high = START[best - 1], START[best + 1]
        for _ in range(GOLDEN_STEPS):
            a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            left = self.log_density(a) > self.log_density(b)
            low, high = np.where(left, low, a), np.where(left, b, high)
        peak = (low + high) / 2
        return peak, self.log_density(peak)

    def _panels(self) -> tuple[Floats, Floats]:
        peak, top = self._peak()
        sides = []
        for sign in (-1.0, 1.0):
            half = _bisect(lambda d, s=sign: self.log_density(peak + s * d) > top - 0.5, top.size)  # type: ignore[misc]
            end = _bisect(lambda d, s=sign: self.log_density(peak + s * d) > top - DROP, top.size)  # type: ignore[misc]
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

    def solve(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Panel edges, the mass left and right of each, and log V."""
        edges, top = self._panels()
        half = np.diff(edges, axis=1) / 2
        inside = (edges[:, 1:] + edges[:, :-1])[..., None] / 2 + half[..., None] * NODES
        mass = (np.exp(self.log_density(inside) - top[:, None, None]) @ WEIGHTS) * half
        total = mass.sum(axis=1)
        zero = np.zeros((top.size, 1))
        left = np.concatenate([zero, np.cumsum(mass, axis=1)], axis=1)
        right = np.concatenate([np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], zero], axis=1)
        return edges, left / total[:, None], right / total[:, None], np.log(total) + top

    def _compiled(self, tabled: bool) -> tuple[Floats, Floats, Floats]:
        """log V, z and its slopes by the compiled form."""
        rows = self.log_rest.size
        log_v, shape = np.empty(rows), (rows if tabled else 0, LOGITS.size)
        z, slope = np.empty(shape), np.empty(shape)
        own, base, below = self.factor, self.below.base, self.below
        _distribution.split(
            *((own.p, own.q, own.floor), (base.p, base.q, base.floor), below.x, below.y, below.slope),
            *(self.log_rest, np.array(self.bends), log_v, z, slope),
        )
        return log_v, z, slope

    def log_integral(self) -> Floats:
        return self.solve()[3] if _distribution is None else self._compiled(tabled=False)[0]

    def table(self) -> Table:
        if _distribution is not None:
            _, z, slope = self._compiled(tabled=True)
            return Table(self.log_rest, z, slope)
        edges, left, right, log_v = self.solve()
        density = np.exp(self.log_density(edges) - log_v[:, None])
        rows = self.log_rest.size
        z, slope = np.empty((rows, LOGITS.size)), np.empty((rows, LOGITS.size))
        for i in range(rows):
            use = (left[i] > 0) & (right[i] > 0) & (density[i] > 0)
            use[1:] &= np.diff(edges[i]) > 1e-13 * np.abs(edges[i, 1:]).clip(1e-3)
            logit = np.log(left[i, use]) - np.log(right[i, use])
            z[i], slope[i] = _hermite(logit, edges[i, use], left[i, use] * right[i, use] / density[i, use])
        return Table(self.log_rest, z, slope)


def _limited(x: Floats, f: Floats, d: Floats) -> Floats:
    """Slopes cut so that the cubic between any two points rises throughout."""
    secant = np.diff(f) / np.diff(x)
    return np.minimum(d, STEEPEST * np.minimum(np.append(secant, secant[-1:]), np.append(secant[:1], secant)))


def _hermite(x: Floats, f: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Values and slopes at LOGITS of the rising cubic through (x, f) with slopes d; straight beyond."""
    keep = np.concatenate([[True], np.diff(x) > 1e-9])
    x, f = x[keep], f[keep]
    d = _limited(x, f, d[keep])
    at = np.clip(LOGITS, x[0], x[-1])
    i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.size - 2)
    w = x[i + 1] - x[i]
    s, d0, d1 = (at - x[i]) / w, d[i] * w, d[i + 1] * w
    a, b = 2 * (f[i] - f[i + 1]) + d0 + d1, 3 * (f[i + 1] - f[i]) - 2 * d0 - d1
    slope = (d0 + s * (2 * b + 3 * s * a)) / w
    value = f[i] + s * (d0 + s * (b + s * a)) + (LOGITS - at) * slope
    return value, _limited(LOGITS, value, slope)


@dataclass(frozen=True, slots=True)
class Splits:
    """A product density: its factors, and log V of the first 1, 2, ... of them."""

    factors: tuple[Factor, ...]
    log_v: tuple[Curve, ...]
    rows: int  # totals at which a split is tabulated

    @staticmethod
    def of(factors: Sequence[Factor], log_room: float, levels: int, *, rough: bool = False) -> Splits:
        """With V for the first `levels` factors; `rough` takes V where the rest is shared out by the q's.

        That is exact where no floor matters or all do, needs no integral, and only makes the weights less even;
        not for powers p so large that they do the sharing.
        """
        rough = rough and max(f.p for f in factors) <= MOST_SHARING
        rows = ROUGH_ROWS if rough else ROWS
        splits = Splits(tuple(factors), (Curve.alone(factors[0]),), rows)
        for j in range(1, levels):
            own = factors[: j + 1]
            at = _grid([f.floor for f in own], log_room)
            together = Factor(sum(f.p for f in own), 1.0, sum(f.floor for f in own))
            log_v = _shared_out(own, at) if rough else splits.split(factors[j], j, at).log_integral()
            splits = Splits(splits.factors, (*splits.log_v, Curve.through(together, at, log_v)), rows)
        return splits

    def split(self, factor: Factor, below: int, log_rest: Floats) -> _Split:
        """How `factor` shares each total with the first `below` factors."""
        floors = sorted({f.floor for f in self.factors[:below] if f.floor > 0})
        few = floors if len(floors) <= 4 else [floors[i * (len(floors) - 1) // 3] for i in range(4)]
        return _Split(factor, self.log_v[below - 1], log_rest, tuple(np.log(few)))

    def table(self, factor: Factor, below: int, log_rest: Floats) -> Table:
        """That split for totals like these: rows even in rank, so dense where the totals are."""
        ranked = np.sort(log_rest)
        at = np.linspace(0, ranked.size - 1, min(self.rows, ranked.size)).astype(np.intp)
        return self.split(factor, below, np.unique(ranked[at])).table()


def _shared_out(factors: Sequence[Factor], log_rest: Floats) -> Floats:
    q, rest = sum(f.q for f in factors), np.exp(log_rest)
    log_v: Floats = (q - 1) * log_rest
    for f in factors:
        if f.floor > 0:
            log_v += f.p * np.log(f.floor + f.q / q * rest)
    return log_v


def _grid(floors: Sequence[float], log_room: float) -> Floats:
    """Logs of totals up to the room, dense where a floor bends V."""
    scales = np.array([log_room, *(np.log(f) for f in floors if f > 0)])
    places = (scales[:, None] + NEAR).ravel()
    places = np.sort(places[(places > SMALLEST) & (places < log_room - 0.3)]).tolist()
    kept = [places[0]]
    for x in places[1:]:
        if x - kept[-1] > 0.5:
            kept.append(x)
    return np.array([*kept, log_room])


def single_table(factor: Factor, other: Factor) -> Table:
    """How `factor` shares a total of 1 with `other`."""
    bends = (np.log(other.floor),) if other.floor > 0 else ()
    return _Split(factor, Curve.alone(other), np.zeros(1), bends).table()

"""The density of one meaning's share of a total under a product density, and its integral.

Of a total t, one meaning takes y and the meanings before it the rest. With z the logit of the share y / t, the
density is

    f(y) V(t - y) y (t - y) / t,

f being the meaning's factor and V the normalising integral of the others (`normalizer`). It is integrated with
Gauss-Legendre panels laid around its mode and around the places where a lower bound bends it. Everything is in
logarithms, because shares of 1e-300 matter when q is 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .factor import Factor
from .normalizer import LogNormalizer
from .share_table import LOGITS, ShareTable, at_logits

try:
    from .._native import distribution as _distribution  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _distribution = None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["ShareDensity", "beta_table"]

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

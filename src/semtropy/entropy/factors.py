"""Product densities over seen meanings, their saddle points, and what the saddle point alone says of the integral.

A seen meaning has the factor (floor + y)^p y^(q - 1), where floor + y is its probability; see `contour.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, logsumexp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Factors", "alone", "exact_room", "log_z_alone", "log_z_estimates"]

SMALLEST_SADDLE = 1e-100  # where there is no saddle, the search ends here; its square is still a number


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of the seen meanings, one entry per meaning, and 1 - sum(floors)."""

    p: Floats
    q: Floats
    floors: Floats
    room: float

    @classmethod
    def of(cls, p: Floats, q: Floats, floors: Floats) -> Factors:
        return cls(p, q, floors, exact_room(floors))

    def tilted(self, s: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of each y under its factor times e^(-s y), by Laplace's method: one row for each s.

        The mean solves s y = q + p y / (floor + y).
        """
        s = np.asarray(s, dtype=float)[:, None]
        shape, bounded = self.p + self.q, self.floors > 0
        b = s * self.floors - shape
        d = np.sqrt(b * b + 4 * s * self.q * self.floors)
        with np.errstate(divide="ignore", invalid="ignore"):  # where a floor is 0, replaced below
            y = np.where(b < 0, (d - b) / (2 * s), 2 * self.q * self.floors / (d + b))
            variance = y * (y + self.floors) / d
        return np.where(bounded, y, shape / s), np.where(bounded, variance, shape / s**2)

    def saddles(self, masses: Floats) -> Floats:
        """For each mass of unseen meanings, the real s at which the tilted means add up to the room."""
        low, high = np.zeros(masses.size), np.full(masses.size, np.inf)
        s: Floats = (masses + np.maximum(self.q, self.p + self.q).sum()) / self.room
        allowed = self.room * np.minimum(1e-6, 0.01 / np.sqrt(s * self.room))
        for _ in range(100):
            y, variance = self.tilted(s)
            excess = masses / s + y.sum(axis=1) - self.room
            if not (abs(excess) >= allowed).any():
                break
            low, high = np.where(excess > 0, s, low), np.where(excess > 0, high, s)
            slope = masses / s**2 + variance.sum(axis=1)
            step = np.maximum(s * np.exp(np.clip(excess / (s * slope), -5, 5)), SMALLEST_SADDLE)
            step = np.where(step > low, step, np.maximum((low + s) / 2, SMALLEST_SADDLE))
            step = np.where(step < high, step, (np.minimum(high, 1e308) + s) / 2)
            s = np.where(abs(excess) < allowed, s, step)
        return s


def exact_room(floors: Floats) -> float:
    """1 - sum(floors), rounded once."""
    return fsum([1.0, *(-floors).tolist()])


def log_z_estimates(factors: Factors, masses: Floats) -> Floats:
    """log Z for each mass from the saddle point alone, to within a small factor.

    Each inner integral is taken as a gamma integral with the same mode and curvature. A mode above the floor misses
    what lies below y = floor when q is small: that part is added, with (1 + y / floor)^p taken as a straight line.
    """
    s = factors.saddles(masses)
    y, variance = factors.tilted(s)
    p, q, floors, bounded = factors.p, factors.q, factors.floors, factors.floors > 0
    rate = s[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # where a floor is 0, replaced below
        shape = rate * y - p * (floors / (floors + y)) * (y / (floors + y))
        inner = (
            p * np.log(floors + y) + q * np.log(y) - rate * y + gammaln(shape) - shape * np.log(shape) + shape
        )
        line = np.log(1 / q + (np.exp2(np.minimum(p, 60.0)) - 1) / (q + 1))
        line = np.where(p > 60, p * np.log(2) - np.log(q + 1), line)
        below = (p + q) * np.log(floors) + line - rate * floors
        inner = np.where(y > floors, np.logaddexp(inner, below), inner)
    inner = np.where(bounded, inner, gammaln(p + q) - (p + q) * np.log(rate))
    curvature = masses / s**2 + variance.sum(axis=1)
    log_z: Floats = (
        s * factors.room - masses * np.log(s) + inner.sum(axis=1) - np.log(2 * np.pi * curvature) / 2
    )
    if _no_saddle(factors):
        log_z = np.where(masses > 0, log_z, _log_z_one_large(factors))
    return np.where(alone(factors, masses), log_z_alone(factors), log_z)


def _no_saddle(factors: Factors) -> bool:
    """Whether, without unseen meanings, the means of y at s = 0 add up to less than the room."""
    shape = factors.p + factors.q
    return bool(np.all(shape < 0) and (factors.q * factors.floors / -shape).sum() < factors.room)


def _log_z_one_large(factors: Factors) -> float:
    """log Z where there is no saddle: one meaning takes nearly all the room, the others are integrated freely."""
    p, q, floors, room = factors.p, factors.q, factors.floors, factors.room
    free = (p + q) * np.log(floors) + gammaln(q) + gammaln(-p - q) - gammaln(-p)
    return float(free.sum() + logsumexp(p * np.log(floors + room) + (q - 1) * np.log(room) - free))


def alone(factors: Factors, masses: Floats) -> NDArray[np.bool_]:
    """Where one meaning has all the mass: nothing is integrated."""
    found: NDArray[np.bool_] = (masses == 0) & (factors.p.size == 1)
    return found


def log_z_alone(factors: Factors) -> float:
    return float((factors.q[0] - 1) * np.log(factors.room)) if factors.floors[0] > 0 else 0.0

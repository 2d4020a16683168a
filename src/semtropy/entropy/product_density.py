"""Product densities over the probabilities of the meanings seen, and their saddle points.

A seen meaning has the factor (floor + y)^p y^(q - 1), where floor + y is its probability; see `contour.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Factors", "alone", "exact_room", "log_z_alone"]

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


def alone(factors: Factors, masses: Floats) -> NDArray[np.bool_]:
    """Where one meaning has all the mass: nothing is integrated."""
    found: NDArray[np.bool_] = (masses == 0) & (factors.p.size == 1)
    return found


def log_z_alone(factors: Factors) -> float:
    return float((factors.q[0] - 1) * np.log(factors.room)) if factors.floors[0] > 0 else 0.0

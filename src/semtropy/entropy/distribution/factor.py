"""One meaning's factor (floor + y)^p y^(q - 1) of a product density, y being its probability above its lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Factor"]


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

"""The distribution function of the entropy. (A beta law matched to mean and variance.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincinv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Component", "Mixture"]


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a belief: a product density over meanings (see contour.py), and its weight."""

    weight: float
    p: Floats
    q: Floats
    floors: Floats
    unseen: int
    alpha: float


@dataclass(frozen=True, slots=True)
class Mixture:
    """The distribution of the entropy under a mixture of components."""

    components: tuple[Component, ...]
    mean: float
    variance: float

    def _law(self) -> tuple[float, float, float]:
        top = np.log(max(c.floors.size + c.unseen for c in self.components))
        share, spread = self.mean / top, self.variance / top**2
        total = share * (1 - share) / spread - 1
        return float(top), float(share * total), float((1 - share) * total)

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        x = np.asarray(points, dtype=float)
        if self.variance == 0:
            return (x >= self.mean).astype(float)
        top, a, b = self._law()
        law: Floats = betainc(a, b, np.clip(x / top, 0, 1))
        return law

    def quantile(self, level: float) -> float:
        if self.variance == 0:
            return self.mean
        top, a, b = self._law()
        return float(top * betaincinv(a, b, level))

"""The distribution of an entropy as a mixture of gamma distributions, from the moments of its components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc

from ..errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["GammaMixture"]

SMALLEST = 1e-12  # variance below which a component is taken for a point


@dataclass(frozen=True, eq=False)
class GammaMixture:
    """Components with exact means and variances, each taken to be gamma distributed (an entropy is not negative).

    With few samples the components differ more than each of them is wide, so the shape of one hardly matters.

    weights    of the components, summing to 1
    means      of the components
    variances  of the components

    >>> mixture = GammaMixture(np.array([0.5, 0.5]), np.array([1.0, 2.0]), np.array([0.01, 0.01]))
    >>> mixture.cdf([1.5]).round(3).tolist(), round(mixture.quantile(0.25), 2)
    ([0.5], 1.0)
    """

    weights: Floats
    means: Floats
    variances: Floats

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        x = np.asarray(points, dtype=float)
        if np.isnan(x).any():
            raise InputError("points contains NaN")
        flat = np.maximum(x.ravel(), 0.0)[:, None]
        known = (self.variances <= SMALLEST) | (self.means <= SMALLEST)
        variances = np.where(known, 1.0, self.variances)
        shape, rate = self.means**2 / variances, self.means / variances
        below = np.where(known, flat >= self.means, gammainc(np.where(known, 1.0, shape), rate * flat))
        return np.where(x < 0, 0.0, (below @ self.weights).reshape(x.shape))

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`, to 1e-6 nats."""
        if not 0 <= level <= 1:
            raise InputError(f"level is {level}: it must be a probability from 0 to 1")
        low, high = 0.0, float((self.means + 10 * np.sqrt(self.variances)).max()) + 1e-6
        while high - low > 1e-6:
            inner = np.linspace(low, high, 10)
            reached = self.cdf(inner) >= level
            at = int(reached.argmax()) if reached.any() else len(inner) - 1
            low, high = float(inner[max(at - 1, 0)]), float(inner[at])
            if at == 0:
                return low
        return high

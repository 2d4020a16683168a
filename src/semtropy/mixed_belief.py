"""A belief over two cases of which one holds: the average of the beliefs in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .nouns import Agreement, Belief, Distribution, central_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["mixed"]

HALVINGS = 50  # of the interval between the quantiles of both cases


def mixed(one: Belief, other: Belief, weight: float) -> Belief:
    """The belief if `one` holds with probability `weight`, and `other` if it does not.

    Mean and variance are by the laws of total expectation and variance; None where one of the two is.

    >>> belief = mixed(Belief(0.0, 0.1), Belief(1.0, 0.1), 0.5)
    >>> belief.mean, belief.variance
    (0.5, 0.35)
    """
    mean = weight * one.mean + (1 - weight) * other.mean
    variance = None
    if one.variance is not None and other.variance is not None:
        spread = weight * (1 - weight) * (one.mean - other.mean) ** 2
        variance = weight * one.variance + (1 - weight) * other.variance + spread
    distribution = agreement = None
    if one.distribution is not None and other.distribution is not None:
        distribution = _MixedDistribution(one.distribution, other.distribution, weight)
    if one.agreement is not None and other.agreement is not None:
        agreement = _MixedAgreement(one.agreement, other.agreement, weight)
    notes = tuple(dict.fromkeys((*one.notes, *other.notes)))
    return Belief(mean, variance, distribution, notes, agreement)


@dataclass(frozen=True, slots=True)
class _MixedDistribution:
    one: Distribution
    other: Distribution
    weight: float

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        return self.weight * self.one.cdf(points) + (1 - self.weight) * self.other.cdf(points)

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`; it lies between the quantiles of both cases."""
        low, high = sorted((self.one.quantile(level), self.other.quantile(level)))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf([middle])[0] >= level else (middle, high)
        return high


@dataclass(frozen=True, slots=True)
class _MixedAgreement:
    one: Agreement
    other: Agreement
    weight: float

    @property
    def mean(self) -> float:
        return self.weight * self.one.mean + (1 - self.weight) * self.other.mean

    @property
    def rival(self) -> float:
        return self.weight * self.one.rival + (1 - self.weight) * self.other.rival

    def probability_below(self, x: float) -> float:
        """P(agreement < x)."""
        one, other = self.one.probability_below(x), self.other.probability_below(x)
        return self.weight * one + (1 - self.weight) * other

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval, or None where there is no distribution in one case."""
        if self.one.interval(level) is None or self.other.interval(level) is None:
            return None
        return central_interval(_AgreementQuantiles(self), level)


@dataclass(frozen=True, slots=True)
class _AgreementQuantiles:
    """The distribution of an agreement, from its probabilities below each point."""

    agreement: Agreement

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(agreement < point) for each point."""
        return np.array([self.agreement.probability_below(float(point)) for point in points])

    def quantile(self, level: float) -> float:
        """The agreement that is exceeded with probability 1 - level."""
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf([middle])[0] >= level else (middle, high)
        return high

"""The distribution function of the entropy under each component of a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, ndtr

from ..contour import Problems, exact_room, solve
from .factor import Factor
from .qmc import MOST_DIMENSIONS
from .sampling import conditional_averages

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .component import PosteriorComponent
    from .conditional import ConditionalAverage

    Floats = NDArray[np.float64]

__all__ = ["ComponentCdf", "MatchedBeta", "component_cdfs"]

MOST_SEEN = MOST_DIMENSIONS - 4
# Powers of a million and more are too sharp for the tables that guide the draws: one draw then has all the weight. Of
# a belief's few draws at least this share must count, else its mean and variance tell more; of many, this number.
LEAST_SHARE, LEAST_EFFECTIVE = 0.05, 100
SHARPEST = 1e-12  # a smaller standard deviation is lost in the rounding of the entropy itself


@dataclass(frozen=True, slots=True)
class ZeroEntropy:
    """All mass at 0: one meaning."""

    def whole(self, points: Floats) -> Floats:
        """P(entropy <= point)."""
        return (points >= 0).astype(float)

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        """The same from each half of the draws."""
        return self.whole(points), self.whole(points)


@dataclass(frozen=True, slots=True)
class MatchedBeta:
    """An approximation beyond the reach of lattices: a beta distribution with the exact mean and variance."""

    low: float
    high: float
    mean: float
    variance: float

    @staticmethod
    def of(c: PosteriorComponent) -> MatchedBeta:
        """The approximation of a component."""
        ends, one = np.array([0, c.floors.size]), np.array([0, 1])
        alone = Problems(c.p, c.q, c.floors, ends, np.array([c.alpha]), np.array([c.mass]), one)
        found = solve(alone, 1e-7)
        return MatchedBeta(*c.support(), float(found.mean[0]), float(found.variance[0]))

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        """The same twice: there are no draws."""
        return self.whole(points), self.whole(points)

    def whole(self, points: Floats) -> Floats:
        """P(entropy <= point)."""
        width = self.high - self.low
        if width > 0:
            share, spread = (self.mean - self.low) / width, self.variance / width**2
            if 0 < share < 1 and spread >= 1e-12:
                total = max(share * (1 - share) / spread - 1, 1e-3)
                place = np.clip((points - self.low) / width, 0, 1)
                beta: Floats = betainc(share * total, (1 - share) * total, place)
                return beta
        normal: Floats = ndtr((points - self.mean) / np.sqrt(max(self.variance, 1e-300)))
        return normal


@dataclass(frozen=True, slots=True)
class AveragedDraws:
    """Conditional distributions averaged over lattice draws."""

    average: ConditionalAverage

    def whole(self, points: Floats) -> Floats:
        """P(entropy <= point), from all draws."""
        return self.average.cdf(points)

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        """The same from each half of the draws, each a lattice; far apart where too few draws count."""
        weight = self.average.weight
        if len(weight) > 1 and self.average.effective < LEAST_EFFECTIVE:
            return np.zeros(points.size), np.full(points.size, 2.0)
        n = len(weight)
        if n == 1:
            return self.whole(points), self.whole(points)
        first, second = (self.average.cdf(points, draws) for draws in (slice(0, n // 2), slice(n // 2, n)))
        share = float(weight[: n // 2].sum())
        return first / share, second / (1 - share)


ComponentCdf = ZeroEntropy | MatchedBeta | AveragedDraws


def component_cdfs(
    components: Sequence[PosteriorComponent], draws: Sequence[int], *, rough: bool = False
) -> list[ComponentCdf]:
    """One distribution function per component; those with the same seen meanings and alpha share their tables."""
    groups: dict[tuple[bytes, bytes, bytes, float], list[int]] = {}
    cdfs: dict[int, ComponentCdf] = {}
    for i, c in enumerate(components):
        if c.floors.size == 1 and c.mass == 0:
            cdfs[i] = ZeroEntropy()
        elif c.floors.size > MOST_SEEN:
            cdfs[i] = MatchedBeta.of(c)
        else:
            groups.setdefault((c.p.tobytes(), c.q.tobytes(), c.floors.tobytes(), c.alpha), []).append(i)
    for members in groups.values():
        c = components[members[0]]
        factors = [Factor.of(*map(float, f)) for f in zip(c.p, c.q, c.floors, strict=True)]
        masses = [components[i].mass for i in members]
        own_draws = [draws[i] for i in members]
        found = conditional_averages(
            factors, log(exact_room(c.floors)), c.alpha, masses, own_draws, rough=rough
        )
        for i, average in zip(members, found, strict=True):
            usable = np.isfinite(average.weight.sum()) and not average.sharper_than(SHARPEST)
            if rough:  # a belief does not add draws until they are enough
                usable = usable and average.effective >= LEAST_SHARE * len(average.weight)
            cdfs[i] = AveragedDraws(average) if usable else MatchedBeta.of(components[i])
    return [cdfs[i] for i in range(len(components))]

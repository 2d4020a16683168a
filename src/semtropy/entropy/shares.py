"""The posterior of one meaning's probability b_j: exact moments, and a distribution with those moments.

One more draw of meaning j whose log-probability is unknown multiplies the likelihood by b_j. The posterior moments of
b_j are therefore ratios of normalising constants, under each component of the mixture,

    E[b_j] = Z(p + e_j) / Z(p),     E[b_j^2] = Z(p + 2 e_j) / Z(p),

where p_j is the exponent of b_j in the density (see contour.py). E[b_j] is also the predictive probability that the
next sample has meaning j; what the seen meanings leave is the probability of a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc

from ..errors import ConvergenceError, InputError
from .contour import Problems, exact_room, solve
from .inputs import ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..nouns import Floats
    from .distribution import PosteriorComponent


TOLERANCE = 1e-5  # of the entropy's moments, which converge after the constants used here
LEAST_VARIANCE = 1e-14  # below this a share is a point


def share_distribution(
    components: Sequence[PosteriorComponent], meaning: int, rival: int | None = None
) -> tuple[ShareDistribution, float]:
    """The posterior of the probability of `meaning`, and the predictive probability of `rival` (0 for None)."""
    steps = np.zeros((2 if rival is None else 3, components[0].floors.size))
    steps[:2, meaning] = 1, 2
    if rival is not None:
        steps[2, rival] = 1
    ratios = _ratios(components, steps)
    weights = np.array([c.weight for c in components])
    weights = weights / weights.sum()
    first, low = ratios[:, 0], np.array([c.floors[meaning] for c in components])
    variances = np.maximum(ratios[:, 1] - first**2, 0.0)
    rooms = {id(c.floors): exact_room(c.floors) for c in components}
    high = low + np.array([rooms[id(c.floors)] for c in components])
    own = ShareDistribution(weights, low, high, first, variances)
    return own, 0.0 if rival is None else float(weights @ ratios[:, 2])


def _ratios(components: Sequence[PosteriorComponent], steps: Floats) -> Floats:
    """Z(p + step) / Z(p) for every component (rows) and step (columns); neighbours that share factors share a path."""

    groups = _paths(components)
    moved = [np.zeros(components[0].floors.size), *steps]
    count, m = len(moved), components[0].floors.size
    problems = Problems(
        p=np.concatenate([group[0].p + step for step in moved for group in groups]),
        q=np.concatenate([group[0].q for group in groups] * count),
        floors=np.concatenate([group[0].floors for group in groups] * count),
        offsets=ends([m] * (len(groups) * count)),
        alpha=np.array([group[0].alpha for group in groups] * count),
        mass=np.array([c.mass for c in components] * count),
        mass_offsets=ends([len(group) for group in groups] * count),
    )
    log_z = solve(problems, TOLERANCE, on_failure="exclude").log_z.reshape(count, -1)
    ratios: Floats = np.exp(log_z[1:] - log_z[0]).T
    if not (np.isfinite(log_z).all() and np.isfinite(ratios).all()):
        raise ConvergenceError("the posterior of a meaning's probability could not be integrated")
    return ratios


def _paths(components: Sequence[PosteriorComponent]) -> list[list[PosteriorComponent]]:
    """Neighbours with the same factors and rising masses, as the solver takes them."""

    def follows(last: PosteriorComponent, c: PosteriorComponent) -> bool:
        if last.alpha != c.alpha or not last.mass < c.mass:
            return False
        return all(np.array_equal(getattr(last, name), getattr(c, name)) for name in ("p", "q", "floors"))

    groups: list[list[PosteriorComponent]] = []
    for component in components:
        if groups and follows(groups[-1][-1], component):
            groups[-1].append(component)
        else:
            groups.append([component])
    return groups


@dataclass(frozen=True, eq=False)
class ShareDistribution:
    """A mixture of beta distributions, each on its [low, high] with the exact mean and variance of its component.

    >>> even = ShareDistribution(np.ones(1), np.zeros(1), np.ones(1), np.array([0.5]), np.array([1 / 12]))
    >>> even.cdf([0.25]).round(6).tolist(), round(even.quantile(0.9), 6)
    ([0.25], 0.9)
    """

    weights: Floats
    low: Floats
    high: Floats
    means: Floats
    variances: Floats

    @property
    def mean(self) -> float:
        """The posterior mean of the probability."""
        return float(np.clip(self.weights @ self.means, 0.0, 1.0))

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(probability <= point) for each point."""
        x = np.asarray(points, dtype=float)[:, None]
        result = (x >= self.means).astype(float)
        spread, low, width, first, second = self._betas
        if spread.any():
            at = np.clip((x - low) / width, 0.0, 1.0)
            result[:, spread] = betainc(first, second, at)
        return np.clip(result @ self.weights, 0.0, 1.0)  # the weights sum to 1 but for rounding

    @cached_property
    def _betas(self) -> tuple[NDArray[np.bool_], Floats, Floats, Floats, Floats]:
        """Which components are no points, and of these the lower ends, the widths and the two parameters."""
        width = self.high - self.low
        spread = (self.variances >= LEAST_VARIANCE) & (width > 0)
        low, width = self.low[spread], width[spread]
        share = np.clip((self.means[spread] - low) / width, 1e-9, 1 - 1e-9)
        relative = np.minimum(self.variances[spread] / width**2, 0.999 * share * (1 - share))
        total = share * (1 - share) / relative - 1
        return spread, low, width, share * total, (1 - share) * total

    def quantile(self, level: float) -> float:
        """The smallest probability whose `cdf` reaches `level`."""
        if not 0 <= level <= 1:
            raise InputError(f"level is {level}: a probability from 0 to 1")
        if level not in self._quantiles:
            self._quantiles[level] = self._search(level)
        return self._quantiles[level]

    @cached_property
    def _quantiles(self) -> dict[float, float]:
        """Those found so far: fields with the same evidence share a distribution."""
        return {}

    def _search(self, level: float) -> float:
        low = float(min(self.low.min(), self.means.min()))
        high = float(max(self.high.max(), self.means.max()))
        for _ in range(6):  # each pass narrows the bracket sixteen-fold
            points = np.linspace(low, high, 17)
            place = 4 * self._first(points[::4], level)
            if place:
                place += self._first(points[place - 3 : place + 1], level) - 3
            low, high = float(points[max(place - 1, 0)]), float(points[place])
        return float(np.clip((low + high) / 2, 0.0, 1.0))

    def _first(self, points: Floats, level: float) -> int:
        """The place of the first point whose `cdf` reaches `level`; of the last one where none does."""
        above = self.cdf(points) >= level
        return int(above.argmax()) if above.any() else len(points) - 1

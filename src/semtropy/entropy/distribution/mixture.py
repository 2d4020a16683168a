"""The posterior distribution of the entropy as a mixture of components: distribution function, quantiles, moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from ...errors import InputError
from .component_cdf import ComponentCdf, MatchedBeta, component_cdfs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .component import PosteriorComponent

    Floats = NDArray[np.float64]

__all__ = ["Known", "Mixture", "mix", "significant"]

FEWEST, SMALL = 128, 1e-3  # draws of a component; a quarter of it for one of small weight
DROPPED = 1e-4  # the most weight, in sum, of the components that are left out
OUTLINE = 33  # points of the support at which the search for a quantile starts
SECTIONS = 8  # parts into which it divides the interval between two points
SMALL_RISE = 1e-3  # over such a rise a distribution function is taken to be straight


def mix(weights: Floats, means: Floats, variances: Floats) -> tuple[float, float]:
    """Mean and variance of a mixture, by the laws of total expectation and variance (Ciosek et al., eq. 8).

    weights    weight of each component; they need not sum to 1
    means      mean of each component
    variances  variance of each component

    >>> mix(np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    (1.0, 1.5)
    """
    share = weights / weights.sum()
    mean = float(share @ means)
    return mean, float(share @ (variances + (means - mean) ** 2))


def significant(weights: Floats) -> NDArray[np.bool_]:
    """Which components to keep: all but the least probable, whose weights sum to at most 1e-4 of the total.

    >>> significant(np.array([0.5, 6e-5, 3e-5, 0.5, 7e-5])).tolist()
    [True, False, False, True, True]
    """
    ascending = np.argsort(weights, kind="stable")
    keep = np.ones(weights.size, dtype=bool)
    keep[ascending[np.cumsum(weights[ascending]) <= DROPPED * weights.sum()]] = False
    return keep


@dataclass(frozen=True, slots=True)
class Known:
    """The distribution of an entropy that is known exactly."""

    entropy: float

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point), 0 or 1."""
        return (np.asarray(points, dtype=float) >= self.entropy).astype(float)

    def quantile(self, level: float) -> float:
        """The entropy, at every level."""
        return self.entropy


@dataclass(frozen=True)
class Mixture:
    """The distribution of the entropy under a mixture of components, from `draws` draws in all (a power of 2).

    Each component is computed once, so an answer does not depend on earlier questions. `rough` allows smaller
    tables, which suit few draws.

    >>> from semtropy.entropy.distribution import PosteriorComponent
    >>> two = PosteriorComponent(1.0, np.array([0.5]), np.array([1.0]), np.array([0.3]), 0.5, 0.5)
    >>> belief = Mixture((two,))
    >>> belief.cdf([0.0, 0.4, 0.7]).round(4).tolist()
    [0.0, 0.4993, 1.0]
    >>> round(belief.quantile(0.5), 4)
    0.4007
    """

    components: tuple[PosteriorComponent, ...]
    draws: int = 1 << 12
    rough: bool = True
    moments: tuple[Floats, Floats] | None = None  # mean and variance of each component, where they are known

    def approximate_cdf(self, point: float) -> float | None:
        """P(entropy <= point) if each component were normal with its exact mean and variance; None if unknown.

        A hundredth of the cost of `cdf`, for rules that only ask whether the probability is anywhere near a limit.
        """
        if self.moments is None:
            return None
        weights = np.array([c.weight for c in self.components])
        means, variances = self.moments
        z = (point - means) / np.sqrt(np.maximum(variances, 1e-12))
        return float(weights @ ndtr(z) / weights.sum())

    @cached_property
    def _kept(self) -> tuple[tuple[PosteriorComponent, ...], Floats]:
        """The components with any weight, and their weights, which sum to 1."""
        weights = np.array([c.weight for c in self.components])
        total = weights.sum()
        if not self.components or not np.isfinite(total) or weights.min() < 0 or total <= 0:
            raise InputError("a mixture needs components with weights that are not negative and not all 0")
        matter = weights > 0
        kept = tuple(c for c, yes in zip(self.components, matter, strict=True) if yes)
        return kept, weights[matter] / total

    @cached_property
    def _support(self) -> tuple[float, float]:
        ends = [c.support() for c in self._kept[0]]
        return min(a for a, _ in ends), max(b for _, b in ends)

    @cached_property
    def _cdfs(self) -> list[ComponentCdf]:
        """A distribution function for each component."""
        kept, weights = self._kept
        alone = max(c.floors.size for c in kept) == 1  # one dimension, which needs few points
        draws = self.draws / 8 if alone and self.rough else self.draws
        return component_cdfs(kept, [_draws(draws, w) for w in weights.tolist()], rough=self.rough)

    def _whole(self, points: Floats) -> Floats:
        """The distribution function, from all draws."""
        parts = zip(self._cdfs, self._kept[1], strict=True)
        total = sum((weight * part.whole(points) for part, weight in parts), np.zeros(points.size))
        return np.asarray(np.clip(total, 0, 1))

    def error(self, points: Floats) -> float:
        """An error estimate: half the largest difference, over the points, between the two halves of the draws."""
        first, second = np.zeros(points.size), np.zeros(points.size)
        for part, weight in zip(self._cdfs, self._kept[1], strict=True):
            one, two = part.halves(points)
            first, second = first + weight * one, second + weight * two
        return float(np.abs(first - second).max(initial=0.0)) / 2

    @property
    def exact(self) -> bool:
        """False where some component had to be approximated from its mean and variance."""
        return not any(isinstance(part, MatchedBeta) for part in self._cdfs)

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        x = np.asarray(points, dtype=float)
        if np.isnan(x).any():
            raise InputError("points contains NaN")
        low, high = self._support
        flat = x.ravel()
        result = (flat >= high).astype(float)
        inside = (flat >= low) & (flat < high)
        if inside.any():
            result[inside] = self._whole(flat[inside])
        return result.reshape(x.shape)

    @cached_property
    def _outline(self) -> tuple[Floats, Floats]:
        """The distribution function at evenly spaced points of its support."""
        points = np.linspace(*self._support, OUTLINE)
        values = self._whole(points)
        values[-1] = 1.0
        return points, values

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`, to about 1e-4 in level."""
        if not 0 <= level <= 1:
            raise InputError(f"level is {level}: it must be a probability from 0 to 1")
        if level not in self._quantiles:  # cached, because a page or a terminal asks again at every redraw
            self._quantiles[level] = self._search(level)
        return self._quantiles[level]

    @cached_property
    def _quantiles(self) -> dict[float, float]:
        return {}

    def _search(self, level: float) -> float:
        """Narrow down the quantile, a few points at a time, until the function is straight in between."""
        low, high = self._support
        points, values = self._outline
        if level == 0 or low == high or values[0] >= level:
            return low
        while True:
            end = int((values >= level).argmax())
            points, values = points[end - 1 : end + 1], values[end - 1 : end + 1]
            width, rise = float(points[1] - points[0]), float(values[1] - values[0])
            if rise <= SMALL_RISE or width <= 1e-6 * max(high, 1e-6):
                share = (level - values[0]) / rise if rise > 0 else 1.0
                return float(points[0] + share * width)
            inner = np.linspace(points[0], points[1], SECTIONS + 1)
            values = np.concatenate([values[:1], self._whole(inner[1:-1]), values[1:]])
            points = inner


def _draws(total: float, weight: float) -> int:
    """A component's part of the draws, as a power of 2."""
    least = FEWEST if weight >= SMALL else FEWEST // 4
    return max(least, 1 << max(0, ceil(log2(max(total * weight, 1.0)))))

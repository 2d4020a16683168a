"""The posterior distribution of the entropy as a mixture of components: distribution function, quantiles, moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, fsum, log, log2
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, ndtr

from ...errors import ConvergenceError, InputError
from ..contour import Problems, exact_room, solve
from ..inputs import LARGEST_SIZE, check_alpha, counts_above, vector
from .interpolation import MOST_DIMENSIONS
from .sampling import conditional_averages, unseen_meanings
from .share_density import Factor
from .unseen import pitman_yor_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ...nouns import Floats
    from .sampling import ConditionalAverage


# One component of a posterior: a product density over meaning probabilities, and the range of entropies it allows.


@dataclass(frozen=True, slots=True)
class PosteriorComponent:
    """A product density over meanings (see contour.py) and its weight in the posterior.

    Seen meaning j has the factor x^p (x - floor)^(q - 1) of its probability x. The unseen meanings have a Dirichlet
    `mass` in all, `alpha` each; where `alpha` is negative they are a Pitman-Yor process of discount -alpha and
    concentration `mass`.
    """

    weight: float
    p: Floats
    q: Floats
    floors: Floats
    mass: float
    alpha: float

    @property
    def unseen(self) -> int | None:
        """The number of unseen meanings; None where it is unbounded."""
        return unseen_meanings(self.mass, self.alpha)

    def support(self) -> tuple[float, float]:
        """The least entropy (all the room given to one meaning) and the largest (as even as the bounds allow).

        With an unbounded number of meanings, the largest is exceeded with a probability of about 1e-9.
        """
        room = exact_room(self.floors)
        least = _least(tuple(self.floors.tolist()), room, self.mass > 0)
        if self.unseen is None:
            return least, log(self.floors.size + 1) + room * pitman_yor_table(self.mass, -self.alpha).high
        return least, max(least, self._largest(self.floors.size + self.unseen))

    def _largest(self, meanings: int) -> float:
        """Meanings whose lower bound is above an even share of the rest stay at it; the others share the rest."""
        if self.floors.max() * meanings <= 1:
            return log(meanings)
        above, rest, others = 0.0, 1.0, meanings
        for floor in sorted(self.floors.tolist(), reverse=True):
            if floor * others <= rest:
                break
            above, rest, others = above - floor * log(floor), rest - floor, others - 1
        return above - rest * log(rest / others) if others and rest > 0 else above


@lru_cache(maxsize=1024)
def _least(floors: tuple[float, ...], room: float, unseen: bool) -> float:
    """The entropy with all the room given to the meaning, seen or not, where it makes the least of it."""
    terms = [-floor * log(floor) if floor > 0 else 0.0 for floor in floors]
    changes = [-(floor + room) * log(floor + room) - term for floor, term in zip(floors, terms, strict=True)]
    best = min(*changes, -room * log(room)) if unseen else min(changes)
    return max(0.0, fsum(terms) + best)


# The distribution function of the entropy under each component of a posterior.


MOST_SEEN = MOST_DIMENSIONS - 4
# Powers of a million and more are too sharp for the tables that guide the draws: one draw then has all the weight. Of
# a belief's few draws at least this share must count, else its mean and variance tell more; of many, this number.
LEAST_SHARE, LEAST_EFFECTIVE = 0.05, 100
SHARPEST = 1e-12  # a smaller standard deviation is lost in the rounding of the entropy itself


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

    def cdf(self, points: Floats) -> Floats:
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

    def cdf(self, points: Floats) -> Floats:
        """P(entropy <= point), from all draws."""
        return self.average.cdf(points)

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        """The same from each half of the draws, each a lattice; far apart where too few draws count."""
        weight = self.average.weight
        if len(weight) > 1 and self.average.effective < LEAST_EFFECTIVE:
            return np.zeros(points.size), np.full(points.size, 2.0)
        n = len(weight)
        if n == 1:
            return self.cdf(points), self.cdf(points)
        first, second = (self.average.cdf(points, draws) for draws in (slice(0, n // 2), slice(n // 2, n)))
        share = float(weight[: n // 2].sum())
        return first / share, second / (1 - share)


ComponentCdf = Known | MatchedBeta | AveragedDraws


def component_cdfs(
    components: Sequence[PosteriorComponent], draws: Sequence[int], *, rough: bool = False
) -> list[ComponentCdf]:
    """One distribution function per component; those with the same seen meanings and alpha share their tables."""
    groups: dict[tuple[bytes, bytes, bytes, float], list[int]] = {}
    cdfs: dict[int, ComponentCdf] = {}
    for i, c in enumerate(components):
        if c.floors.size == 1 and c.mass == 0:
            cdfs[i] = Known(0.0)  # one meaning
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
        total = sum((weight * part.cdf(points) for part, weight in parts), np.zeros(points.size))
        return np.asarray(np.clip(total, 0, 1))

    def error(self, points: Floats) -> float:
        """An error estimate: half the largest difference, over the points, between the two halves of the draws."""
        first, second = np.zeros(points.size), np.zeros(points.size)
        for part, weight in zip(self._cdfs, self._kept[1], strict=True):
            if isinstance(part, AveragedDraws):  # the others draw nothing
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


# P(entropy <= point) for one number of meanings K, with draws added until the error estimate meets a tolerance.


DRAWS, MOST_DRAWS = 1 << 11, 1 << 18


def cdf(
    counts: ArrayLike,
    floors: ArrayLike,
    size: int,
    points: ArrayLike,
    alpha: float = 0.5,
    *,
    tolerance: float = 1e-5,
) -> Floats:
    """P(h <= point) under a Dirichlet(alpha + counts) over `size` meanings, each seen one above its lower bound.

    This is the truncated Dirichlet posterior of Ciosek et al. (TMLR 2025).

    counts     number of draws of each meaning seen
    floors     lower bound of each of these meanings' probabilities
    size       the number of meanings K
    points     entropies in nats
    alpha      parameter of the symmetric Dirichlet
    tolerance  aim for the error; raises ConvergenceError if the estimate stays 100 times above it

    >>> cdf([1], [0.3], 7, [0.5, 1.0, 1.5]).round(4)
    array([0.0067, 0.1395, 0.8287])
    """
    floor, c = counts_above(floors, counts)
    alpha = check_alpha(alpha)
    return _refine(c + (alpha - 1.0), np.ones(c.size), floor, size, points, alpha, tolerance)


def two_level_cdf(
    floors: ArrayLike,
    size: int,
    points: ArrayLike,
    alpha: float = 0.5,
    theta: float = 1.0,
    *,
    no_logprob: ArrayLike | None = None,
    tolerance: float = 1e-5,
) -> Floats:
    """P(h <= point) under the two-level model (see two_level.py) with K = `size` meanings.

    floors      summed probability of the distinct sequences of each meaning seen
    size        the number of meanings K
    points      entropies in nats
    alpha       parameter of the symmetric Dirichlet over meanings
    theta       concentration of the stick-breaking prior over sequences
    no_logprob  further draws of each meaning whose probability is unknown; default none
    tolerance   aim for the error, as in `cdf`

    The number of distinct sequences does not matter.

    >>> two_level_cdf([0.3], 7, [0.5, 1.0, 1.5], alpha=0.05, theta=0.1).round(4)
    array([0.172 , 0.7907, 0.9984])
    """
    unknown = np.zeros_like(vector(floors, "floors")) if no_logprob is None else no_logprob
    floor, u = counts_above(floors, unknown, 0, "no_logprob")
    alpha, theta = check_alpha(alpha), check_alpha(theta, "theta")
    return _refine(u + (alpha - theta), np.full(floor.size, theta), floor, size, points, alpha, tolerance)


def _whole_size(size: object, seen: int) -> int:
    if (
        isinstance(size, int | float | np.integer | np.floating)
        and seen <= size <= LARGEST_SIZE
        and size == int(size)
    ):
        return int(size)
    raise InputError(
        f"size is {size!r}: it must be a whole number from {seen}, the meanings seen, to {LARGEST_SIZE:g}"
    )


def _refine(
    p: Floats, q: Floats, floors: Floats, size: int, points: ArrayLike, alpha: float, tolerance: float
) -> Floats:
    k = _whole_size(size, floors.size)
    if not 1e-7 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}: it must be a number from 1e-7 to below 1")
    component = PosteriorComponent(1.0, p, q, floors, (k - floors.size) * alpha, alpha)
    at, draws = vector(points, "points"), DRAWS
    while True:
        mixture = Mixture((component,), draws, rough=False)
        error = mixture.error(at)
        if error <= tolerance or draws >= MOST_DRAWS:
            break
        draws *= 4 if error > 2 * tolerance else 2
    if not error <= 100 * tolerance:
        raise ConvergenceError(
            f"the distribution function converged to {error:.1e}; {tolerance:.1e} was asked for"
        )
    return mixture.cdf(at)

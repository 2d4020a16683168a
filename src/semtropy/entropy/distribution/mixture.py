"""The distribution function of the entropy: credible intervals and P(h > x) without Monte Carlo noise.

`conditional` has the mathematics. A `Mixture` adds up the components of a belief. Components that differ only in the
number of unseen meanings share their work, and each is computed once: an answer does not depend on earlier questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, ndtr

from ...errors import ConvergenceError, InputError
from ..contour import Problems, exact_room, solve
from ..inputs import check_alpha, clean_floors, vector, whole_counts
from .conditional import Pieces, pieces, unseen_meanings
from .pitman_yor import pitman_yor_table
from .qmc import MOST_DIMENSIONS
from .splits import Factor, entropy_term

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Known", "Mixture", "PosteriorComponent", "cdf", "mix", "two_level_cdf"]

FEWEST, DRAWS = 128, 1 << 11  # of a component, and of one that stands alone to begin with
OUTLINE, SECTIONS = 33, 8  # points of the support, parts of what lies between two, on the way to a quantile
SMALL_RISE = 1e-3  # over so little a distribution function is a straight line
MOST = 1 << 18
MOST_SEEN = MOST_DIMENSIONS - 4
SHARPEST = 1e-12  # a standard deviation below this drowns in the rounding of the entropy itself


@dataclass(frozen=True, slots=True)
class PosteriorComponent:
    """One component of a belief: a product density over meanings (see contour.py), and its weight."""

    weight: float
    p: Floats
    q: Floats
    floors: Floats
    mass: float  # of the unseen meanings, `alpha` for each; where `alpha` is negative, see contour.py
    alpha: float

    @property
    def unseen(self) -> int | None:
        """How many meanings are unseen; None where they have no end."""
        return unseen_meanings(self.mass, self.alpha)

    def support(self) -> tuple[float, float]:
        """The least entropy, all the room given to one meaning; and the most, as even as the floors allow.

        Where there is no end of meanings, the most is what is never exceeded but for 1e-9 or so.
        """
        floors, room = self.floors, exact_room(self.floors)
        vertices = entropy_term(floors + room) - entropy_term(floors)
        best = float(vertices.min())
        if self.mass > 0:
            best = min(best, float(entropy_term(np.array(room))))
        least = max(0.0, float(entropy_term(floors).sum()) + best)
        if self.unseen is None:
            return least, log(floors.size + 1) + room * pitman_yor_table(self.mass, -self.alpha).high
        meanings = floors.size + self.unseen
        if floors.max() * meanings <= 1:
            return least, log(meanings)
        above, rest, others = 0.0, 1.0, meanings
        for floor in sorted(floors.tolist(), reverse=True):
            if floor * others <= rest:
                break
            above, rest, others = above - floor * log(floor), rest - floor, others - 1
        most = above - rest * log(rest / others) if others and rest > 0 else above
        return least, max(least, most)


@dataclass(frozen=True, slots=True)
class Known:
    """The distribution of an entropy that is known."""

    entropy: float

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        return (np.asarray(points, dtype=float) >= self.entropy).astype(float)

    def quantile(self, level: float) -> float:
        return self.entropy


@dataclass(frozen=True, slots=True)
class _Point:
    """All mass at 0: one meaning."""

    def whole(self, points: Floats) -> Floats:
        return (points >= 0).astype(float)

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        return self.whole(points), self.whole(points)


@dataclass(frozen=True, slots=True)
class _Matched:
    """Beyond what lattices serve: a beta law on the support with the exact mean and variance."""

    low: float
    high: float
    mean: float
    variance: float

    @staticmethod
    def of(c: PosteriorComponent) -> _Matched:
        ends, one = np.array([0, c.floors.size]), np.array([0, 1])
        alone = Problems(c.p, c.q, c.floors, ends, np.array([c.alpha]), np.array([c.mass]), one)
        found = solve(alone, 1e-7)
        return _Matched(*c.support(), float(found.mean[0]), float(found.variance[0]))

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        return self.whole(points), self.whole(points)

    def whole(self, points: Floats) -> Floats:
        width = self.high - self.low
        share, spread = (self.mean - self.low) / width, self.variance / width**2
        if not 0 < share < 1 or spread < 1e-12:
            normal: Floats = ndtr((points - self.mean) / np.sqrt(max(self.variance, 1e-300)))
            return normal
        total = max(share * (1 - share) / spread - 1, 1e-3)
        beta: Floats = betainc(share * total, (1 - share) * total, np.clip((points - self.low) / width, 0, 1))
        return beta


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The pieces of a component, in two halves."""

    parts: Pieces

    def whole(self, points: Floats) -> Floats:
        return self.parts.sums(points, slice(None))

    def halves(self, points: Floats) -> tuple[Floats, Floats]:
        weight = self.parts.weight
        n = len(weight)
        if n == 1:
            return self.whole(points), self.whole(points)
        first, second = self.parts.sums(points, slice(0, n // 2)), self.parts.sums(points, slice(n // 2, n))
        share = float(weight[: n // 2].sum())
        return first / share, second / (1 - share)


_Law = _Point | _Matched | _Drawn


def _laws(
    components: Sequence[PosteriorComponent], draws: Sequence[int], *, rough: bool = False
) -> list[_Law]:
    """A law for each component; those with the same seen meanings and alpha share their tables."""
    groups: dict[tuple[bytes, bytes, bytes, float], list[int]] = {}
    laws: dict[int, _Law] = {}
    for i, c in enumerate(components):
        if c.floors.size == 1 and c.mass == 0:
            laws[i] = _Point()
        elif c.floors.size > MOST_SEEN:
            laws[i] = _Matched.of(c)
        else:
            groups.setdefault((c.p.tobytes(), c.q.tobytes(), c.floors.tobytes(), c.alpha), []).append(i)
    for members in groups.values():
        c = components[members[0]]
        factors = [Factor.of(*map(float, f)) for f in zip(c.p, c.q, c.floors, strict=True)]
        log_room = log(exact_room(c.floors))
        masses = [components[i].mass for i in members]
        found = pieces(factors, log_room, c.alpha, masses, [draws[i] for i in members], rough=rough)
        for i, part in zip(members, found, strict=True):
            laws[i] = _Drawn(part) if part.spread() > SHARPEST else _Matched.of(components[i])
    return [laws[i] for i in range(len(components))]


def _power_of_two(x: float) -> int:
    return max(FEWEST, 1 << max(0, int(np.ceil(np.log2(max(x, 1.0))))))


@dataclass(frozen=True)
class Mixture:
    """The distribution of the entropy under a mixture of components, from so many `draws` in all (a power of 2).

    >>> two = PosteriorComponent(1.0, np.array([0.5]), np.array([1.0]), np.array([0.3]), 0.5, 0.5)
    >>> belief = Mixture((two,), mean=0.39, variance=0.05)
    >>> belief.cdf([0.0, 0.4, 0.7]).round(4).tolist()
    [0.0, 0.4993, 1.0]
    >>> round(belief.quantile(0.5), 4)
    0.4007
    """

    components: tuple[PosteriorComponent, ...]
    mean: float
    variance: float
    draws: int = 1 << 12
    rough: bool = True  # whether small tables may guide so few draws

    @cached_property
    def _kept(self) -> tuple[tuple[PosteriorComponent, ...], Floats]:
        """The components that matter, and their weights, which sum to 1."""
        weights = np.array([c.weight for c in self.components])
        total = weights.sum()
        if not self.components or not np.isfinite(total) or weights.min() < 0 or total <= 0:
            raise InputError("a mixture needs components with weights that are not negative and not all 0")
        matter = weights >= 1e-4 * total
        kept = tuple(c for c, yes in zip(self.components, matter, strict=True) if yes)
        return kept, weights[matter] / weights[matter].sum()

    @cached_property
    def _support(self) -> tuple[float, float]:
        ends = [c.support() for c in self._kept[0]]
        return min(a for a, _ in ends), max(b for _, b in ends)

    @cached_property
    def _laws(self) -> list[_Law]:
        """A law for each component."""
        kept, weights = self._kept
        alone = max(c.floors.size for c in kept) == 1  # one dimension, which needs few points
        draws = self.draws / 8 if alone and self.rough else self.draws
        return _laws(kept, [_power_of_two(draws * w) for w in weights], rough=self.rough)

    def _whole(self, points: Floats) -> Floats:
        """The distribution function, from all draws."""
        laws = zip(self._laws, self._kept[1], strict=True)
        total = sum((weight * law.whole(points) for law, weight in laws), np.zeros(points.size))
        return np.asarray(np.clip(total, 0, 1))

    def error(self, points: Floats) -> float:
        """Half the distance of what the two halves of the draws say, at the worst of the points."""
        first, second = np.zeros(points.size), np.zeros(points.size)
        for law, weight in zip(self._laws, self._kept[1], strict=True):
            one, two = law.halves(points)
            first, second = first + weight * one, second + weight * two
        return float(np.abs(first - second).max(initial=0.0)) / 2

    @property
    def exact(self) -> bool:
        """False where some component had to be approximated by its mean and variance."""
        return not any(isinstance(law, _Matched) for law in self._laws)

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        x = np.asarray(points, dtype=float)
        if np.isnan(x).any():
            raise InputError("points holds a number that is not a number")
        low, high = self._support
        flat = x.ravel()
        result = (flat >= high).astype(float)
        inside = (flat >= low) & (flat < high)
        if inside.any():
            result[inside] = self._whole(flat[inside])
        return result.reshape(x.shape)

    @cached_property
    def _outline(self) -> tuple[Floats, Floats]:
        """The distribution function at a few points of its support, from its least to its most."""
        points = np.linspace(*self._support, OUTLINE)
        values = self._whole(points)
        values[-1] = 1.0
        return points, values

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`, which is met to about 1e-4."""
        if not 0 <= level <= 1:
            raise InputError(f"level is {level}: a probability from 0 to 1")
        if level not in self._quantiles:  # a page or a terminal asks again at every redraw
            self._quantiles[level] = self._search(level)
        return self._quantiles[level]

    @cached_property
    def _quantiles(self) -> dict[float, float]:
        return {}

    def _search(self, level: float) -> float:
        """Narrow in on the quantile, a few points at a time, until what is left is straight."""
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


def mix(weights: Floats, means: Floats, variances: Floats) -> tuple[float, float]:
    """Mean and variance of a mixture, by the laws of total expectation and variance (Ciosek et al., eq. 8).

    `weights` need not sum to 1.

    >>> mix(np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    (1.0, 1.5)
    """
    share = weights / weights.sum()
    mean = float(share @ means)
    return mean, float(share @ (variances + (means - mean) ** 2))


def cdf(
    counts: ArrayLike,
    floors: ArrayLike,
    size: int,
    points: ArrayLike,
    alpha: float = 0.5,
    *,
    tolerance: float = 1e-5,
) -> Floats:
    """P(h <= point) under a Dirichlet(alpha + counts) over `size` meanings, each seen one above its floor.

    >>> cdf([1], [0.3], 7, [0.5, 1.0, 1.5]).round(4)
    array([0.0067, 0.1395, 0.8287])
    """
    c, floor = whole_counts(counts), clean_floors(vector(floors, "floors"))
    _same_length(c, floor, "counts")
    check_alpha(alpha)
    return _one(c + (alpha - 1.0), np.ones(c.size), floor, size, points, alpha, tolerance)


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
    """P(h <= point) under the two-level model; how many sequences a meaning has makes no difference to it.

    >>> two_level_cdf([0.3], 7, [0.5, 1.0, 1.5], alpha=0.05, theta=0.1).round(4)
    array([0.172 , 0.7907, 0.9984])
    """
    floor = clean_floors(vector(floors, "floors"))
    u = np.zeros(floor.size) if no_logprob is None else whole_counts(no_logprob, least=0, name="no_logprob")
    _same_length(u, floor, "no_logprob")
    check_alpha(alpha)
    if not 1e-3 <= theta <= 1e3:
        raise InputError(f"theta is {theta}: a number from 0.001 to 1000")
    return _one(u + (alpha - theta), np.full(floor.size, theta), floor, size, points, alpha, tolerance)


def _same_length(array: Floats, floors: Floats, name: str) -> None:
    if array.size != floors.size:
        raise InputError(f"{name} has {array.size} entries and floors {floors.size}: one a meaning each")


def _one(
    p: Floats, q: Floats, floors: Floats, size: int, points: ArrayLike, alpha: float, tolerance: float
) -> Floats:
    if size != int(size) or size < floors.size:
        raise InputError(
            f"size is {size} but {floors.size} meanings were seen: K is a whole number, at least that"
        )
    if not 1e-7 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}: a number from 1e-7 to 1")
    component = PosteriorComponent(1.0, p, q, floors, (int(size) - floors.size) * alpha, alpha)
    at, draws = vector(points, "points"), DRAWS
    while True:
        mixture = Mixture((component,), 0.0, 0.0, draws, rough=False)
        error = mixture.error(at)
        if error <= tolerance or draws >= MOST:
            break
        draws *= 4 if error > 2 * tolerance else 2
    if error > 100 * tolerance:
        raise ConvergenceError(f"the distribution reached {error:.1e} where {tolerance:.1e} was asked for")
    return mixture.cdf(at)

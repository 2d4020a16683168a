"""Integrals over the probability simplex as contour integrals: the moments of entropy without Monte Carlo.

Every posterior in semtropy has a density that is a product over meanings,

    seen meaning     (floor + y)^p y^(q - 1),   its probability is x = floor + y, y > 0
    unseen meaning   x^(alpha - 1), or all of them together a gamma block (below)

restricted to probabilities that sum to 1. The floor of a meaning is the lower bound that its known sequences set. With
room = 1 - sum of floors, the integral of such a product is the inverse Laplace transform of a product of
one-dimensional integrals,

    Z = (1 / 2 pi i) * contour integral of e^(s room) * prod_j A_j(s) ds,
    A_j(s) = integral of its factor * e^(-s y),

and entropy is a sum over meanings, so its moments need only A, B and C: the same inner integral weighted by 1, w and
w^2, where w = -x log x is the meaning's share of the entropy. What makes this exact with few nodes:

- the path s(t) = sigma (t cot t + i t), through the real saddle sigma, is one of steepest descent for a power of s;
- the inner integral runs along a ray that turns with s (by 0.62 of its angle, so that x stays away from 0), in
  y = exp(v) with v = centre + width (u - exp(start - u)): even steps around the integrand's mode, doubly fast below it;
- w is taken around a reference point and a common slope, w = phi(x) - phi(x0) - slope (x - x0): the slope's part adds
  up to a constant, and what is left is as small as the entropy's spread, so that variances of 1e-40 keep their digits;
- unseen meanings, and seen ones without a floor, are a gamma block in closed form, u of them s^-(u alpha): every
  support size shares the seen factors, as long as one path serves (the loss of sharing is bounded). The moments of
  the block's entropy are analytic in alpha, and at alpha = -discount they are those of a Pitman-Yor process
  (Archer, Park and Pillow 2014), so an unbounded number of meanings costs no more than a finite one;
- nodes are added until half of them give the same answer, to the tolerance.

`_native/contour.c` does this; what follows is the same in NumPy, for machines without a compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, polygamma

from ..errors import ConvergenceError, InputError
from ._native import contour as _kernel
from .dirichlet import dirichlet_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..nouns import Floats

    Complexes = NDArray[np.complex128]


# Product densities over the probabilities of the meanings seen, and their saddle points.
#
# A seen meaning has the factor (floor + y)^p y^(q - 1), where floor + y is its probability.


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


# The contour integrals in NumPy: the reference form, and the fallback where nothing was compiled.
#
# `_native/contour.c` takes the same steps, with the same names; tests hold the two together. Of the unseen meanings
# together there is the factor s^(-mass).


TURN = 0.62  # the inner ray turns by this share of the angle of s
DECAY = 42.0  # integrands are cut where they fall below exp(-DECAY) of their peak
LEAST_RADIUS = 5.5  # of the path, in units of 1 / room
SERIES_WITHIN = 0.1  # the series for log(x / x0) is used where |x / x0 - 1| stays below this
SHARED_LOSS = 3.0  # masses share a path as long as the logarithm of what sharing costs stays below this
NARROW = 1.0  # paths shorter than this angle take out e^(-s y) (see `_inner`)
MOST_NODES = 7168
LEAST_STEP = 0.006
CHUNK = 256  # nodes of the path taken at once: bounds the memory


# ---- one factor ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _InnerNodes:
    """Nodes y e^v of one factor's inner integral: v, y e^v, y (e^v - 1), and q v plus the log of the weight."""

    size: Floats
    excess: Floats
    power: Floats


def _inner_nodes(p: float, q: float, floor: float, sigma: float, y: float, step: float) -> _InnerNodes:
    (v,), (log_weight,) = _nodes(p, q, floor, np.array([sigma]), np.array([y]), step)
    return _InnerNodes(y * np.exp(v), y * np.expm1(v), q * v + log_weight)


def _nodes(p: float, q: float, floor: float, s: Floats, y: Floats, step: float) -> tuple[Floats, Floats]:
    """v = width (u - exp(start - u)), one row for each mode y at a rate s, and the logarithms of the weights.

    Even steps around the integrand's mode, doubly exponential below it.
    """
    at_floor, shape = np.log(floor) - np.log(y), p + q
    width = _widths(p, floor, s, y)[0]
    right = width.copy()
    for _ in range(4000):
        excess = y * np.expm1(right)
        more = p * np.log1p(excess / (floor + y)) + q * right - s * excess > -DECAY
        if not more.any():
            break
        right = np.where(more, right + width, right)
    matters = -at_floor * shape < DECAY
    start = np.where(matters, np.minimum(at_floor, 0.0), 0.0) / width - 1.5
    reach = DECAY / (np.where(matters, q, shape) * width)
    last, first = right / width + 0.2, start - np.log(np.maximum(reach, 1.0)) - 0.5
    count = int(np.ceil((last - first).max() / step))
    u = last[:, None] - (np.arange(count) + 0.5) * step
    tail = np.exp(start[:, None] - u)
    return width[:, None] * (u - tail), np.log(width[:, None] * (1 + tail) * step)


def _widths(p: float, floor: float, s: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The width of a factor's integrand around its peak, and the curvature of its logarithm there."""
    curvature = s * y - p * (floor / (floor + y)) * (y / (floor + y))
    return np.where(curvature > 6.25, 2.5 / np.sqrt(np.maximum(curvature, 6.25)), 1.0), curvature


@dataclass(frozen=True, slots=True)
class _Path:
    """s = sigma (t cot t + i t) for t up to `reach`, in `n` steps; `step` is that of the inner nodes."""

    sigma: float
    reach: float
    n: int
    step: float

    @property
    def narrow(self) -> bool:
        return self.reach < NARROW

    def angles(self) -> Floats:
        return np.arange(self.n) * self.reach / self.n


def _series(t: Floats, coefficients: tuple[float, ...]) -> Floats:
    """Sum of coefficients[i] t^(2 i + 2)."""
    square, total = t * t, np.zeros_like(t)
    for coefficient in reversed(coefficients):
        total = square * (total + coefficient)
    return total


def _fall(t: Floats) -> Floats:
    """t cot t - 1, with all digits near 0."""
    terms = (-1 / 3, -1 / 45, -2 / 945, -1 / 4725, -2 / 93555, -1382 / 638512875, -4 / 18243225)
    large = np.maximum(t, 0.3)
    return np.where(t < 0.3, _series(t, terms), large / np.tan(large) - 1)


def _rise(t: Floats) -> Floats:
    """log(t / sin t), with all digits near 0."""
    terms = (1 / 6, 1 / 180, 1 / 2835, 1 / 37800, 1 / 467775, 691 / 3831077250, 2 / 127702575)
    large = np.maximum(t, 0.3)
    return np.where(t < 0.3, _series(t, terms), np.log(large / np.sin(large)))


def _logarithms(ratio: Complexes, x0: float) -> tuple[Complexes, Complexes]:
    """log(1 + r) and x0 ((1 + r) log(1 + r) - r), by their series."""
    log_ratio, curve = np.zeros_like(ratio), np.zeros_like(ratio)
    for k in range(16, 0, -1):
        sign = 1.0 if k % 2 else -1.0
        log_ratio, curve = ratio * log_ratio + sign / k, ratio * curve + sign / (k * (k + 1))
    return ratio * log_ratio, x0 * ratio**2 * curve


def _inner(
    p: float, q: float, floor: float, y: float, lean: float, path: _Path
) -> tuple[Complexes, Complexes, Complexes]:
    """log A, B / A and C / A - (B / A)^2 of one factor at every node of the path.

    A is divided by (floor + y)^p y^q e^(-sigma y); on narrow paths also by e^(-(s - sigma) y), which `_gather`
    has for all factors together: with counts of a million, that term alone would cost six digits. `lean` is
    log x0 + slope + 1.
    """
    nodes = _inner_nodes(p, q, floor, path.sigma, y, path.step)
    x0, turn = floor + y, TURN * path.reach * (path.n - 1) / path.n
    ends = nodes.size[[0, -1]]
    near = float(np.hypot(ends * np.cos(turn) - y, ends * np.sin(turn)).max()) < SERIES_WITHIN * x0
    t = path.angles()
    parts = [
        _inner_sums(p, q, floor, y, lean, path, nodes, t[i : i + CHUNK], near)
        for i in range(0, t.size, CHUNK)
    ]
    log_a, b, c = (np.concatenate(values) for values in zip(*parts, strict=True))
    return log_a, b, c


def _inner_sums(
    p: float,
    q: float,
    floor: float,
    y: float,
    lean: float,
    path: _Path,
    nodes: _InnerNodes,
    t: Floats,
    near: bool,
) -> tuple[Complexes, Complexes, Complexes]:
    x0 = floor + y
    s = (path.sigma * (1 + _fall(t) + 1j * t))[:, None]
    turn = TURN * t[:, None]
    cosine, sine = np.cos(turn), np.sin(turn)
    off: Complexes = (nodes.excess * cosine - 2 * y * np.sin(turn / 2) ** 2) - 1j * nodes.size * sine
    if near:
        log_ratio, curve = _logarithms(off / x0, x0)
    else:
        x = floor + nodes.size * (cosine - 1j * sine)
        log_ratio = np.log(x / x0)
        curve = x * log_ratio - off
    w = -off * lean - curve
    exponent = p * log_ratio + nodes.power - 1j * q * turn - s * off
    if not path.narrow:
        exponent = exponent - (s - path.sigma) * y
    top = exponent.real.max(axis=1, keepdims=True)
    integrand = np.exp(exponent - top)
    a = integrand.sum(axis=1)
    b = (integrand * w).sum(axis=1) / a
    return np.log(a) + top[:, 0], b, (integrand * w * w).sum(axis=1) / a - b * b


def _block(
    s: Complexes, log_s: Complexes, mass: float, each: float, variance: float, slope: float
) -> tuple[Complexes, Complexes]:
    """First two cumulants of the entropy of a gamma block; `each` is digamma(alpha + 1)."""
    d = -each - slope + log_s
    steady = (mass + 1) * (polygamma(1, mass + 2) + variance) + 1 / (mass + 1)
    return mass / s * d, mass / s**2 * (steady + d * d - 2 * d)


# ---- the path ------------------------------------------------------------------------------------------------


def _slopes(factors: Factors, y: Floats, sigma: float, alpha: float, block: float) -> tuple[float, Floats]:
    """The common slope of the entropy, and log x0 + slope + 1 for every factor.

    Logarithms are taken less that of the first, so that nearly equal floors keep their digits. Under a Pitman-Yor
    component the seen meanings may have almost no mass, so the unseen `block` takes part, by its mean logarithm.
    """
    floors = factors.floors
    x0 = floors + y
    ratios = ((floors - floors[0]) + (y - y[0])) / x0[0]
    leans = np.where(abs(ratios) < 0.5, np.log1p(np.maximum(ratios, -0.5)), np.log(x0) - np.log(x0[0]))
    lean, total = (y * leans).sum(), y.sum()
    if alpha < 0:
        mean = block / sigma
        total += mean
        lean += mean * (np.log(mean) + digamma(alpha + 1) - digamma(block + 1) - np.log(x0[0]))
    leans = leans - lean / total
    return float(leans[0] - np.log(x0[0]) - 1), leans


@dataclass(frozen=True, slots=True)
class _Integrand:
    """All but the unseen meanings: the log of the weight and two cumulants of the entropy at the path's nodes."""

    s: Complexes
    log_s: Complexes  # less log sigma
    exponent: Complexes
    first: Complexes
    second: Complexes
    slope: float
    constant: float  # of the entropy
    log_scale: float


def _gather(factors: Factors, alpha: float, block: float, path: _Path) -> _Integrand:
    t, sigma = path.angles(), path.sigma
    fall: Complexes = _fall(t) + 1j * t
    log_s: Complexes = _rise(t) + 1j * t
    s: Complexes = sigma * (1 + fall)
    y = factors.tilted(np.array([sigma]))[0][0]
    slope, leans = _slopes(factors, y, sigma, alpha, block)
    bounded = factors.floors > 0
    first, second = np.zeros_like(s), np.zeros_like(s)
    exponent: Complexes = sigma * fall * (factors.room - (y[bounded].sum() if path.narrow else 0.0))
    x0 = (factors.floors + y)[bounded]
    constant = slope * (factors.room - y[bounded].sum()) - (x0 * np.log(x0)).sum()
    log_scale = sigma * factors.room
    for p, q, floor, own, lean in zip(factors.p, factors.q, factors.floors, y, leans, strict=True):
        if floor == 0:
            a = p + q
            parts = (-a * log_s, *_block(s, np.log(sigma) + log_s, a, digamma(a + 1), 0.0, slope))
            log_scale += gammaln(a) - a * np.log(sigma)
        else:
            parts = _inner(p, q, floor, own, float(lean), path)
            log_scale += p * np.log(floor + own) + q * np.log(own) - sigma * own
        exponent, first, second = exponent + parts[0], first + parts[1], second + parts[2]
    return _Integrand(s, log_s, exponent, first, second, slope, float(constant), float(log_scale))


def _along(factors: Factors, alpha: float, masses: Floats, path: _Path) -> tuple[Floats, float]:
    """Rows (mean, variance, log Z) for each mass; and the size of the path's last node, inf where all is rounding."""
    t, log_sigma = path.angles(), np.log(path.sigma)
    seen = _gather(factors, alpha, (masses[0] + masses[-1]) / 2, path)
    ds = path.sigma * ((_fall(t) - np.expm1(2 * _rise(t))) / np.where(t > 0, t, 1.0) + 1j)
    ds[0] = 0.5j * path.sigma  # half the weight of the end of the upper half
    rows, tail = np.empty((masses.size, 3)), 0.0
    for row, mass in zip(rows, masses, strict=True):
        e, one, two = seen.exponent, seen.first, seen.second
        if mass > 0:
            within = (alpha + 1) / (mass + 1) * polygamma(1, alpha + 1) - polygamma(1, mass + 1)
            each = digamma(alpha + 1)
            more = _block(seen.s, log_sigma + seen.log_s, mass, each, max(0.0, within), seen.slope)
            e, one, two = e - mass * seen.log_s, one + more[0], two + more[1]
        top = e.real.max()
        weight = np.exp(e - top) * ds
        size = abs(weight)
        z = weight.imag.sum()
        if not z > 1e-11 * size.max():
            return rows, np.inf
        around = one[0].real
        shift = (weight * (one - around)).imag.sum() / z
        off = one - around - shift
        row[0] = around + shift + seen.constant
        row[1] = (weight * (off**2 + two)).imag.sum() / z
        row[2] = np.log(z * path.reach / path.n / np.pi) + top + seen.log_scale - mass * log_sigma
        tail = max(tail, float(size[-1] / size.max()))
    return rows, tail


def _group(factors: Factors, alpha: float, masses: Floats, tolerance: float) -> tuple[Floats, float]:
    """Masses that share a path: double the nodes until nothing changes."""
    least, middle = factors.saddles(np.array([masses[0], (masses[0] + masses[-1]) / 2])).tolist()
    sigma = max(middle, LEAST_RADIUS / factors.room)
    reach = min(np.pi, np.sqrt(2 * DECAY / (least * factors.room))) if least * factors.room > 12 else np.pi
    path = _Path(sigma, reach, 14, 0.26)
    rows, tail = _along(factors, alpha, masses, path)
    error = np.inf
    while path.n < MOST_NODES and np.isfinite(tail):
        if path.reach < np.pi and tail > 1e-13:
            path = replace(path, reach=min(np.pi, 1.5 * path.reach))
            rows, tail = _along(factors, alpha, masses, path)
            continue
        path = replace(path, n=2 * path.n, step=max(path.step / 1.5, LEAST_STEP))
        finer, tail = _along(factors, alpha, masses, path)
        change = abs(finer - rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(change[:, 1] > 0, change[:, 1] / abs(finer[:, 1]), 0.0)
        worst = np.max([change[:, 0], relative / 100, change[:, 2] / 100])
        error = float(np.nan_to_num(worst, nan=np.inf)) ** 1.5
        rows = finer
        if error <= tolerance:
            break
    return rows, error if np.isfinite(tail) else np.inf


def _closed(factors: Factors, alpha: float, mass: float) -> tuple[float, float, float]:
    """No floor at all: a Dirichlet, its unseen meanings one block."""
    seen = factors.p + factors.q
    shape, weight = (np.append(a, b) if mass > 0 else a for a, b in ((seen, alpha), (seen, mass)))
    total = weight.sum()
    mean = float(digamma(total + 1) - (weight / total * digamma(shape + 1)).sum())
    return mean, dirichlet_variance(shape, weight, mean), float(gammaln(seen).sum() - gammaln(total))


def _groups(base: float, masses: Floats) -> Iterator[slice]:
    """Runs of masses that one path can serve."""
    start = 0
    while start < masses.size:
        own, end = base + masses[start], start + 1
        while end < masses.size:
            other = base + masses[end]
            if masses[end] <= 0 or other - own - own * np.log(other / own) >= SHARED_LOSS:
                break
            end += 1
        yield slice(start, end)
        start = end


def solve_problem(factors: Factors, alpha: float, masses: Floats, tolerance: float) -> tuple[Floats, float]:
    """Rows (mean, variance, log Z) for each mass of unseen meanings, rising; and an estimate of the worst error."""
    rows, error = np.empty((masses.size, 3)), 0.0
    first = int(alone(factors, masses).sum())
    rows[:first] = 0.0, 0.0, log_z_alone(factors)
    bounded = factors.floors > 0
    if not bounded.any():
        for place, mass in enumerate(masses[first:].tolist(), start=first):
            rows[place] = _closed(factors, alpha, mass)
    else:
        base = float(np.where(bounded, factors.q, factors.p + factors.q).sum())
        for group in _groups(base, masses[first:]):
            rows[first:][group], miss = _group(factors, alpha, masses[first:][group], tolerance)
            error = max(error, miss)
    mean, variance = rows[:, 0], rows[:, 1]
    variance[(variance < 0) & (variance > -1e-12)] = 0.0
    if not np.isfinite(rows).all() or variance.min(initial=0) < 0 or mean.min(initial=0) < -100 * tolerance:
        error = np.inf
    return rows, error


# The normalising constant Z of a product density by the saddle-point approximation: quick, to within a small factor.
#
# With K(s) = s room - mass log s + sum of log A_j(s) (in the notation above) and s near its saddle,
#
#     log Z = K - K'^2 / (2 K'') - log(2 pi K'') / 2.
#
# The inner integrals at s are real, and a few dozen nodes give them with their mean and variance. `_native/contour.c`
# takes the same steps; tests hold the two together.


STEP = 0.5  # of the inner nodes
TURNS = 6
SHARED_WIDTHS = 1.4  # of an inner integrand, between modes that share its nodes
MISS = 0.1  # a saddle is near enough where the slope there is this small, squared and over the curvature
MOST_SHAPE = 0.25  # of p + q, where one meaning may take all the room


def log_z_estimates(factors: Factors, masses: Floats) -> Floats:
    """The estimate of log Z for each mass of unseen meanings."""
    log_z = np.empty(masses.size)
    special = alone(factors, masses)
    log_z[special] = log_z_alone(factors)
    if bool(np.all(factors.p + factors.q <= MOST_SHAPE)):
        large = (masses == 0) & ~special
        if large.any():
            log_z[large] = _log_z_one_large(factors)
        special = special | large
    if not special.all():
        log_z[~special] = _at_saddle(factors, masses[~special])
    return log_z


def _at_saddle(factors: Factors, masses: Floats) -> Floats:
    """`Factors.saddles` knows the means by Laplace's method alone; Newton's method goes on with the true ones."""
    s, log_z = factors.saddles(masses), np.empty(masses.size)
    active = np.arange(masses.size)
    for _ in range(TURNS):
        rate, mass = s[active], masses[active]
        log_a, mean, variance = _tilted_integrals(factors, rate)
        value = rate * factors.room - mass * np.log(rate) + log_a.sum(axis=0)
        slope = factors.room - mass / rate - mean.sum(axis=0)
        bend = mass / rate**2 + variance.sum(axis=0)
        log_z[active] = value - slope**2 / bend / 2 - np.log(2 * np.pi * bend) / 2
        far = slope**2 > MISS * bend
        if not far.any():
            break
        s[active] = rate * np.exp(np.clip(-slope / (rate * bend), -2, 2))
        active = active[far]
    return log_z


def _log_z_one_large(factors: Factors) -> float:
    """log Z where one meaning has nearly all the room, and the others are integrated up to about the room.

    Without unseen meanings and with p + q near 0 or below throughout there may be no saddle.
    """
    log_a = _tilted_integrals(factors, np.array([1 / factors.room]))[0][:, 0]
    room = factors.room
    full = factors.p * np.log(factors.floors + room) + (factors.q - 1) * np.log(room)
    return float(log_a.sum() + logsumexp(full - log_a))


def _tilted_integrals(factors: Factors, s: Floats) -> tuple[Floats, Floats, Floats]:
    """log A, and mean and variance of y under each factor times e^(-s y): one row per factor, one column per s."""
    y, variance = (values.T for values in factors.tilted(s))
    out = np.empty((3, *y.shape))
    for j, (p, q, floor) in enumerate(zip(factors.p, factors.q, factors.floors, strict=True)):
        if floor == 0:
            out[:, j] = gammaln(p + q) - (p + q) * np.log(s), y[j], variance[j]
        else:
            at = _shared_rates(_widths(float(p), float(floor), s, y[j])[0], s, y[j])
            out[:, j] = _tilted_integral(float(p), float(q), float(floor), s, at, factors.tilted(at)[0][:, j])
    return out[0], out[1], out[2]


def _shared_rates(widths: Floats, s: Floats, y: Floats) -> Floats:
    """For each s the rate that its nodes are placed for: neighbours whose modes are near each other share theirs."""
    at, first = np.empty(s.size), 0
    while first < s.size:
        most, end = np.exp(SHARED_WIDTHS * widths[first]), first + 1
        while end < s.size and 1 / most < y[end] / y[first] < most:
            end += 1
        at[first:end] = np.sqrt(s[first] * s[end - 1])
        first = end
    return at


def _tilted_integral(
    p: float, q: float, floor: float, s: Floats, at: Floats, y: Floats
) -> tuple[Floats, Floats, Floats]:
    """One factor, its nodes placed around the modes y at the rates `at`."""
    x0, curvature = floor + y, _widths(p, floor, at, y)[1]
    v, log_weight = _nodes(p, q, floor, at, y, STEP)
    excess, power = y[:, None] * np.expm1(v), q * v + log_weight
    # Around a narrow peak log1p keeps the digits; elsewhere y may be all of x0, and its log1p the logarithm of 0.
    near = np.log1p(np.maximum(excess / x0[:, None], -0.5))
    grown = np.where(curvature[:, None] > 100, near, np.log((floor + y[:, None] * np.exp(v)) / x0[:, None]))
    weight = np.exp(p * grown + power - s[:, None] * excess)
    total = weight.sum(axis=1)
    mean = (weight * excess).sum(axis=1) / total
    variance = (weight * excess**2).sum(axis=1) / total - mean**2
    return np.log(total) + p * np.log(x0) + q * np.log(y) - s * y, y + mean, variance


TIGHTEST, LOOSEST = 1e-13, 1e-2  # tolerances
# What an answer may fall short of the tolerance before it is an error.
SLACK = 100.0


@dataclass(frozen=True, slots=True)
class Problems:
    """Many integrals at once, concatenated.

    Problem i has the factors `offsets[i]:offsets[i + 1]` of `p`, `q` and `floors`, the parameter `alpha[i]`, and
    the masses of its unseen meanings `mass[mass_offsets[i]:mass_offsets[i + 1]]`, rising: u alpha for u of them.
    A negative `alpha` is a Pitman-Yor discount; the mass is then the concentration of the unseen meanings.
    """

    p: Floats
    q: Floats
    floors: Floats
    offsets: NDArray[np.int64]
    alpha: Floats
    mass: Floats
    mass_offsets: NDArray[np.int64]

    def __iter__(self) -> Iterator[tuple[Factors, float, slice]]:
        """The factors and alpha of each problem, and where its masses stand."""
        for i, alpha in enumerate(self.alpha.tolist()):
            at = slice(*self.offsets[i : i + 2].tolist())
            where = slice(*self.mass_offsets[i : i + 2].tolist())
            yield Factors.of(self.p[at], self.q[at], self.floors[at]), alpha, where


@dataclass(frozen=True, slots=True)
class Solution:
    """Mean and variance of the entropy and log Z: one entry for each mass of unseen meanings."""

    mean: Floats
    variance: Floats
    log_z: Floats


def solve(
    problems: Problems, tolerance: float = 1e-9, *, on_failure: Literal["raise", "exclude"] = "raise"
) -> Solution:
    """Solve to `tolerance` in the mean and 100 times that, relative, in the variance.

    A density may have so little mass where probabilities sum to 1 that the integral is nothing but rounding.
    Such a problem is a ConvergenceError; with `on_failure="exclude"` it gets log Z = -inf instead, which
    gives it no weight beside any other. Whatever is returned is finite otherwise, and no variance is negative.
    """
    if not TIGHTEST <= tolerance <= LOOSEST:
        raise InputError(f"tolerance is {tolerance}; it must lie between {TIGHTEST:g} and {LOOSEST:g}")
    out = Solution(*np.zeros((3, problems.mass.size)))
    error = np.zeros(problems.alpha.size)
    if _kernel is not None:
        _kernel.solve(*_buffers(problems), tolerance, out.mean, out.variance, out.log_z, error)
    else:
        for i, (factors, alpha, where) in enumerate(problems):
            rows, error[i] = solve_problem(factors, alpha, problems.mass[where], tolerance)
            out.mean[where], out.variance[where], out.log_z[where] = rows.T
    failed = ~(error <= SLACK * tolerance)
    if failed.any():
        _handle(failed, error, problems, tolerance, on_failure, out)
    return out


def _handle(
    failed: NDArray[np.bool_],
    error: Floats,
    problems: Problems,
    tolerance: float,
    on_failure: str,
    out: Solution,
) -> None:
    if on_failure == "raise":
        worst, first = np.nan_to_num(error[failed], nan=np.inf).max(), int(np.flatnonzero(failed)[0])
        raise ConvergenceError(
            f"the entropy integral of question {first + 1} of {failed.size} did not converge: its error is about "
            f"{worst:.1e}, the tolerance {tolerance:.1e}"
        )
    excluded = np.repeat(failed, np.diff(problems.mass_offsets))
    out.mean[excluded], out.variance[excluded], out.log_z[excluded] = 0.0, 0.0, -np.inf


def screen(problems: Problems) -> Floats:
    """Estimate log Z from the saddle point, to within a small factor and for a small part of the cost of `solve`."""
    log_z = np.zeros(problems.mass.size)
    if _kernel is not None:
        _kernel.screen(*_buffers(problems), log_z)
    else:
        for factors, _, where in problems:
            log_z[where] = log_z_estimates(factors, problems.mass[where])
    return log_z


def _buffers(problems: Problems) -> tuple[NDArray[Any], ...]:
    """The arrays as the kernel takes them: contiguous, float64 and int64."""
    return (
        np.ascontiguousarray(problems.p, float),
        np.ascontiguousarray(problems.q, float),
        np.ascontiguousarray(problems.floors, float),
        np.ascontiguousarray(problems.offsets, np.int64),
        np.ascontiguousarray(problems.alpha, float),
        np.ascontiguousarray(problems.mass, float),
        np.ascontiguousarray(problems.mass_offsets, np.int64),
    )

"""The contour integrals of `contour.py` in NumPy: the reference form, and the fallback where nothing was compiled.

`_native/contour.c` takes the same steps, with the same names; tests hold the two together. The notation is that of
`contour.py`: a seen meaning has the factor (floor + y)^p y^(q - 1), and the unseen ones together s^(-mass).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from .dirichlet import dirichlet_variance
from .product_density import Factors, alone, log_z_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]

__all__ = ["solve_problem"]

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
    """v = width (u - exp(start - u)): even steps around the integrand's mode, doubly exponential below it."""

    def log_integrand(v: float) -> float:
        excess = y * np.expm1(v)
        return float(p * np.log1p(excess / (floor + y)) + q * v - sigma * excess)

    at_floor, shape = np.log(floor) - np.log(y), p + q
    curvature = sigma * y - p * (floor / (floor + y)) * (y / (floor + y))
    width = 2.5 / np.sqrt(curvature) if curvature > 6.25 else 1.0
    right = width
    for _ in range(4000):
        if log_integrand(right) <= -DECAY:
            break
        right += width
    floor_matters = -at_floor * shape < DECAY
    start = (min(at_floor, 0.0) if floor_matters else 0.0) / width - 1.5
    reach = DECAY / ((q if floor_matters else shape) * width)
    last, first = right / width + 0.2, start - np.log(max(reach, 1.0)) - 0.5
    u = last - (np.arange(int(np.ceil((last - first) / step))) + 0.5) * step
    tail = np.exp(start - u)
    v = width * (u - tail)
    return _InnerNodes(y * np.exp(v), y * np.expm1(v), q * v + np.log(width * (1 + tail) * step))


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

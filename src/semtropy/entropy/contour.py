"""Integrals over the probability simplex as contour integrals: the moments of entropy without Monte Carlo.

Every belief in semtropy has a density that is a product over meanings,

    seen meaning     (floor + y)^p y^(q - 1),   its probability x = floor + y, y > 0
    unseen meaning   x^(alpha - 1), or all of them together a gamma block (below)

restricted to probabilities that sum to 1. With room = 1 - sum of floors, the integral of such a product is
the inverse Laplace transform of the product of one-dimensional integrals,

    Z = (1 / 2 pi i) * contour integral of e^(s room) * prod_j A_j(s) ds,
    A_j(s) = integral of its factor * e^(-s y),

and entropy is a sum over meanings, so its moments need only A, B, C: the same inner integral weighted by 1, w, w^2, w
being the meaning's share -x log x of the entropy. What makes it exact in few nodes:

- the path s(t) = sigma (t cot t + i t), through the real saddle sigma, is one of steepest descent for a power of s;
- the inner integral runs along a ray that turns with s (by 0.62 of its angle, so that x stays away from 0), in
  y = exp(v) with v = centre + width (u - exp(start - u)): even steps around the integrand's mode, doubly fast below it;
- w is taken around a reference point and a common slope, w = phi(x) - phi(x0) - slope (x - x0): the slope's part adds
  up to a constant, and what is left is as small as the entropy's spread, so that variances of 1e-40 keep their digits;
- unseen meanings, and seen ones without a floor, are a gamma block in closed form, u of them s^-(u alpha): every
  support size shares the seen factors, as long as one path serves (the loss of sharing is bounded). The moments of
  the block's own entropy are analytic in alpha, and at alpha = -discount they are those of a Pitman-Yor process
  (Archer, Park and Pillow 2014): meanings without end cost no more than a number of them;
- nodes are added until half of them give the same answer, to the tolerance.

The compiled `_kernel` does this; `_solve` below is the same in NumPy, for machines without a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from ..errors import ConvergenceError
from .dirichlet import dirichlet_variance

try:
    from ._native import contour as _kernel  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _kernel = None

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]

__all__ = ["Problems", "Solution", "screen", "solve"]

TURN = 0.62
DECAY = 42.0
LEAST_RADIUS = 5.5
SERIES_BEYOND = 400.0
SHARED_LOSS = 3.0
TINIEST_FLOOR = 1e-300  # below this doubles lose digits; a floor so small is as good as this one


@dataclass(frozen=True, slots=True)
class Problems:
    """Many integrals at once, laid end to end.

    Problem i has the factors `offsets[i]:offsets[i + 1]` of `p`, `q`, `floors`, the parameter `alpha[i]`, and
    the masses of its unseen meanings `mass[mass_offsets[i]:mass_offsets[i + 1]]`, rising: u alpha for u of them.
    A negative `alpha` is a Pitman-Yor discount, the mass then the concentration of what is unseen.
    """

    p: Floats
    q: Floats
    floors: Floats
    offsets: NDArray[np.int64]
    alpha: Floats
    mass: Floats
    mass_offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Solution:
    """Mean and variance of the entropy and log Z, an entry for each mass of unseen meanings."""

    mean: Floats
    variance: Floats
    log_z: Floats


def solve(problems: Problems, tolerance: float = 1e-9, *, give_up: bool = False) -> Solution:
    """Solve to `tolerance` in the mean and 100 times that, relative, in the variance.

    A density may have next to no mass where probabilities sum to 1, so that rounding is all an integral would
    show. With `give_up` such a problem gets log Z = -inf, which is what it is beside any other; without, it
    is an error.
    """
    if _kernel is not None:
        out, error = _call_kernel(problems, tolerance)
    else:
        out = Solution(*(np.zeros(problems.mass.size) for _ in range(3)))
        error = np.array([_solve(problems, i, tolerance, out) for i in range(problems.alpha.size)])
    failed = ~(error <= 100 * tolerance)
    if failed.any():
        if not give_up:
            worst = error[failed].max()
            raise ConvergenceError(
                f"the entropy integral reached {worst:.1e} where {tolerance:.1e} was asked for"
            )
        hopeless = np.repeat(failed, np.diff(problems.mass_offsets))
        out.mean[hopeless], out.variance[hopeless], out.log_z[hopeless] = 0.0, 0.0, -np.inf
    return out


def screen(problems: Problems) -> Floats | None:
    """log Z to within a small factor, for a small part of the cost; None without the compiled kernel."""
    if _kernel is None:
        return None
    return _call_kernel(problems, 1.0)[0].log_z


def _call_kernel(problems: Problems, tolerance: float) -> tuple[Solution, Floats]:
    out = Solution(*(np.zeros(problems.mass.size) for _ in range(3)))
    error = np.zeros(problems.alpha.size)
    _kernel.contour(
        *(_as(float, values) for values in (problems.p, problems.q, problems.floors)),
        *(_as(np.int64, problems.offsets), _as(float, problems.alpha), _as(float, problems.mass)),
        *(_as(np.int64, problems.mass_offsets), tolerance, out.mean, out.variance, out.log_z, error),
    )
    return out, error


def _as(kind: type, values: NDArray[Any]) -> NDArray[Any]:
    """The buffer the kernel reads: it looks at no types."""
    return np.ascontiguousarray(values, dtype=kind)


# ---- the same in NumPy ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Factor:
    p: float
    q: float
    floor: float

    def tilted(self, s: float) -> tuple[float, float]:
        """Mean and variance of y under the factor times e^(-s y), nearly: from s y = q + p y / (floor + y)."""
        if self.floor == 0:
            return (self.p + self.q) / s, (self.p + self.q) / s**2
        b = s * self.floor - self.p - self.q
        d = np.sqrt(b * b + 4 * s * self.q * self.floor)
        y = (d - b) / (2 * s) if b < 0 else 2 * self.q * self.floor / (d + b)
        return y, y * (y + self.floor) / d

    def log_integrand(self, s: float, v: float) -> float:
        y = np.exp(v)
        return float(self.p * np.log1p(y / self.floor) + self.q * v - s * y)


def _saddle(factors: list[_Factor], unseen: float, room: float) -> float:
    low, high = 0.0, np.inf
    s = (unseen + sum(max(f.q, f.p + f.q) for f in factors)) / room
    for _ in range(100):
        tilted = [f.tilted(s) for f in factors]
        excess = unseen / s + sum(y for y, _ in tilted) - room
        if abs(excess) < 1e-6 * room:
            break
        low, high = (s, high) if excess > 0 else (low, s)
        slope = unseen / s**2 + sum(spread for _, spread in tilted)
        step = s * np.exp(np.clip(excess / (s * slope), -5, 5))
        s = step if low < step < high else (low + s) / 2 if step <= low else (high + s) / 2
    return float(s)


def _inner_nodes(f: _Factor, s: float, step: float) -> tuple[Floats, Floats]:
    """The sizes exp(v) of the inner nodes, and q v plus the log of their weights."""
    y, _ = f.tilted(s)
    centre, at_floor, a = np.log(y), np.log(f.floor), f.p + f.q
    curvature = s * y - f.p * f.floor * y / (f.floor + y) ** 2
    width = 2.5 / np.sqrt(curvature) if curvature > 6.25 else 1.0
    peak, right = f.log_integrand(s, centre), centre + width
    while f.log_integrand(s, right) > peak - DECAY:
        right += width
    floor_matters = (centre - at_floor) * a < DECAY
    bend = min(at_floor, centre) if floor_matters else centre
    start = (bend - centre) / width - 1.5
    reach = DECAY / ((f.q if floor_matters else a) * width)
    last, first = (right - centre) / width + 0.2, start - np.log(max(reach, 1.0)) - 0.5
    u = last - (np.arange(int(np.ceil((last - first) / step))) + 0.5) * step
    tail = np.exp(start - u)
    v = centre + width * (u - tail)
    return np.exp(v), f.q * v + np.log(width * (1 + tail) * step)


def _inner(
    f: _Factor, sigma: float, lean: float, s: Complexes, step: float
) -> tuple[Complexes, Complexes, Complexes]:
    """log A, B / A and C / A - (B / A)^2 of one factor at every s; `lean` is log x0 + slope + 1."""
    size, power = _inner_nodes(f, sigma, step)
    centre, _ = f.tilted(sigma)
    x0, turn = f.floor + centre, TURN * np.angle(s)[:, None]
    y = size * np.exp(-1j * turn)
    off = y - centre
    if sigma * x0 > SERIES_BEYOND and f.floor > centre:
        ratio = off / x0
        log_ratio, curve = np.zeros_like(ratio), np.zeros_like(ratio)
        for k in range(16, 0, -1):
            sign = 1.0 if k % 2 else -1.0
            log_ratio, curve = ratio * log_ratio + sign / k, ratio * curve + sign / (k * (k + 1))
        log_ratio, curve = ratio * log_ratio, x0 * ratio**2 * curve
    else:
        log_ratio = np.log((f.floor + y) / x0)
        curve = (f.floor + y) * log_ratio - off
    w = -off * lean - curve
    exponent = f.p * log_ratio + power - 1j * f.q * turn - s[:, None] * y
    top = exponent.real.max()
    integrand = np.exp(exponent - top)
    a = integrand.sum(axis=1)
    b = (integrand * w).sum(axis=1) / a
    return np.log(a) + top + f.p * np.log(x0), b, (integrand * w * w).sum(axis=1) / a - b * b


def _block(
    s: Complexes, mass: float, each: float, variance: float, slope: float
) -> tuple[Complexes, Complexes]:
    """First two cumulants of the entropy of a gamma block of that mass, `each` being digamma(alpha + 1)."""
    d = -each - slope + np.log(s)
    steady = (mass + 1) * (polygamma(1, mass + 2) + variance) + 1 / (mass + 1)
    return mass / s * d, mass / s**2 * (steady + d * d - 2 * d)


@dataclass(frozen=True, slots=True)
class _Path:
    sigma: float
    reach: float
    n: int
    step: float


def _along(
    factors: list[_Factor], room: float, alpha: float, masses: Floats, path: _Path
) -> tuple[Floats, float]:
    """Rows (mean, variance, log Z) for each mass of unseen meanings; and how large the path's last node is."""
    t = np.arange(1, path.n) * path.reach / path.n
    s = (path.sigma * np.concatenate([[1.0], t / np.tan(t) + 1j * t])).astype(np.complex128)
    ds = path.sigma * np.concatenate([[0.5j], 1 / np.tan(t) - t / np.sin(t) ** 2 + 1j])
    centres = np.array([f.tilted(path.sigma)[0] for f in factors])
    floors = np.array([f.floor for f in factors])
    x0 = floors + centres
    # Logarithms less that of the first: all digits when floors are nearly equal.
    ratios = ((floors - floors[0]) + (centres - centres[0])) / x0[0]
    leans = np.where(abs(ratios) < 0.5, np.log1p(np.maximum(ratios, -0.5)), np.log(x0) - np.log(x0[0]))
    lean, total = (centres * leans).sum(), centres.sum()
    if (
        alpha < 0
    ):  # seen meanings may have next to no mass: the unseen ones have a say, by their mean logarithm
        block = (masses[0] + masses[-1]) / 2
        y = block / path.sigma
        total += y
        lean += y * (np.log(y) + digamma(alpha + 1) - digamma(block + 1) - np.log(x0[0]))
    leans -= lean / total
    slope = float(leans[0] - np.log(x0[0]) - 1)
    exponent, first, second = s * room, np.zeros_like(s), np.zeros_like(s)
    constant = slope * room
    for f, y, x, own in zip(factors, centres, x0, leans, strict=True):
        if f.floor == 0:
            a = f.p + f.q
            block = _block(s, a, digamma(a + 1), 0.0, slope)
            parts = ((gammaln(a) - a * np.log(s)).astype(np.complex128), *block)
        else:
            parts = _inner(f, path.sigma, float(own), s, path.step)
            constant -= x * np.log(x) + slope * y
        exponent, first, second = exponent + parts[0], first + parts[1], second + parts[2]
    rows, tail = np.empty((masses.size, 3)), 0.0
    for row, mass in zip(rows, masses, strict=True):
        e, one, two = exponent, first, second
        if mass > 0:
            within = (alpha + 1) / (mass + 1) * polygamma(1, alpha + 1) - polygamma(1, mass + 1)
            more = _block(s, mass, digamma(alpha + 1), max(0.0, within), slope)
            e, one, two = e - mass * np.log(s), one + more[0], two + more[1]
        top = e.real.max()
        weight = np.exp(e - top) * ds
        z = weight.imag.sum()
        if z <= 1e-11 * np.abs(weight).max():
            return rows, np.inf  # rounding is all there is
        mean = (weight * one).imag.sum() / z
        row[:] = (
            mean + constant,
            (weight * ((one - mean) ** 2 + two)).imag.sum() / z,
            np.log(z * path.reach / path.n / np.pi) + top,
        )
        tail = max(tail, float(abs(weight[-1]) / abs(weight).max()))
    return rows, tail


def _group(
    factors: list[_Factor], room: float, alpha: float, masses: Floats, tolerance: float
) -> tuple[Floats, float]:
    """Support sizes that share a path: double the nodes until nothing changes."""
    least = _saddle(factors, masses[0], room) * room
    sigma = max(_saddle(factors, (masses[0] + masses[-1]) / 2, room), LEAST_RADIUS / room)
    reach = min(np.pi, np.sqrt(2 * DECAY / least)) if least > 12 else np.pi
    path = _Path(sigma, reach, 14, 0.26)
    rows, tail = _along(factors, room, alpha, masses, path)
    miss = np.inf
    while path.n < 1792 and np.isfinite(tail):
        if path.reach < np.pi and tail > 1e-13:
            path = _Path(sigma, min(np.pi, 1.5 * path.reach), path.n, path.step)
            rows, tail = _along(factors, room, alpha, masses, path)
            continue
        path = _Path(sigma, path.reach, 2 * path.n, max(path.step / 1.5, 0.03))
        finer, tail = _along(factors, room, alpha, masses, path)
        change = np.abs(finer - rows)
        miss = float(max(change[:, 0].max(), (change[:, 1] / finer[:, 1]).max() / 100))
        rows = finer
        if miss**1.5 <= tolerance:
            break
    return rows, miss**1.5


def _closed(factors: list[_Factor], alpha: float, mass: float) -> tuple[float, float, float]:
    """No floor at all: a Dirichlet, its unseen meanings one block."""
    seen = np.array([f.p + f.q for f in factors])
    shape, weight = (np.append(a, b) if mass > 0 else a for a, b in ((seen, alpha), (seen, mass)))
    total = weight.sum()
    mean = float(digamma(total + 1) - (weight / total * digamma(shape + 1)).sum())
    return mean, dirichlet_variance(shape, weight, mean), float(gammaln(seen).sum() - gammaln(total))


def _groups(base: float, masses: Floats) -> Iterable[slice]:
    start = 0
    while start < masses.size:
        own, end = base + masses[start], start + 1
        while end < masses.size:
            other = base + masses[end]
            if other - own - own * np.log(other / own) >= SHARED_LOSS:
                break
            end += 1
        yield slice(start, end)
        start = end


def _solve(problems: Problems, i: int, tolerance: float, out: Solution) -> float:
    at = slice(*problems.offsets[i : i + 2])
    parameters = zip(problems.p[at], problems.q[at], problems.floors[at], strict=True)
    factors = [_Factor(float(p), float(q), float(floor)) for p, q, floor in parameters]
    alpha, where = float(problems.alpha[i]), slice(*problems.mass_offsets[i : i + 2])
    masses = problems.mass[where]
    rows, error = np.empty((masses.size, 3)), 0.0
    room = exact_room(problems.floors[at])
    if not any(f.floor for f in factors):
        rows[:] = [_closed(factors, alpha, mass) for mass in masses.tolist()]
        if len(factors) == 1 and masses[0] == 0:
            rows[0] = 0.0
    else:
        alone = int(len(factors) == 1 and masses[0] == 0)
        if alone:  # one meaning has all the mass
            rows[0] = 0.0, 0.0, (factors[0].q - 1) * np.log(room)
        base = sum(f.q if f.floor else f.p + f.q for f in factors)
        for group in _groups(base, masses[alone:]):
            rows[alone:][group], miss = _group(factors, room, alpha, masses[alone:][group], tolerance)
            error = max(error, miss)
    out.mean[where], out.variance[where], out.log_z[where] = rows.T
    return error


def exact_room(floors: Floats) -> float:
    """1 - sum(floors), rounded once."""
    return fsum([1.0, *(-floors).tolist()])

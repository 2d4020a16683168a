"""The normalising constant Z of a product density by the saddle-point approximation: quick, to within a small factor.

With K(s) = s room - mass log s + sum of log A_j(s) (the notation of `contour.py`) and s near its saddle,

    log Z = K - K'^2 / (2 K'') - log(2 pi K'') / 2.

The inner integrals at s are real, and a few dozen nodes give them with their mean and variance. `_native/contour.c`
takes the same steps; tests hold the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, logsumexp

from .product_density import alone, log_z_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .product_density import Factors

    Floats = NDArray[np.float64]

__all__ = ["log_z_estimates"]

STEP = 0.5  # of the inner nodes
TURNS = 6
SHARED_WIDTHS = 1.4  # of an inner integrand, between modes that share its nodes
MISS = 0.1  # a saddle is near enough where the slope there is this small, squared and over the curvature
MOST_SHAPE = 0.25  # of p + q, where one meaning may take all the room
DECAY = 42.0  # integrands are cut where they fall below exp(-DECAY) of their peak


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


def _widths(p: float, floor: float, s: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The width of a factor's integrand around its peak, and the curvature of its logarithm there."""
    curvature = s * y - p * (floor / (floor + y)) * (y / (floor + y))
    return np.where(curvature > 6.25, 2.5 / np.sqrt(np.maximum(curvature, 6.25)), 1.0), curvature


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
    """One factor: the nodes are those of `contour_numpy`, placed around the modes y at the rates `at`."""
    x0, at_floor, shape = floor + y, np.log(floor) - np.log(y), p + q
    width, curvature = _widths(p, floor, at, y)
    right = width.copy()
    for _ in range(4000):
        excess = y * np.expm1(right)
        more = p * np.log1p(excess / x0) + q * right - at * excess > -DECAY
        if not more.any():
            break
        right = np.where(more, right + width, right)
    matters = -at_floor * shape < DECAY
    start = np.where(matters, np.minimum(at_floor, 0.0), 0.0) / width - 1.5
    reach = DECAY / (np.where(matters, q, shape) * width)
    last, first = right / width + 0.2, start - np.log(np.maximum(reach, 1.0)) - 0.5
    count = int(np.ceil((last - first).max() / STEP))
    u = last[:, None] - (np.arange(count) + 0.5) * STEP
    tail = np.exp(start[:, None] - u)
    v = width[:, None] * (u - tail)
    excess = y[:, None] * np.expm1(v)
    power = q * v + np.log(width[:, None] * (1 + tail) * STEP)
    # Around a narrow peak log1p keeps the digits; elsewhere y may be all of x0, and its log1p the logarithm of 0.
    near = np.log1p(np.maximum(excess / x0[:, None], -0.5))
    grown = np.where(curvature[:, None] > 100, near, np.log((floor + y[:, None] * np.exp(v)) / x0[:, None]))
    weight = np.exp(p * grown + power - s[:, None] * excess)
    total = weight.sum(axis=1)
    mean = (weight * excess).sum(axis=1) / total
    variance = (weight * excess**2).sum(axis=1) / total - mean**2
    return np.log(total) + p * np.log(x0) + q * np.log(y) - s * y, y + mean, variance

"""An independent reference: entropy moments by real integrals in mpmath, 40 digits, no contour and no shared code.

With one seen meaning (any number unseen), or two and none unseen, the belief has one free variable: the room y that the
first seen meaning takes. What is left is closed form, from the general second moment of Appendix A.1.
"""

from __future__ import annotations

import itertools
from typing import Any

import mpmath as mp

__all__ = ["endless_seen", "one_seen", "two_seen"]

mp.mp.dps = 40


def _gauss_legendre(n: int) -> list[tuple[Any, Any]]:
    """Nodes and weights on (-1, 1), by Newton's method on the Legendre polynomial."""
    rule = []
    for i in range(1, n + 1):
        x = mp.cos(mp.pi * (i - mp.mpf(1) / 4) / (n + mp.mpf(1) / 2))
        for _ in range(8):
            before, value = mp.mpf(1), x
            for k in range(2, n + 1):
                before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
            slope = n * (x * value - before) / (x * x - 1)
            x -= value / slope
        rule.append((x, 2 / ((1 - x * x) * slope**2)))
    return rule


RULE = _gauss_legendre(24)


def symmetric(alpha: Any, u: int) -> tuple[Any, Any]:
    """E[h] and E[h^2] of a symmetric Dirichlet over `u` meanings, by the paper's formula."""
    total = u * alpha
    top, trigamma = mp.digamma(total + 2), mp.psi(1, total + 2)
    mean = mp.digamma(total + 1) - mp.digamma(alpha + 1)
    across = (mp.digamma(alpha + 1) - top) ** 2 - trigamma
    within = (mp.digamma(alpha + 2) - top) ** 2 + mp.psi(1, alpha + 2) - trigamma
    norm = total * (total + 1)
    return mean, u * (u - 1) * alpha**2 / norm * across + u * alpha * (alpha + 1) / norm * within


def one_seen(p: Any, q: Any, floor: Any, alpha: Any, u: int) -> tuple[Any, Any, Any]:
    """Mean, variance and log of the integral: density (floor + y)^p y^(q-1), and `u` >= 1 unseen meanings."""
    alpha = mp.mpf(float(alpha))
    mean, second = symmetric(alpha, u)
    return _one_and_a_block(p, q, floor, u * alpha, mean, second - mean**2)


def endless_seen(p: Any, q: Any, floor: Any, c: Any, d: Any) -> tuple[Any, Any, Any]:
    """The same where the unseen are a Pitman-Yor process of concentration c and discount d.

    Its moments as Archer, Park and Pillow have them ("Bayesian entropy estimation for countable discrete
    distributions", 2014).
    """
    c, d = mp.mpf(float(c)), mp.mpf(float(d))
    mean = mp.digamma(c + 1) - mp.digamma(1 - d)
    spread = (c + d) / ((c + 1) ** 2 * (1 - d)) + (1 - d) / (c + 1) * mp.psi(1, 2 - d) - mp.psi(1, 2 + c)
    return _one_and_a_block(p, q, floor, c, mean, spread)


def _one_and_a_block(p: Any, q: Any, floor: Any, mass: Any, mean: Any, spread: Any) -> tuple[Any, Any, Any]:
    p, q, floor = (mp.mpf(float(value)) for value in (p, q, floor))

    def entropy(x: Any, w: Any) -> tuple[Any, Any]:
        return -x * mp.log(x) - w * mp.log(w) + w * mean, w**2 * spread

    found = _integrate(p, q, floor, mp.mpf(0), mass, mp.mpf(0), 1 - floor, entropy)
    return found[0], found[1], found[2] - mp.loggamma(mass)


def two_seen(p: tuple[Any, Any], q: tuple[Any, Any], floors: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """The same for two seen meanings and none unseen."""
    (p1, p2), (q1, q2), (l1, l2) = ((mp.mpf(float(a)), mp.mpf(float(b))) for a, b in (p, q, floors))

    def entropy(x: Any, w: Any) -> tuple[Any, Any]:
        return -x * mp.log(x) - (l2 + w) * mp.log(l2 + w), mp.mpf(0)

    return _integrate(p1, q1, l1, p2, q2, l2, 1 - l1 - l2, entropy)


def _integrate(
    p1: Any, q1: Any, l1: Any, p2: Any, q2: Any, l2: Any, room: Any, entropy: Any
) -> tuple[Any, Any, Any]:
    """Over y in (0, room), w = room - y: (l1 + y)^p1 y^(q1-1) (l2 + w)^p2 w^(q2-1).

    Each half is taken in v, y = e^v (or w = e^v): algebraic ends become exponential ones, tiny floors and narrow peaks
    are resolved by cutting at them, and the range is long enough for 30 digits.
    """

    def log_density(y: Any, w: Any) -> Any:
        return p1 * mp.log(l1 + y) + (q1 - 1) * mp.log(y) + p2 * mp.log(l2 + w) + (q2 - 1) * mp.log(w)

    half = room / 2
    pieces: list[tuple[Any, Any, bool]] = []
    for left, q, floor, own, other_floor in ((True, q1, l1, p1, l2), (False, q2, l2, p2, l1)):
        del other_floor
        lowest = mp.log(min(half, floor)) - 75 / q if floor > 0 else mp.log(half) - 75 / (own + q)
        ends = {lowest, mp.log(half)}
        if floor > 0:
            ends |= {mp.log(floor) + d for d in (-4, 0, 4) if mp.log(floor) + d < mp.log(half)}
        ends |= {mp.log(half) - d for d in (0.02, 0.1, 0.5, 2, 6, 20)}
        ends |= set(_peak(log_density, left, room, half))
        inside = sorted(end for end in ends if end <= mp.log(half))
        pieces += [(a, b, left) for a, b in itertools.pairwise(inside)]
    terms = []
    for a, b, left in pieces:
        p, q = (p1, q1) if left else (p2, q2)
        rate = min(
            max(q, abs(p + q)), 4
        )  # below the floor the integrand grows like e^(q v), above it e^((p + q) v)
        cuts = int((b - a) * rate / 8) + 1
        for i in range(cuts):
            low, high = a + (b - a) * i / cuts, a + (b - a) * (i + 1) / cuts
            for node, weight in RULE:
                v = (low + high) / 2 + (high - low) / 2 * node
                y, w = _point(v, left, room)
                terms.append((log_density(y, w) + v, (high - low) / 2 * weight, *entropy(l1 + y, w)))
    scale = max(term[0] for term in terms)
    weights = [mp.exp(log - scale) * weight for log, weight, _, _ in terms]
    z = mp.fsum(weights)
    mean = mp.fsum(w * term[2] for w, term in zip(weights, terms, strict=True)) / z
    second = (w * ((term[2] - mean) ** 2 + term[3]) for w, term in zip(weights, terms, strict=True))
    return mean, mp.fsum(second) / z, mp.log(z) + scale


def _point(v: Any, left: bool, room: Any) -> tuple[Any, Any]:
    size = mp.exp(v)
    return (size, room - size) if left else (room - size, size)


def _peak(log_density: Any, left: bool, room: Any, half: Any) -> list[Any]:
    """Cuts around the largest value of the integrand on a coarse walk, so that quadrature sees a narrow peak."""
    walk = [mp.log(half) - mp.mpf(i) / 8 for i in range(1, 400)]
    values = [log_density(*_point(v, left, room)) + v for v in walk]
    best = max(range(len(walk)), key=values.__getitem__)
    centre = walk[best]
    return [centre + d for d in (-2, -0.5, -0.12, -0.03, 0.03, 0.12, 0.5, 2) if centre + d < mp.log(half)]

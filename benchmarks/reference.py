"""An independent reference: entropy moments by real integrals in mpmath, 40 digits, no contour and no shared code.

With one seen meaning and any number unseen, or two and none unseen, the posterior has one free variable: the part y of
the room that the first seen meaning takes. The rest is closed form, from the general second moment of Appendix A.1.
"""

from __future__ import annotations

from typing import Any

import mpmath as mp

__all__ = ["one_of_a_few", "one_seen", "pitman_yor_seen", "two_seen"]

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
GRADED = (0, 0.5, 1, 2, 4, 8, 16, 32, 48, 64, 96, 128)  # how far from a bend panels are cut


def symmetric(alpha: Any, u: int) -> tuple[Any, Any]:
    """E[h] and E[h^2] of a symmetric Dirichlet over `u` meanings, by the paper's formula."""
    total = u * alpha
    top, trigamma = mp.digamma(total + 2), mp.psi(1, total + 2)
    mean = mp.digamma(total + 1) - mp.digamma(alpha + 1)
    across = (mp.digamma(alpha + 1) - top) ** 2 - trigamma
    within = (mp.digamma(alpha + 2) - top) ** 2 + mp.psi(1, alpha + 2) - trigamma
    norm = total * (total + 1)
    return mean, u * (u - 1) * alpha**2 / norm * across + u * alpha * (alpha + 1) / norm * within


def dirichlet(alphas: list[Any]) -> tuple[Any, Any]:
    """Mean and variance of the entropy under any Dirichlet, by the paper's formula."""
    total = mp.fsum(alphas)
    top, trigamma = mp.digamma(total + 2), mp.psi(1, total + 2)
    mean = mp.digamma(total + 1) - mp.fsum(a * mp.digamma(a + 1) for a in alphas) / total
    second = mp.mpf(0)
    for i, a in enumerate(alphas):
        within = (mp.digamma(a + 2) - top) ** 2 + mp.psi(1, a + 2) - trigamma
        second += a * (a + 1) * within
        for b in alphas[:i]:
            second += 2 * a * b * ((mp.digamma(a + 1) - top) * (mp.digamma(b + 1) - top) - trigamma)
    return mean, second / (total * (total + 1)) - mean**2


def one_seen(p: Any, q: Any, floor: Any, alpha: Any, u: int) -> tuple[Any, Any, Any]:
    """Mean, variance and log of the integral: density (floor + y)^p y^(q-1), and `u` >= 1 unseen meanings."""
    alpha = mp.mpf(float(alpha))
    mean, second = symmetric(alpha, u)
    return _one_and_a_block(p, q, floor, u * alpha, mean, second - mean**2)


def one_of_a_few(p: Any, q: Any, floor: Any, others: list[Any]) -> tuple[Any, Any, Any]:
    """The same beside meanings without a floor, whose Dirichlet parameters are `others`."""
    alphas = [mp.mpf(float(other)) for other in others]
    mean, variance, log_z = _one_and_a_block(p, q, floor, mp.fsum(alphas), *dirichlet(alphas))
    return mean, variance, log_z + mp.fsum(mp.loggamma(a) for a in alphas)


def pitman_yor_seen(p: Any, q: Any, floor: Any, c: Any, d: Any) -> tuple[Any, Any, Any]:
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

    Taken in the logit z = log(y / w): algebraic ends become exponential ones. Panels are laid outwards from the mode,
    each as long as the slope of the logarithm allows, and cut where a floor bends the density; they end where it has
    fallen by a factor e^75.
    """

    def log_density(z: Any) -> Any:
        y, w = _shares(z, room)
        return p1 * mp.log(l1 + y) + q1 * mp.log(y) + p2 * mp.log(l2 + w) + q2 * mp.log(w) - mp.log(room)

    bends = [mp.mpf(0)] + [mp.log(l1 / room)] * (l1 > 0) + [-mp.log(l2 / room)] * (l2 > 0)
    mode = _mode(log_density, bends)
    terms = []
    for low, high in _panels(log_density, mode, bends):
        for node, weight in RULE:
            z = (low + high) / 2 + (high - low) / 2 * node
            y, w = _shares(z, room)
            terms.append((log_density(z), (high - low) / 2 * weight, *entropy(l1 + y, w)))
    scale = max(term[0] for term in terms)
    weights = [mp.exp(log - scale) * weight for log, weight, _, _ in terms]
    z = mp.fsum(weights)
    mean = mp.fsum(w * term[2] for w, term in zip(weights, terms, strict=True)) / z
    second = (w * ((term[2] - mean) ** 2 + term[3]) for w, term in zip(weights, terms, strict=True))
    return mean, mp.fsum(second) / z, mp.log(z) + scale


def _shares(z: Any, room: Any) -> tuple[Any, Any]:
    """y and w = room - y at a logit z, both with all their digits."""
    small = mp.exp(-abs(z))
    large = 1 / (1 + small)
    return (room * large, room * small * large) if z > 0 else (room * small * large, room * large)


def _slope(log_density: Any, z: Any) -> Any:
    h = mp.mpf(10) ** -12
    return (log_density(z + h) - log_density(z - h)) / (2 * h)


def _mode(log_density: Any, bends: list[Any]) -> Any:
    """The highest of a walk over a wide range, made exact by bisection on the slope."""
    walk = sorted(
        {bend + d for bend in bends for d in range(-60, 61, 3)} | {mp.mpf(d) for d in range(-900, 901, 30)}
    )
    best = max(range(1, len(walk) - 1), key=lambda i: log_density(walk[i]))
    low, high = walk[best - 1], walk[best + 1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(log_density, middle) > 0 else (low, middle)
    return (low + high) / 2


def _panels(log_density: Any, mode: Any, bends: list[Any]) -> list[tuple[Any, Any]]:
    top, h = log_density(mode), mp.mpf(10) ** -9
    curvature = -(log_density(mode + h) - 2 * top + log_density(mode - h)) / h**2
    first = 1 / mp.sqrt(max(curvature, mp.mpf("0.01")))
    cuts = sorted(bend + sign * d for bend in bends for sign in (-1, 1) for d in GRADED)
    panels = []
    for sign in (-1, 1):
        at, width = mode, first
        for _ in range(100_000):
            if log_density(at) < top - 75:
                break
            slope = abs(_slope(log_density, at))
            width = min(2 * width, 4 / slope if slope > 0 else 2 * width)
            ahead = [abs(cut - at) for cut in cuts if sign * (cut - at) > mp.mpf(10) ** -15]
            end = at + sign * min([width, *ahead])
            panels.append((min(at, end), max(at, end)))
            at = end
        else:
            raise ArithmeticError("the panels do not reach the end of the density")
    return panels

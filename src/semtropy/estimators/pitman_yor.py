"""`pitman-yor`: a mixture of Pitman-Yor processes, for an unknown and perhaps unbounded number of meanings.

E. Archer, I. M. Park and J. W. Pillow, "Bayesian entropy estimation for countable discrete distributions", Journal of
Machine Learning Research 15, 2014 (the estimator PYM).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from ..entropy.trigamma import trigamma
from .mixtures import CountsMixture, Posterior, dirichlet_entropies, normalised

if TYPE_CHECKING:
    from .counts import Counts
    from .mixtures import Floats

__all__ = ["PitmanYor"]

# The largest entropy expected before sampling, in nats: as of 10,000 equally likely meanings. With an unbounded prior
# the posterior mean is infinite as long as no meaning was drawn twice.
LARGEST = np.log(10_000.0)
POINTS = (96, 40)  # of the expected entropy, and of the share of it that the discount makes
MARGIN = 30.0  # of the log-weight, below the largest, outside which the grid is not refined
NO_REPEAT = (
    f"no meaning was drawn twice: pitman-yor knows no more than that it expects at most {LARGEST:.1f} nats"
)


@dataclass(frozen=True)
class PitmanYor(CountsMixture):
    """Pitman-Yor processes of concentration alpha and discount d, mixed so that every expected entropy is as likely.

    The prior is flat in the expected entropy h = psi(1 + alpha) - psi(1 - d), up to log 10,000, and
    exp(-10 / (1 - g)) in g = (psi(1) - psi(1 - d)) / h. Counts c_j of N samples and m meanings give the weight
    Gamma(1 + alpha) / Gamma(N + alpha) prod_{i < m} (alpha + i d) prod_j Gamma(c_j - d) / Gamma(1 - d). The
    released code takes that prior for a density in alpha and d, without the Jacobian: 2.244 and 0.393 below.

    >>> from semtropy.nouns import Evidence
    >>> belief = PitmanYor()(Evidence(counts=(2, 2, 4, 1)))
    >>> round(belief.mean, 3), round(belief.variance, 3)
    (1.815, 0.235)
    """

    name: ClassVar[str] = "pitman-yor"

    def posterior(self, counts: Counts) -> Posterior:
        box = np.array([[0.0, LARGEST], [0.0, 1.0]])
        for _ in range(3):
            entropy, share, prior, alpha, discount = _grid(tuple(map(tuple, box.tolist())))
            log_weights = prior + _evidence(counts, alpha, discount)
            near = log_weights > log_weights.max() - MARGIN
            inner = _bounds(entropy, share, near, box)
            if (inner[:, 1] - inner[:, 0] > 0.5 * (box[:, 1] - box[:, 0])).all():
                break
            box = inner
        return Posterior(normalised(log_weights), *_moments(counts, alpha, discount))

    def notes(self, counts: Counts) -> tuple[str, ...]:
        return () if counts[0] > 1 else (NO_REPEAT,)


@lru_cache(maxsize=64)
def _grid(box: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Gauss-Legendre nodes of a box of (h, g), their log-weights under the prior, and the processes they stand for."""
    axes = []
    for (low, high), points in zip(box, POINTS, strict=True):
        nodes, weights = np.polynomial.legendre.leggauss(points)
        axes.append((low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2))
    (h, one), (g, other) = axes
    entropy, share, volume = np.repeat(h, len(g)), np.tile(g, len(h)), np.outer(one, other).ravel()
    return entropy, share, np.log(volume) - 10 / (1 - share), *_parameters(entropy, share)


def _bounds(entropy: Floats, share: Floats, near: Floats, box: Floats) -> Floats:
    """The part of the box that holds the nodes `near` the largest weight, with one more node on each side."""
    found = []
    for values, (low, high) in zip((entropy, share), box, strict=True):
        nodes = np.unique(values)
        inside = np.isin(nodes, values[near])
        first, last = int(inside.argmax()), len(nodes) - 1 - int(inside[::-1].argmax())
        found.append((nodes[first - 1] if first else low, nodes[last + 1] if last + 1 < len(nodes) else high))
    return np.array(found)


def _parameters(entropy: Floats, share: Floats) -> tuple[Floats, Floats]:
    """The concentration and discount of an expected entropy h and a share g of it that the discount makes."""
    gone = digamma(1.0) - entropy * share
    return _inverse_digamma(digamma(1.0) + entropy * (1 - share)) - 1, 1 - _inverse_digamma(gone)


def _inverse_digamma(y: Floats) -> Floats:
    """x > 0 with digamma(x) = y, by Newton's method from Minka's starting point."""
    x: Floats = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (y - digamma(1.0)))
    for _ in range(6):
        x = x - (digamma(x) - y) / trigamma(x)
    return x


def _evidence(counts: Counts, alpha: Floats, discount: Floats) -> Floats:
    """The logarithm of the probability of these counts."""
    log: Floats = gammaln(1 + alpha) - gammaln(sum(counts) + alpha)
    for i in range(1, len(counts)):
        log = log + np.log(alpha + i * discount)
    for count in set(counts):
        log = log + counts.count(count) * (gammaln(count - discount) - gammaln(1 - discount))
    return log


def _moments(counts: Counts, alpha: Floats, discount: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the entropy given the counts, for each process.

    The unseen meanings have a share B ~ Beta(alpha + m d, N - m d) and are PY(alpha + m d, d) among themselves; the
    seen ones are Dirichlet(c_j - d). The entropy is H(B) + (1 - B) Q + B U, with B, Q and U independent.
    """
    n, m = sum(counts), len(counts)
    seen = np.array(counts, dtype=float)[:, None] - discount
    a, b = alpha + m * discount, n - m * discount
    q, spread = dirichlet_entropies(seen, seen)
    q2 = q**2 + spread
    u = digamma(a + 1) - digamma(1 - discount)
    u2 = u**2 + (a + discount) / ((a + 1) ** 2 * (1 - discount))
    u2 += (1 - discount) / (a + 1) * trigamma(2 - discount) - trigamma(2 + a)
    total = a + b
    share, rest = a / total, b / total
    both = share * b / (total + 1)
    share2, rest2 = share * (a + 1) / (total + 1), rest * (b + 1) / (total + 1)
    h, h_share, h_rest, h2 = _binary(a, b)
    mean = h + rest * q + share * u
    second = h2 + rest2 * q2 + share2 * u2 + 2 * (h_rest * q + h_share * u + both * q * u)
    return np.maximum(mean, 0.0), np.maximum(second - mean**2, 0.0)


def _binary(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """E[H(B)], E[H(B) B], E[H(B) (1 - B)] and E[H(B)^2] of the binary entropy, B ~ Beta(a, b)."""
    t = a + b
    share, rest = a / t, b / t
    share2, rest2, both = share * (a + 1) / (t + 1), rest * (b + 1) / (t + 1), share * b / (t + 1)
    log_b, log_r = digamma(a + 1) - digamma(t + 1), digamma(b + 1) - digamma(t + 1)  # under one more of each
    mean = -share * log_b - rest * log_r
    at = digamma(t + 2)
    two_b, two_r = digamma(a + 2) - at, digamma(b + 2) - at
    one_b, one_r = digamma(a + 1) - at, digamma(b + 1) - at
    with_share = -share2 * two_b - both * one_r
    with_rest = -rest2 * two_r - both * one_b
    tail = trigamma(t + 2)
    second = share2 * (two_b**2 + trigamma(a + 2) - tail) + rest2 * (two_r**2 + trigamma(b + 2) - tail)
    second += 2 * both * (one_b * one_r - tail)
    return mean, with_share, with_rest, second

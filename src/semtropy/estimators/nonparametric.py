"""Bayesian estimators from counts alone, `nsb` and `pitman-yor`: mixtures of models with moments in closed form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, gammainc, gammaln

from ..entropy.dirichlet import trigamma
from ..entropy.distribution import mix
from ..errors import InputError
from ..evidence import check_sampled
from ..nouns import Belief, Beliefs, Evidence
from .counts import DEFAULT_SIZE, UNTRAINED_SIZE, Counts, check_size, sorted_counts

if TYPE_CHECKING:
    from ..nouns import Floats


# The distribution of an entropy as a mixture of gamma distributions, from the moments of its components.


SMALLEST = 1e-12  # variance below which a component is taken for a point


@dataclass(frozen=True, eq=False)
class GammaMixture:
    """Components with exact means and variances, each taken to be gamma distributed (an entropy is not negative).

    With few samples the components differ more than each of them is wide, so the shape of one hardly matters.

    weights    of the components, summing to 1
    means      of the components
    variances  of the components

    >>> mixture = GammaMixture(np.array([0.5, 0.5]), np.array([1.0, 2.0]), np.array([0.01, 0.01]))
    >>> mixture.cdf([1.5]).round(3).tolist(), round(mixture.quantile(0.25), 2)
    ([0.5], 1.0)
    """

    weights: Floats
    means: Floats
    variances: Floats

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        x = np.asarray(points, dtype=float)
        if np.isnan(x).any():
            raise InputError("points contains NaN")
        flat = np.maximum(x.ravel(), 0.0)[:, None]
        known = (self.variances <= SMALLEST) | (self.means <= SMALLEST)
        variances = np.where(known, 1.0, self.variances)
        shape, rate = self.means**2 / variances, self.means / variances
        below = np.where(known, flat >= self.means, gammainc(np.where(known, 1.0, shape), rate * flat))
        return np.where(x < 0, 0.0, (below @ self.weights).reshape(x.shape))

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`, to 1e-6 nats."""
        if not 0 <= level <= 1:
            raise InputError(f"level is {level}: it must be a probability from 0 to 1")
        low, high = 0.0, float((self.means + 10 * np.sqrt(self.variances)).max()) + 1e-6
        while high - low > 1e-6:
            inner = np.linspace(low, high, 10)
            reached = self.cdf(inner) >= level
            at = int(reached.argmax()) if reached.any() else len(inner) - 1
            low, high = float(inner[max(at - 1, 0)]), float(inner[at])
            if at == 0:
                return low
        return high


# What Bayesian estimators that see nothing but counts share: a mixture of models, each with moments in closed form.


LARGEST = 10**8  # samples; beyond it the logarithms of gamma functions cancel
NEGLIGIBLE = 1e-9  # weight below which a model is left out of the distribution


class Posterior(NamedTuple):
    """The models of a mixture given the counts: their weights, which sum to 1, and moments of the entropy."""

    weights: Floats
    means: Floats
    variances: Floats


def normalised(log_weights: Floats) -> Floats:
    """exp(log_weights), scaled to sum to 1.

    >>> normalised(np.log([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    raised = np.exp(log_weights - log_weights.max())
    return np.asarray(raised / raised.sum())


def dirichlet_entropies(shape: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the entropy under Dirichlet distributions, one for each column.

    Meanings come in blocks of equal ones: `shape` is the parameter of each meaning in a block, `mass` their sum. In
    closed form (Wolpert and Wolf 1995), from second moments around the mean so that no digits cancel.

    >>> [part.round(6).tolist() for part in dirichlet_entropies(np.array([[1.0]]), np.array([[2.0]]))]
    [[0.5], [0.035022]]
    """
    total = mass.sum(axis=0)
    mean = digamma(total + 1) - (mass * digamma(shape + 1)).sum(axis=0) / total
    off = digamma(shape + 1) - digamma(total + 2) + mean
    inner = mass * (off**2 + 2 * off + 1 / (shape + 1) + (shape + 1) * trigamma(shape + 2))
    spread = (inner.sum(axis=0) + (total / (total + 1)) ** 2) / (total * (total + 1))
    return np.maximum(mean, 0.0), np.maximum(spread - trigamma(total + 2), 0.0)


class CountsMixture(ABC):
    """An estimator with a variance that is a function of the counts, given as `posterior`."""

    name: ClassVar[str]
    has_variance: ClassVar[bool] = True
    uses_answer: ClassVar[bool] = False

    @abstractmethod
    def posterior(self, counts: Counts) -> Posterior:
        """The models and their weights after these counts."""

    def __call__(self, evidence: Evidence) -> Belief:
        counts = _checked_counts(evidence, self.name)
        found = self.posterior(counts)
        kept = found.weights > NEGLIGIBLE
        shares = found.weights[kept] / found.weights[kept].sum()
        distribution = GammaMixture(shares, found.means[kept], found.variances[kept])
        return Belief(*mix(*found), distribution, self.notes(counts))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        found = np.array([_mixed(self, _checked_counts(each, self.name)) for each in evidences]).reshape(
            -1, 2
        )
        return Beliefs(found[:, 0], found[:, 1])

    def notes(self, counts: Counts) -> tuple[str, ...]:
        """Sentences that the belief carries."""
        return ()


def _checked_counts(evidence: Evidence, method: str) -> Counts:
    if evidence.n > LARGEST:
        raise InputError(f"counts sum to {evidence.n:.3g}: {LARGEST:.0e} is the largest number of samples")
    check_sampled(method, evidence)
    return sorted_counts(evidence)


@lru_cache(maxsize=1 << 16)
def _mixed(estimator: CountsMixture, counts: Counts) -> tuple[float, float]:
    """Mean and variance; a study of up to ten samples has no more than 138 different counts."""
    return mix(*estimator.posterior(counts))


# `nsb`: a mixture of Dirichlet priors that expects every entropy equally.
#
# I. Nemenman, F. Shafee and W. Bialek, "Entropy and inference, revisited", Advances in Neural Information Processing
# Systems 14, 2002.


# Evenly spaced log alpha: from a prior that expects one meaning to one that expects equal shares.
LOWEST, HIGHEST, NSB_POINTS = -14.0, 14.0, 400


@dataclass(frozen=True)
class Nsb(CountsMixture):
    """Dirichlet(alpha) over K meanings, alpha with the density K psi_1(K alpha + 1) - psi_1(alpha + 1).

    That density makes the expected entropy uniform. Counts c_j of N samples give alpha the further weight
    Gamma(K alpha) / Gamma(K alpha + N) prod_j Gamma(c_j + alpha) / Gamma(alpha). The integral over log alpha is a sum
    over 400 points. K must come from elsewhere, as for `james-stein`; after one sample the mean is about log(K) / 2.

    size  the number of meanings K; None for 10, with a note

    >>> from semtropy.nouns import Evidence
    >>> beliefs = [Nsb(size)(Evidence(counts=(3, 1, 1))) for size in (5, 20, 100)]
    >>> [(round(each.mean, 4), round(each.variance, 4)) for each in beliefs]
    [(1.2199, 0.073), (1.6491, 0.2985), (1.8366, 0.5148)]
    """

    size: int | None = None
    name: ClassVar[str] = "nsb"

    def __post_init__(self) -> None:
        check_size(self.size)

    def posterior(self, counts: Counts) -> Posterior:
        size = max(self.size or DEFAULT_SIZE, len(counts))
        if size == 1:
            return Posterior(np.ones(1), np.zeros(1), np.zeros(1))
        log_alpha = np.linspace(LOWEST, HIGHEST, NSB_POINTS) - np.log(size) / 2
        alpha = np.exp(log_alpha)
        seen = np.array(counts, dtype=float)[:, None]
        n = seen.sum()
        slope = size * trigamma(size * alpha + 1) - trigamma(alpha + 1)
        evidence = gammaln(size * alpha) - gammaln(size * alpha + n)
        evidence += (gammaln(seen + alpha) - gammaln(alpha)).sum(axis=0)
        with np.errstate(divide="ignore"):
            weights = normalised(np.log(np.maximum(slope, 0.0)) + log_alpha + evidence)
        shape = np.vstack([seen + alpha, alpha])
        mass = np.vstack([seen + alpha, (size - len(counts)) * alpha])
        return Posterior(weights, *dirichlet_entropies(shape, mass))

    def notes(self, counts: Counts) -> tuple[str, ...]:
        return () if self.size else (UNTRAINED_SIZE,)


# `pitman-yor`: a mixture of Pitman-Yor processes, for an unknown and perhaps unbounded number of meanings.
#
# E. Archer, I. M. Park and J. W. Pillow, "Bayesian entropy estimation for countable discrete distributions", Journal of
# Machine Learning Research 15, 2014 (the estimator PYM).


# The largest entropy expected before sampling, in nats: as of 10,000 equally likely meanings. With an unbounded prior
# the posterior mean is infinite as long as no meaning was drawn twice.
LARGEST_ENTROPY = np.log(10_000.0)
PITMAN_YOR_POINTS = (96, 40)  # of the expected entropy, and of the share of it that the discount makes
MARGIN = 30.0  # of the log-weight, below the largest, outside which the grid is not refined
NO_REPEAT = (
    "no meaning was drawn twice: pitman-yor knows no more than that it expects "
    f"at most {LARGEST_ENTROPY:.1f} nats"
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
        box = np.array([[0.0, LARGEST_ENTROPY], [0.0, 1.0]])
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
    for (low, high), points in zip(box, PITMAN_YOR_POINTS, strict=True):
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

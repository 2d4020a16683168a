"""Estimators of one number, from counts or from summed probabilities: equal counts are computed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from ..entropy.inputs import LARGEST_SIZE
from ..errors import InputError
from ..evidence import check_sampled
from ..nouns import Belief, Beliefs, Evidence
from ..numeric_checks import shown

# How often each meaning was drawn, the most frequent first.
Counts = tuple[int, ...]

# The number of meanings K of estimators that need one and were given none.
DEFAULT_SIZE = 10
UNTRAINED_SIZE = f"no number of meanings was given: K = {DEFAULT_SIZE} was taken"


def sorted_counts(evidence: Evidence) -> Counts:
    """The counts of the evidence, the largest first, without those of 0.

    >>> sorted_counts(Evidence(counts=(1, 3, 2)))
    (3, 2, 1)
    """
    return tuple(sorted(filter(None, evidence.counts), reverse=True))


class PointEstimator(ABC):
    """An estimator without a variance, given as `estimate`."""

    name: ClassVar[str]
    has_variance: ClassVar[bool] = False
    uses_answer: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, evidence: Evidence) -> float:
        """The estimate in nats, from evidence with at least one sample."""

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        """Sentences that the belief carries."""
        return ()

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(self._checked(evidence), notes=self.notes(evidence))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return Beliefs(np.array([self._checked(each) for each in evidences], dtype=float), None)

    def _checked(self, evidence: Evidence) -> float:
        check_sampled(self.name, evidence)
        return self.estimate(evidence)


class CountsEstimator(PointEstimator):
    """One that is a function of the counts, given as `entropy`."""

    @abstractmethod
    def entropy(self, counts: Counts) -> float:
        """The estimate in nats."""

    def estimate(self, evidence: Evidence) -> float:
        return _entropy_once(self, sorted_counts(evidence))


@lru_cache(maxsize=1 << 16)
def _entropy_once(estimator: CountsEstimator, counts: Counts) -> float:
    return estimator.entropy(counts)


def check_size(size: object) -> None:
    """Refuse a number of meanings K that is not None or a whole number from 1 to 10^12."""
    if size is not None and not (type(size) is int and 1 <= size <= LARGEST_SIZE):
        raise InputError(
            f"size is {shown(size)}: the number of meanings, a whole number from 1 to {LARGEST_SIZE:g}, or None"
        )


def median_size(sizes: Iterable[int]) -> int:
    """The median number of meanings of training questions, rounded up to 2, 5, 10, 20, 50, 100, ...

    Rounded, so that it hardly depends on which questions they are. At least 2: with K = 1 nothing is uncertain.

    >>> median_size([3, 7, 40])
    10
    """
    ordered = sorted(sizes)
    if not ordered:
        return DEFAULT_SIZE
    steps = (step * int(10**power) for power in count() for step in (1, 2, 5))
    return max(2, next(step for step in steps if step >= ordered[len(ordered) // 2]))


# `histogram`: the entropy of the observed frequencies (discrete semantic entropy).


def plug_in(weights: Sequence[float]) -> float:
    """The entropy of `weights` once they are scaled to sum to 1.

    >>> round(plug_in([3, 1]), 6)
    0.562335
    """
    p = np.asarray(weights, dtype=float)
    p = p[p > 0] / p.sum()
    return max(0.0, float(-(p * np.log(p)).sum()))


class Histogram(PointEstimator):
    """Plug-in entropy of the counts; 0 after one sample, and never more than log n."""

    name = "histogram"

    def estimate(self, evidence: Evidence) -> float:
        return plug_in(evidence.counts)


# `miller-madow`: the entropy of the observed frequencies with Miller and Madow's correction of its bias.
#
# G. A. Miller, "Note on the bias of information estimates", Information Theory in Psychology, 1955.


class MillerMadow(CountsEstimator):
    """H + (m - 1) / (2 N), with H the plug-in entropy of m meanings in N samples; 0 after one sample.

    >>> round(MillerMadow().entropy((3, 1, 1)), 6)
    1.150271
    """

    name: ClassVar[str] = "miller-madow"

    def entropy(self, counts: Counts) -> float:
        return plug_in(counts) + (len(counts) - 1) / (2 * sum(counts))


# `chao-shen`: the entropy of the observed frequencies, corrected for the meanings that were not seen.
#
# A. Chao and T.-J. Shen, "Nonparametric estimation of Shannon's index of diversity when there are unseen species in
# sample", Environmental and Ecological Statistics 10, 2003.


def coverage_adjusted(counts: Counts, coverage: float) -> float:
    """-sum_j a_j log a_j / (1 - (1 - a_j)^N), a_j = coverage c_j / N: a Horvitz-Thompson sum over the meanings seen.

    Each term is divided by the probability that its meaning is seen at all among N samples.

    >>> round(coverage_adjusted((2, 1, 1), coverage=0.5), 6)
    1.76324
    """
    n = sum(counts)
    shares = coverage * np.array(counts, dtype=float) / n
    with np.errstate(divide="ignore"):
        seen = -np.expm1(n * np.log1p(-np.minimum(shares, 1.0)))
    return max(0.0, float(-(shares * np.log(shares) / seen).sum()))


class ChaoShen(CountsEstimator):
    """The coverage is estimated as C = 1 - f1 / N (Good and Turing), f1 being the number of meanings seen once.

    Where every meaning was seen once, f1 counts as N - 1, as in the R package `entropy`. 0 after one sample.

    >>> [round(ChaoShen().entropy(counts), 6) for counts in [(3, 1, 1), (1, 1, 1), (1,)]]
    [1.489525, 2.460487, 0.0]
    """

    name: ClassVar[str] = "chao-shen"

    def entropy(self, counts: Counts) -> float:
        n, once = sum(counts), counts.count(1)
        if n == 1:
            return 0.0
        return coverage_adjusted(counts, 1 - min(once, n - 1) / n)


# `james-stein`: the entropy of the observed frequencies, shrunk towards equal ones.
#
# J. Hausser and K. Strimmer, "Entropy inference and the James-Stein estimator, with application to nonlinear gene
# association networks", Journal of Machine Learning Research 10, 2009.


@dataclass(frozen=True)
class JamesStein(CountsEstimator):
    """The entropy of lam / K + (1 - lam) p over K meanings, p being the observed frequencies.

    lam = (1 - sum p^2) / ((N - 1) sum (1/K - p)^2), clipped to 0 .. 1, minimises the expected squared error of the
    frequencies; 1 after one sample. K must come from elsewhere: a study takes the median number of meanings of its
    training questions, rounded up. More meanings than K raise it.

    size  the number of meanings K; None for 10, with a note

    >>> [round(JamesStein(size).entropy((3, 1, 1)), 6) for size in (5, 20)]
    [1.512954, 2.155117]
    """

    size: int | None = None
    name: ClassVar[str] = "james-stein"

    def __post_init__(self) -> None:
        check_size(self.size)

    def entropy(self, counts: Counts) -> float:
        n = sum(counts)
        size = max(self.size or DEFAULT_SIZE, len(counts))
        p, unseen = np.array(counts) / n, size - len(counts)
        distance = (n - 1) * (float(((1 / size - p) ** 2).sum()) + unseen / size**2)
        lam = min(1.0, (1 - float(p @ p)) / distance) if distance > 0 else 1.0
        shares = lam / size + (1 - lam) * p
        rest = unseen * xlogy(lam / size, lam / size)  # of the meanings without a sample, which are all alike
        return max(0.0, float(-xlogy(shares, shares).sum() - rest))

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return () if self.size else (UNTRAINED_SIZE,)


# `rescaled` and `rescaled-length`: the entropy of summed sequence probabilities, scaled to sum to 1.


LEAST_WEIGHT = 1e-4  # the released code clips below this, so that a rare sequence does not vanish


class Rescaled(PointEstimator):
    """Plug-in entropy of the summed probability of each meaning's distinct strings.

    Evidence in which no sample has a log-probability is refused; with `clip_missing` every such sample gets the least
    weight instead, as very improbable sequences do.

    >>> round(Rescaled()(Evidence(counts=(1, 1), floors=(0.3, 0.1))).mean, 6)
    0.562335
    """

    name = "rescaled"
    column = "samples[].logprob"

    def __init__(self, *, clip_missing: bool = False) -> None:
        self._clip_missing = clip_missing

    def estimate(self, evidence: Evidence) -> float:
        if any(evidence.no_logprob) and not any(evidence.string_floors) and not self._clip_missing:
            raise InputError(
                f"{self.name} needs log-probabilities, and no sample has one: use histogram or bayes"
            )
        return plug_in(np.maximum(evidence.string_floors, LEAST_WEIGHT).tolist())


class RescaledLength(PointEstimator):
    """The same with exp(mean token log-probability) in place of a sequence's probability."""

    name = "rescaled-length"
    column = "samples[].token_logprobs"

    def estimate(self, evidence: Evidence) -> float:
        if evidence.length_weights is None:
            raise InputError(
                "rescaled-length needs token log-probabilities on every sample: use rescaled or bayes"
            )
        return plug_in(np.maximum(evidence.length_weights, LEAST_WEIGHT).tolist())


# `evidential`: the entropy of the probability of the sequences seen, the rest spread evenly over the meanings.
#
# L. Kunitomo-Jacquin et al., "Evidential semantic entropy", EACL 2026, without its hierarchy of one-way entailments:
# each meaning is a set by itself.


SMALLEST_REST = 1e-3  # below it there is no further meaning, as in the released code
NO_PROBABILITIES = "no sample has a log-probability: evidential only sees how many meanings there are"


class Evidential(PointEstimator):
    """The entropy of b_j = l_j + R / (m + 1), with b_0 = R / (m + 1) for a meaning that was not seen.

    l_j is the summed probability of the distinct sequences of meaning j and R = 1 - sum_j l_j. A sample without a
    log-probability leaves its mass in R. Sums above 1 are scaled to 1. One sample is enough to order questions.

    >>> three = Evidence(counts=(3, 1, 1), floors=(0.5, 0.05, 0.02))
    >>> round(Evidential()(three).mean, 6), round(Evidential()(Evidence(counts=(1,), floors=(0.4,))).mean, 6)
    (1.096249, 0.610864)
    """

    name = "evidential"
    column = "samples[].logprob"

    def estimate(self, evidence: Evidence) -> float:
        floors = evidence.floors
        rest = max(0.0, 1 - sum(floors))
        if rest < SMALLEST_REST:
            return plug_in(floors)
        share = rest / (len(floors) + 1)
        return plug_in([*(floor + share for floor in floors), share])

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return () if any(evidence.floors) else (NO_PROBABILITIES,)

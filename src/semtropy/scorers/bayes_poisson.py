"""`bayes-poisson`: the paper's truncated Dirichlet, with the number of meanings Poisson around the first perplexity.

Y. Sun et al., AAAI 2026 (arXiv 2603.22812), without its forced draws: every sample is drawn from the model. All tokens
weigh the same. Two points that the publication leaves open are settled here: alpha is 1, and K is weighted by the
probability of the counts under the truncated prior, labels counted, so that no sample is used twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from ..entropy import moments_batch
from ..entropy.distribution import mix
from ..nouns import Beliefs
from .base import SampleScorer, mean_token_logprobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..evidence import Evidence
    from .base import JudgedRow

__all__ = ["BayesPoisson", "PerplexityEvidence"]

ALPHA = 1.0
FULLEST = 0.99  # as in `bayes-paper`: floors that sum to more are scaled down to it
LARGEST_RATE = 100.0


@dataclass(frozen=True, eq=False, slots=True)
class PerplexityEvidence:
    """The evidence of samples, and the perplexity of each: exp(-mean token log-probability).

    draws         the samples as arrays
    order         the places of those drawn
    perplexities  of all samples
    """

    column: ClassVar[str] = "samples[].token_logprobs"
    draws: Any
    order: tuple[int, ...]
    perplexities: NDArray[np.float64]

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read both, or return None where a sample lacks token log-probabilities (or tokens and a logprob)."""
        means = mean_token_logprobs(row)
        return (
            None
            if means is None
            else cls(row.draws(), tuple(range(means.size)), np.exp(np.minimum(-means, 700.0)))
        )

    def pick(self, order: Sequence[int]) -> Self:
        return replace(self, order=tuple(self.order[at] for at in order))

    @property
    def evidence(self) -> Evidence:
        """The evidence of the samples drawn."""
        found: Evidence = self.draws.evidence(self.order)
        return found

    @property
    def rate(self) -> float:
        """The perplexity of the first sample drawn, at most 100."""
        return min(LARGEST_RATE, float(self.perplexities[self.order[0]]))


class BayesPoisson(SampleScorer):
    """A mixture over K = m, ..., max(m, 3 lambda) of Dirichlet(1) cut off below at the lower bounds.

    p(K | counts) is proportional to Poisson(K; lambda) K! / (K - m)! E[prod_j p_j^c_j], the expectation being over the
    truncated prior. It has a variance; an entropy in nats.

    >>> mean, variance = BayesPoisson.mixture([(2, 1)], [(0.3, 0.05)], [2.0])[0]
    >>> round(mean, 3)
    0.899
    """

    name: ClassVar[str] = "bayes-poisson"
    sees: ClassVar[type[PerplexityEvidence]] = PerplexityEvidence
    unit: ClassVar[str | None] = "nats"

    def __call__(self, drawn: PerplexityEvidence) -> float:
        return float(self.batch([drawn]).mean[0])

    def batch(self, drawn: Sequence[PerplexityEvidence]) -> Beliefs:
        places: dict[tuple[tuple[int, ...], tuple[float, ...], float], int] = {}
        which = []
        for each in drawn:
            evidence = each.evidence
            key = (evidence.counts, evidence.string_floors, each.rate)
            which.append(places.setdefault(key, len(places)))
        counts, floors, rates = zip(*places, strict=True)
        found = np.array(self.mixture(counts, floors, rates))[which]
        return Beliefs(found[:, 0], found[:, 1])

    @staticmethod
    def mixture(
        counts: Sequence[tuple[int, ...]], floors: Sequence[tuple[float, ...]], rates: Sequence[float]
    ) -> list[tuple[float, float]]:
        """Mean and variance for each question's counts, lower bounds and lambda."""
        sizes = [
            np.arange(len(own), max(len(own), int(np.ceil(3 * rate))) + 1.0)
            for own, rate in zip(counts, rates, strict=True)
        ]
        bounds = [np.array(own) * min(1.0, FULLEST / max(sum(own), 1e-300)) for own in floors]
        solved = moments_batch(counts, bounds, sizes, ALPHA, tolerance=1e-7)
        mixed = []
        for k, bound, rate, each in zip(sizes, bounds, rates, solved, strict=True):
            # With alpha = 1 the truncated prior has the mass (1 - sum of the bounds)^(K - 1).
            truncated = (k - 1) * np.log1p(-bound.sum())
            log_weights = k * np.log(rate) - gammaln(k + 1) + each.log_evidence - truncated
            mixed.append(mix(np.exp(log_weights - log_weights.max()), each.mean, each.variance))
        return mixed

"""Scorers that read probabilities, of the judged answer or of the samples, and the naive `length`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from ..entropy import moments_batch
from ..entropy.distribution import mix
from ..nouns import Beliefs

if TYPE_CHECKING:
    from .row import ScorerRow

# Scores of the answer alone, the same whatever was sampled. What they read is there: see `Scorer.missing`.


def log_likelihood(row: ScorerRow) -> float:
    """Minus the log-probability of the low-temperature answer, in nats."""
    return float(-row.logprob)


def g_nll(row: ScorerRow) -> float:
    """Minus the log-probability of the answer at the temperature of the samples, in nats.

    L. Aichberger, K. Schweighofer and S. Hochreiter, "Rethinking uncertainty estimation in natural language
    generation", 2024: the negative log-likelihood of the greedy answer. An answer whose own was not recorded has that
    of the likeliest sample with the same text.
    """
    return float(-row.sampling_logprob)


def p_true(row: ScorerRow) -> float:
    """One minus the probability that the model itself gives to its answer being true (Kadavath et al. 2022)."""
    return float(1.0 - row.p_true)


def length(row: ScorerRow) -> float:
    """The number of characters of the answer, a baseline that any other method should beat."""
    return float(row.length)


# Scores of samples.


def unseen(row: ScorerRow) -> float:
    """1 - sum_j l_j, l_j being the summed probability of the distinct sequences of meaning j.

    The probability of all sequences that were not drawn, as in the perplexity consistency of Zhou et al., NeurIPS 2025:
    a baseline for methods that use probabilities.

    >>> from semtropy.recording import Row
    >>> from semtropy.scorers.row import ScorerRow
    >>> known = {"4": 0.5, "four": 0.07}
    >>> samples = [{"text": text, "meaning": 0, "logprob": float(np.log(p))} for text, p in known.items()]
    >>> round(unseen(ScorerRow.of(Row({"id": "1", "question": "?", "samples": samples}))), 6)
    0.43
    """
    return max(0.0, 1.0 - sum(row.evidence.floors))


def predictive_entropy(row: ScorerRow) -> float:
    """-(1/N) sum_i log p(s_i): unbiased for the entropy of sequences, not of meanings, with a heavy tail.

    A. Malinin and M. Gales, "Uncertainty estimation in autoregressive structured prediction", ICLR 2021.

    >>> from semtropy.scorers.row import ScorerRow
    >>> round(predictive_entropy(ScorerRow(None, None, np.log([0.4, 0.4, 0.1, 0.05, 0.02]))), 6)
    2.208584
    """
    return float(-row.logprobs.mean())


CONSTANT = 5.0  # added by the released code of `kuhn`


def kuhn(row: ScorerRow) -> float:
    """-(1/m) sum_j log sum_{i in j} exp(mean token log-probability of i) + 5, over the m meanings seen.

    L. Kuhn, Y. Gal and S. Farquhar, "Semantic uncertainty: linguistic invariances for uncertainty estimation in natural
    language generation", ICLR 2023, as its released code computes it: the first semantic entropy. Not an entropy: the
    meanings are weighted equally, and a sample drawn twice counts twice in its meaning.

    >>> from semtropy.recording import Row
    >>> from semtropy.scorers.row import ScorerRow
    >>> tokens = [(0, (0.8, 0.5)), (0, (0.8, 0.5)), (0, (0.5, 0.5, 0.4)), (1, (0.2, 0.25)), (2, (0.1, 0.2))]
    >>> samples = [{"text": "a", "meaning": at, "token_logprobs": np.log(each).tolist()} for at, each in tokens]
    >>> round(kuhn(ScorerRow.of(Row({"id": "1", "question": "?", "samples": samples}))), 6)
    5.968765
    """
    top = row.token_logprobs.max()
    meanings = row.meanings
    sums = np.bincount(meanings, np.exp(row.token_logprobs - top))
    seen = np.bincount(meanings) > 0
    with np.errstate(divide="ignore"):  # a meaning far below the likeliest may underflow
        logs = np.maximum(np.log(sums[seen]), -700.0) + top
    return float(CONSTANT - logs.mean())


# `bayes-poisson`: the paper's truncated Dirichlet, with the number of meanings Poisson around the first perplexity.
#
# Y. Sun et al., AAAI 2026 (arXiv 2603.22812), without its forced draws: every sample is drawn from the model. All
# tokens weigh the same. Two points that the publication leaves open are settled here: alpha is 1, and K is weighted by
# the probability of the counts under the truncated prior, labels counted, so that no sample is used twice.

ALPHA = 1.0
FULLEST = 0.99  # as in `bayes-paper`: floors that sum to more are scaled down to it
LARGEST_RATE = 100.0


def bayes_poisson(rows: Sequence[ScorerRow]) -> Beliefs:
    """Mean and variance for each row; equal evidence is solved once."""
    places: dict[tuple[tuple[int, ...], tuple[float, ...], float], int] = {}
    which = []
    for row in rows:
        evidence = row.evidence
        perplexity = float(np.exp(np.minimum(-row.token_logprobs[0], 700.0)))  # of the first sample drawn
        key = (evidence.counts, evidence.string_floors, min(LARGEST_RATE, perplexity))
        which.append(places.setdefault(key, len(places)))
    found = np.array(poisson_mixture(*zip(*places, strict=True)))[which]
    return Beliefs(found[:, 0], found[:, 1])


def poisson_mixture(
    counts: Sequence[tuple[int, ...]], floors: Sequence[tuple[float, ...]], rates: Sequence[float]
) -> list[tuple[float, float]]:
    """Mean and variance for each question's counts, lower bounds and lambda.

    A mixture over K = m, ..., max(m, 3 lambda) of Dirichlet(1) cut off below at the lower bounds: p(K | counts) is
    proportional to Poisson(K; lambda) K! / (K - m)! E[prod_j p_j^c_j], the expectation being over the truncated prior.

    >>> mean, variance = poisson_mixture([(2, 1)], [(0.3, 0.05)], [2.0])[0]
    >>> round(mean, 3)
    0.899
    """
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

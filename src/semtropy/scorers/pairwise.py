"""Scorers that read relations: which of the answers entails or contradicts which, with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..estimators.counts import coverage_adjusted
from ..nouns import Beliefs

if TYPE_CHECKING:
    from ..nouns import Floats
    from .row import ScorerRow


def agreement(row: ScorerRow) -> Floats:
    """W = (E + E^T) / 2 of the samples, repeats included."""
    own = row.entails[np.ix_(row.texts, row.texts)]
    return np.asarray((own + own.T) / 2)


def degree(row: ScorerRow) -> float:
    """The mean of 1 - W over all pairs, a sample agreeing with itself; 0 after one sample.

    Z. Lin, S. Trivedi and J. Sun, "Generating with confidence: uncertainty quantification for black-box large language
    models", Transactions on Machine Learning Research, 2024.

    >>> from semtropy.scorers.row import ScorerRow
    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> round(degree(ScorerRow(None, None, texts=np.arange(3), entails=entails)), 6)
    0.422222
    """
    return float((1 - agreement(row)).mean())


def eigenvalue_sum(weights: Floats) -> Floats:
    """sum_k max(0, 1 - lambda_k) over the eigenvalues of I - D^-1/2 W D^-1/2, for one matrix W or a stack of them.

    Equal to the number of meanings where W is 1 within and 0 between them:

    >>> eigenvalue_sum(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])).round(6).item()
    2.0
    """
    scale = 1 / np.sqrt(weights.sum(axis=-1))
    spread = np.linalg.eigvalsh(weights * scale[..., :, None] * scale[..., None, :])
    return np.asarray(np.maximum(spread, 0.0).sum(axis=-1))


def eigv(rows: Sequence[ScorerRow]) -> Beliefs:
    """The number of meanings as the sum of eigenvalues of the graph of agreement (Lin et al., as `degree`).

    1 after one sample, and for identical ones.

    >>> from semtropy.scorers.row import ScorerRow
    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> rows = [ScorerRow(None, None, texts=np.array(each), entails=entails) for each in ([0, 1, 2], [0, 0, 0])]
    >>> eigv(rows).mean.round(6).tolist()
    [1.812821, 1.0]
    """
    return _stacked(eigenvalue_sum, [agreement(row) for row in rows])


def kle(rows: Sequence[ScorerRow]) -> Beliefs:
    """Kernel language entropy: -tr(K log K) of K = expm(-0.3 L), scaled to a trace of 1 with equal diagonal entries.

    A. Nikitin, J. Kossen, Y. Gal and P. Marttinen, "Kernel language entropy: fine-grained uncertainty quantification
    for LLMs from semantic similarities", NeurIPS 2024. L is the Laplacian of a graph in which the samples are joined by
    weights, 1 for entailment, 1/2 for neutral and 0 for contradiction (the most probable relation), both directions
    added. Not comparable with an entropy of meanings: four identical samples have 0.754147, four unrelated ones log 4.

    >>> from semtropy.scorers.row import ScorerRow
    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> contradicts = np.array([[0, 0.05, 0.7], [0.1, 0, 0.6], [0.8, 0.7, 0]])
    >>> texts = np.arange(3), np.zeros(4, int)
    >>> rows = [ScorerRow(None, None, texts=each, entails=entails, contradicts=contradicts) for each in texts]
    >>> kle(rows).mean.round(6).tolist()
    [0.997216, 0.754147]
    """
    return _stacked(_heat_entropies, [_graph_weights(row) for row in rows])


def _stacked(function: Callable[[Floats], Floats], matrices: Sequence[Floats]) -> Beliefs:
    """The function of each matrix; of all at once where they have one size."""
    if len({each.shape for each in matrices}) == 1:
        return Beliefs(function(np.stack(matrices)), None)
    return Beliefs(np.array([float(function(each)) for each in matrices]), None)


TIME = 0.3
NEUTRAL = 0.5  # the weight of an edge in one direction: 1 where it is entailment, 0 where it is contradiction


def _graph_weights(row: ScorerRow) -> Floats:
    entails, contradicts = row.entails, row.contradicts
    neutral = 1 - entails - contradicts
    one_way = np.where(
        (entails >= neutral) & (entails >= contradicts), 1.0, np.where(neutral >= contradicts, NEUTRAL, 0.0)
    )
    own = (one_way + one_way.T)[np.ix_(row.texts, row.texts)]
    np.fill_diagonal(own, 0.0)
    return np.asarray(own)


def _heat_entropies(weights: Floats) -> Floats:
    """The entropy for one matrix of weights, or for a stack of them."""
    n = weights.shape[-1]
    laplacian = weights.sum(axis=-1)[..., None] * np.eye(n) - weights
    values, vectors = np.linalg.eigh(laplacian)
    kernel = (vectors * np.exp(-TIME * values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    scale = 1 / np.sqrt(np.diagonal(kernel, axis1=-2, axis2=-1))
    shares = np.linalg.eigvalsh(kernel * scale[..., :, None] * scale[..., None, :] / n)
    shares = np.clip(shares, 1e-300, None)
    return np.asarray(np.maximum(-(shares * np.log(shares)).sum(axis=-1), 0.0))


# `alphabet` and `coverage`: M. McCabe et al., "Estimating semantic alphabet size for LLM uncertainty quantification",
# ICLR 2026.


def alphabet_size(counts: tuple[int, ...], eigenvalues: float) -> float:
    """The larger of Good and Turing's m N / (N - f1) and the eigenvalue sum; the sum alone where f1 = N.

    >>> alphabet_size((3, 1, 1), 5.5), alphabet_size((3, 1, 1), 2.0), alphabet_size((1, 1, 1), 2.4)
    (5.5, 5.0, 2.4)
    """
    n, once = sum(counts), counts.count(1)
    return eigenvalues if once == n else max(len(counts) * n / (n - once), eigenvalues)


def alphabet(row: ScorerRow) -> float:
    """The number of meanings, seen or not."""
    return alphabet_size(row.counts, float(eigenvalue_sum(agreement(row))))


def coverage(row: ScorerRow) -> float:
    """Chao and Shen's entropy with a coverage of m / S, S being the size of the alphabet; at most 1."""
    counts = row.counts
    return coverage_adjusted(counts, min(1.0, len(counts) / alphabet(row)))


# Scores that compare the judged answer with the samples.


def semantic_density(row: ScorerRow) -> float:
    """1 - sum_i q_i k_i / sum_i q_i over the distinct texts, q_i = exp(mean token log-probability).

    How little of the samples' probability lies near the judged answer: k_i is one minus the mean over both directions
    of contradiction plus half of neutral. X. Qiu and R. Miikkulainen, "Semantic density: uncertainty quantification for
    large language models through confidence measurement in semantic space", NeurIPS 2024. The published form takes ten
    beams; here the samples are random.

    >>> from semtropy.scorers.row import ScorerRow
    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> contradicts = np.array([[0, 0.05, 0.7], [0.1, 0, 0.6], [0.8, 0.7, 0]])
    >>> logs = np.log([0.632456, 0.464159, 0.223607])
    >>> row = ScorerRow(None, None, None, logs, np.arange(3), entails, contradicts, answer_text=0)
    >>> round(1 - semantic_density(row), 6)
    0.820717
    """
    texts, first = np.unique(row.texts, return_index=True)
    # Contradiction plus half of neutral is (1 - E + C) / 2.
    far = (1 - row.entails + row.contradicts) / 2
    nearness = 1 - (far[row.answer_text, texts] + far[texts, row.answer_text]) / 2
    logs = row.token_logprobs[first]
    weights = np.exp(logs - logs.max())
    return float(1 - (weights @ nearness) / weights.sum())


def cocoa(row: ScorerRow) -> float:
    """-log p(a) mean_i (1 - s(a, s_i)), s being the mean probability of entailment over both directions.

    The answer's surprise times its disagreement with the samples. R. Vashurin et al., "CoCoA: a minimum Bayes risk
    framework bridging confidence and consistency for uncertainty quantification in LLMs", NeurIPS 2025; its form MSP,
    with entailment in place of the published similarity.

    >>> from semtropy.scorers.row import ScorerRow
    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> row = ScorerRow(None, None, texts=np.arange(3), entails=entails, answer_text=0, sampling_logprob=np.log(0.4))
    >>> round(cocoa(row), 6)
    0.320702
    """
    forth, back = row.entails[row.answer_text, row.texts], row.entails[row.texts, row.answer_text]
    return float(-row.sampling_logprob * (1 - (forth + back) / 2).mean())

"""`kle`: kernel language entropy, the von Neumann entropy of a heat kernel over the samples.

A. Nikitin, J. Kossen, Y. Gal and P. Marttinen, "Kernel language entropy: fine-grained uncertainty quantification for
LLMs from semantic similarities", NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..nouns import Beliefs
from .base import SampleScorer
from .related import RelatedSamples

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Kle"]

TIME = 0.3
NEUTRAL = 0.5  # the weight of an edge in one direction: 1 where it is entailment, 0 where it is contradiction


class Kle(SampleScorer):
    """-tr(K log K) of K = expm(-0.3 L), scaled to a trace of 1 with equal diagonal entries.

    L is the Laplacian of a graph in which the samples are joined by weights, 1 for entailment, 1/2 for neutral and 0
    for contradiction (the most probable relation), both directions added. Not comparable with an entropy of meanings:
    four identical samples have 0.754147, four unrelated ones log 4.

    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> contradicts = np.array([[0, 0.05, 0.7], [0.1, 0, 0.6], [0.8, 0.7, 0]])
    >>> drawn = RelatedSamples(np.arange(3), np.arange(3), entails, contradicts)
    >>> round(Kle()(drawn), 6), round(Kle()(drawn.pick([0, 0, 0, 0])), 6)
    (0.997216, 0.754147)
    """

    name: ClassVar[str] = "kle"
    sees: ClassVar[type[RelatedSamples]] = RelatedSamples

    def __call__(self, drawn: RelatedSamples) -> float:
        return float(_entropies(_weights(drawn)))

    def batch(self, drawn: Sequence[RelatedSamples]) -> Beliefs:
        if len({each.texts.size for each in drawn}) != 1:
            return super().batch(drawn)
        return Beliefs(_entropies(np.stack([_weights(each) for each in drawn])), None)


def _weights(drawn: RelatedSamples) -> NDArray[np.float64]:
    entails, contradicts = drawn.entails, drawn.contradicts
    neutral = 1 - entails - contradicts
    one_way = np.where(
        (entails >= neutral) & (entails >= contradicts), 1.0, np.where(neutral >= contradicts, NEUTRAL, 0.0)
    )
    own = (one_way + one_way.T)[np.ix_(drawn.texts, drawn.texts)]
    np.fill_diagonal(own, 0.0)
    return np.asarray(own)


def _entropies(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy for one matrix of weights, or for a stack of them."""
    n = weights.shape[-1]
    laplacian = weights.sum(axis=-1)[..., None] * np.eye(n) - weights
    values, vectors = np.linalg.eigh(laplacian)
    kernel = (vectors * np.exp(-TIME * values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    scale = 1 / np.sqrt(np.diagonal(kernel, axis1=-2, axis2=-1))
    shares = np.linalg.eigvalsh(kernel * scale[..., :, None] * scale[..., None, :] / n)
    shares = np.clip(shares, 1e-300, None)
    return np.asarray(np.maximum(-(shares * np.log(shares)).sum(axis=-1), 0.0))

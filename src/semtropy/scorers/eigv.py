"""`eigv`: the number of meanings as a sum of eigenvalues of the graph of agreement.

Z. Lin, S. Trivedi and J. Sun, "Generating with confidence: uncertainty quantification for black-box large language
models", Transactions on Machine Learning Research, 2024.
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

__all__ = ["EigV", "eigenvalue_sum"]


def eigenvalue_sum(agreement: NDArray[np.float64]) -> NDArray[np.float64]:
    """sum_k max(0, 1 - lambda_k) over the eigenvalues of I - D^-1/2 W D^-1/2, for one matrix W or a stack of them.

    Equal to the number of meanings where W is 1 within and 0 between them:

    >>> eigenvalue_sum(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])).round(6).item()
    2.0
    """
    scale = 1 / np.sqrt(agreement.sum(axis=-1))
    spread = np.linalg.eigvalsh(agreement * scale[..., :, None] * scale[..., None, :])
    return np.asarray(np.maximum(spread, 0.0).sum(axis=-1))


class EigV(SampleScorer):
    """The sum for W = (E + E^T) / 2 of the samples; 1 after one sample, and for identical ones.

    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> drawn = RelatedSamples(np.arange(3), np.arange(3), entails, np.zeros((3, 3)))
    >>> round(EigV()(drawn), 6), round(EigV()(drawn.pick([0, 0, 0])), 6)
    (1.812821, 1.0)
    """

    name: ClassVar[str] = "eigv"
    sees: ClassVar[type[RelatedSamples]] = RelatedSamples

    def __call__(self, drawn: RelatedSamples) -> float:
        return float(eigenvalue_sum(drawn.agreement()))

    def batch(self, drawn: Sequence[RelatedSamples]) -> Beliefs:
        if len({each.texts.size for each in drawn}) != 1:
            return super().batch(drawn)
        return Beliefs(eigenvalue_sum(np.stack([each.agreement() for each in drawn])), None)

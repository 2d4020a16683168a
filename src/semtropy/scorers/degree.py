"""`degree`: the mean disagreement of pairs of samples.

Z. Lin, S. Trivedi and J. Sun, "Generating with confidence: uncertainty quantification for black-box large language
models", Transactions on Machine Learning Research, 2024.
"""

from __future__ import annotations

from typing import ClassVar

from .base import SampleScorer
from .related import RelatedSamples

__all__ = ["Degree"]


class Degree(SampleScorer):
    """The mean of 1 - W over all pairs, W = (E + E^T) / 2 and a sample agreeing with itself; 0 after one sample.

    >>> import numpy as np
    >>> entails = np.array([[1, 0.9, 0.1], [0.8, 1, 0.2], [0.1, 0.1, 1]])
    >>> round(Degree()(RelatedSamples(np.arange(3), np.arange(3), entails, np.zeros((3, 3)))), 6)
    0.422222
    """

    name: ClassVar[str] = "degree"
    sees: ClassVar[type[RelatedSamples]] = RelatedSamples

    def __call__(self, drawn: RelatedSamples) -> float:
        return float((1 - drawn.agreement()).mean())

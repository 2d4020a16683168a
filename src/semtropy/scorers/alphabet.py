"""`alphabet`: the number of meanings, with those that were not seen.

M. McCabe et al., "Estimating semantic alphabet size for LLM uncertainty quantification", ICLR 2026.
"""

from __future__ import annotations

from typing import ClassVar

from .base import SampleScorer
from .eigv import eigenvalue_sum
from .related import RelatedSamples

__all__ = ["Alphabet", "alphabet_size"]


def alphabet_size(counts: tuple[int, ...], eigenvalues: float) -> float:
    """The larger of Good and Turing's m N / (N - f1) and the eigenvalue sum; the sum alone where f1 = N.

    >>> alphabet_size((3, 1, 1), 5.5), alphabet_size((3, 1, 1), 2.0), alphabet_size((1, 1, 1), 2.4)
    (5.5, 5.0, 2.4)
    """
    n, once = sum(counts), counts.count(1)
    return eigenvalues if once == n else max(len(counts) * n / (n - once), eigenvalues)


class Alphabet(SampleScorer):
    """The number of meanings, seen or not.

    >>> import numpy as np
    >>> meanings = np.array([0, 0, 0, 1, 2])
    >>> Alphabet()(RelatedSamples(meanings, meanings, np.eye(3), 1 - np.eye(3)))
    5.0
    """

    name: ClassVar[str] = "alphabet"
    sees: ClassVar[type[RelatedSamples]] = RelatedSamples

    def __call__(self, drawn: RelatedSamples) -> float:
        return alphabet_size(drawn.counts, float(eigenvalue_sum(drawn.agreement())))

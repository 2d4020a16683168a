"""`coverage`: the entropy of the observed frequencies, corrected by the number of meanings seen or not.

M. McCabe et al., "Estimating semantic alphabet size for LLM uncertainty quantification", ICLR 2026.
"""

from __future__ import annotations

from typing import ClassVar

from ..estimators.chao_shen import coverage_adjusted
from .alphabet import alphabet_size
from .base import SampleScorer
from .eigv import eigenvalue_sum
from .related import RelatedSamples

__all__ = ["Coverage"]


class Coverage(SampleScorer):
    """Chao and Shen's entropy with a coverage of m / S, S being the size of the alphabet; at most 1.

    >>> import numpy as np
    >>> meanings = np.array([0, 0, 1, 2])
    >>> round(Coverage()(RelatedSamples(meanings, meanings, np.eye(3), 1 - np.eye(3))), 6)
    1.76324
    """

    name: ClassVar[str] = "coverage"
    sees: ClassVar[type[RelatedSamples]] = RelatedSamples
    unit: ClassVar[str | None] = "nats"

    def __call__(self, drawn: RelatedSamples) -> float:
        counts = drawn.counts
        size = alphabet_size(counts, float(eigenvalue_sum(drawn.agreement())))
        return coverage_adjusted(counts, min(1.0, len(counts) / size))

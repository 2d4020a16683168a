"""`cocoa`: the answer's surprise times its disagreement with the samples.

R. Vashurin et al., "CoCoA: a minimum Bayes risk framework bridging confidence and consistency for uncertainty
quantification in LLMs", NeurIPS 2025; its form MSP, with entailment in place of the published similarity.
"""

from __future__ import annotations

from typing import ClassVar

from .base import SampleScorer
from .related import RelatedAnswer

__all__ = ["Cocoa"]


class Cocoa(SampleScorer):
    """-log p(a) mean_i (1 - s(a, s_i)), s being the mean probability of entailment over both directions.

    >>> import numpy as np
    >>> round(Cocoa()(RelatedAnswer(np.array([1, 0.85, 0.1]), float(np.log(0.4)))), 6)
    0.320702
    """

    name: ClassVar[str] = "cocoa"
    sees: ClassVar[type[RelatedAnswer]] = RelatedAnswer

    def __call__(self, drawn: RelatedAnswer) -> float:
        return float(-drawn.logprob * (1 - drawn.agreement).mean())

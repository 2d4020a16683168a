"""`unseen`: the probability of all sequences that were not drawn, a baseline for methods that use probabilities.

One minus the summed probability of the distinct sequences seen, as in the perplexity consistency of Zhou et al.,
NeurIPS 2025.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from .base import SampleScorer

if TYPE_CHECKING:
    from ..evidence import Evidence
    from .base import JudgedRow

__all__ = ["SampleEvidence", "Unseen"]


@dataclass(frozen=True, slots=True)
class SampleEvidence:
    """The evidence of samples of which at least one has a log-probability."""

    column: ClassVar[str] = "samples[].logprob"
    evidence: Evidence

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Gather the evidence, or return None where no log-probability is known."""
        evidence = row.evidence()
        return cls(evidence) if any(evidence.distinct) else None


class Unseen(SampleScorer):
    """1 - sum_j l_j, l_j being the summed probability of the distinct sequences of meaning j.

    >>> from semtropy import Evidence
    >>> round(Unseen()(SampleEvidence(Evidence(counts=(3, 1, 1), floors=(0.5, 0.05, 0.02)))), 6)
    0.43
    """

    name: ClassVar[str] = "unseen"
    sees: ClassVar[type[SampleEvidence]] = SampleEvidence
    without_replacement: ClassVar[bool] = True

    def __call__(self, drawn: SampleEvidence) -> float:
        return max(0.0, 1.0 - sum(drawn.evidence.floors))

"""`evidential`: the entropy of the probability of the sequences seen, the rest spread evenly over the meanings.

L. Kunitomo-Jacquin et al., "Evidential semantic entropy", EACL 2026, without its hierarchy of one-way entailments:
each meaning is a set by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evidence import check_sampled
from ..nouns import Belief, Beliefs, Evidence
from .histogram import plug_in

__all__ = ["Evidential"]

SMALLEST_REST = 1e-3  # below it there is no further meaning, as in the released code
NO_PROBABILITIES = "no sample has a log-probability: evidential only sees how many meanings there are"


class Evidential:
    """The entropy of b_j = l_j + R / (m + 1), with b_0 = R / (m + 1) for a meaning that was not seen.

    l_j is the summed probability of the distinct sequences of meaning j and R = 1 - sum_j l_j. A sample without a
    log-probability leaves its mass in R. Sums above 1 are scaled to 1. One sample is enough to order questions.

    >>> three = Evidence(counts=(3, 1, 1), floors=(0.5, 0.05, 0.02))
    >>> round(Evidential()(three).mean, 6), round(Evidential()(Evidence(counts=(1,), floors=(0.4,))).mean, 6)
    (1.096249, 0.610864)
    """

    name = "evidential"
    has_variance = False
    uses_answer = False
    without_replacement = True
    column = "samples[].logprob"

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(self._entropy(evidence), notes=() if any(evidence.floors) else (NO_PROBABILITIES,))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return Beliefs(np.array([self._entropy(each) for each in evidences], dtype=float), None)

    def _entropy(self, evidence: Evidence) -> float:
        check_sampled(self.name, evidence)
        return _spread(evidence.floors)


def _spread(floors: tuple[float, ...]) -> float:
    rest = max(0.0, 1 - sum(floors))
    if rest < SMALLEST_REST:
        return plug_in(floors)
    share = rest / (len(floors) + 1)
    return plug_in([*(floor + share for floor in floors), share])

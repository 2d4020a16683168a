"""`histogram`: the entropy of the observed frequencies (discrete semantic entropy)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evidence import check_replacement, check_sampled
from ..nouns import Belief, Beliefs, Evidence

__all__ = ["Histogram", "plug_in"]


def plug_in(weights: Sequence[float]) -> float:
    """The entropy of `weights` once they are scaled to sum to 1.

    >>> round(plug_in([3, 1]), 6)
    0.562335
    """
    p = np.asarray(weights, dtype=float)
    p = p[p > 0] / p.sum()
    return max(0.0, float(-(p * np.log(p)).sum()))


class Histogram:
    """Plug-in entropy of the counts; 0 after one sample, and never more than log n."""

    name = "histogram"
    has_variance = False
    uses_answer = False

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(self._entropy(evidence))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return Beliefs(np.array([self._entropy(each) for each in evidences], dtype=float), None)

    def _entropy(self, evidence: Evidence) -> float:
        check_replacement(self.name, evidence)
        check_sampled(self.name, evidence)
        return plug_in(evidence.counts)

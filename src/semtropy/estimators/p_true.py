"""`p-true`: one minus the probability the model itself gives to its answer being true. Not an entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..nouns import Belief, Beliefs

__all__ = ["PTrue", "PTrueEstimator"]


@dataclass(frozen=True, slots=True)
class PTrue:
    """What this method sees: P(True) of the answer judged."""

    probability: float


class PTrueEstimator:
    """The less the model trusts its own answer, the more suspicious.

    >>> PTrueEstimator()(PTrue(0.75)).mean
    0.25
    """

    name = "p-true"

    def __call__(self, evidence: PTrue) -> Belief:
        return Belief(1.0 - evidence.probability)

    def batch(self, evidences: Sequence[PTrue]) -> Beliefs:
        return Beliefs(np.array([1.0 - e.probability for e in evidences], dtype=float), None)

"""`log-likelihood`: minus the log-probability of the low-temperature answer. Not an entropy, but in nats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..nouns import Belief, Beliefs

__all__ = ["AnswerLikelihood", "LogLikelihood"]


@dataclass(frozen=True, slots=True)
class AnswerLikelihood:
    """What this method sees: the log-probability of the answer judged."""

    logprob: float


class LogLikelihood:
    """The less probable the answer, the more suspicious.

    >>> LogLikelihood()(AnswerLikelihood(-2.5)).mean
    2.5
    """

    name = "log-likelihood"

    def __call__(self, evidence: AnswerLikelihood) -> Belief:
        return Belief(-evidence.logprob)

    def batch(self, evidences: Sequence[AnswerLikelihood]) -> Beliefs:
        return Beliefs(np.array([-e.logprob for e in evidences], dtype=float), None)

"""`rescaled` and `rescaled-length`: the entropy of summed sequence probabilities, scaled to sum to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from ..evidence import check_sampled
from ..nouns import Belief, Beliefs, Evidence
from .histogram import plug_in

__all__ = ["Rescaled", "RescaledLength"]

LEAST_WEIGHT = 1e-4  # the released code clips below this, so that a rare sequence does not vanish


class Rescaled:
    """Plug-in entropy of the summed probability of each meaning's distinct strings.

    Evidence in which no sample has a log-probability is refused; with `clip_missing` every such sample gets the least
    weight instead, as very improbable sequences do.

    >>> round(Rescaled()(Evidence(counts=(1, 1), floors=(0.3, 0.1))).mean, 6)
    0.562335
    """

    name = "rescaled"
    has_variance = False
    uses_answer = False
    without_replacement = True
    column = "samples[].logprob"

    def __init__(self, *, clip_missing: bool = False) -> None:
        self._clip_missing = clip_missing

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(plug_in(np.maximum(self._weights(evidence), LEAST_WEIGHT).tolist()))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return Beliefs(np.array([self(e).mean for e in evidences], dtype=float), None)

    def _weights(self, evidence: Evidence) -> tuple[float, ...]:
        check_sampled(self.name, evidence)
        if any(evidence.no_logprob) and not any(evidence.string_floors) and not self._clip_missing:
            raise InputError(
                f"{self.name} needs log-probabilities, and no sample has one: use histogram or bayes"
            )
        return evidence.string_floors


class RescaledLength:
    """The same with exp(mean token log-probability) in place of a sequence's probability."""

    name = "rescaled-length"
    has_variance = False
    uses_answer = False
    without_replacement = True
    column = "samples[].token_logprobs"

    def __call__(self, evidence: Evidence) -> Belief:
        check_sampled(self.name, evidence)
        if evidence.length_weights is None:
            raise InputError(
                "rescaled-length needs token log-probabilities on every sample: use rescaled or bayes"
            )
        return Belief(plug_in(np.maximum(evidence.length_weights, LEAST_WEIGHT).tolist()))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return Beliefs(np.array([self(e).mean for e in evidences], dtype=float), None)

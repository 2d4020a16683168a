"""`predictive-entropy`: the mean surprise of the samples, an estimate of the entropy of sequences, not of meanings.

A. Malinin and M. Gales, "Uncertainty estimation in autoregressive structured prediction", ICLR 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .base import SampleScorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .base import JudgedRow

__all__ = ["PredictiveEntropy", "SequenceLogprobs"]


@dataclass(frozen=True, eq=False, slots=True)
class SequenceLogprobs:
    """The log-probability of each sample, repeats included."""

    column: ClassVar[str] = "samples[].logprob"
    logprobs: NDArray[np.float64]

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the log-probabilities, or return None where one of them is unknown."""
        known = [sample.logprob for sample in row.samples if sample.logprob is not None]
        return cls(np.array(known)) if known and len(known) == len(row.samples) else None

    def pick(self, order: Sequence[int]) -> Self:
        return type(self)(self.logprobs[np.asarray(order, dtype=np.intp)])


class PredictiveEntropy(SampleScorer):
    """-(1/N) sum_i log p(s_i): unbiased for the entropy of sequences, with a heavy tail.

    >>> round(PredictiveEntropy()(SequenceLogprobs(np.log([0.4, 0.4, 0.1, 0.05, 0.02]))), 6)
    2.208584
    """

    name: ClassVar[str] = "predictive-entropy"
    sees: ClassVar[type[SequenceLogprobs]] = SequenceLogprobs

    def __call__(self, drawn: SequenceLogprobs) -> float:
        return float(-drawn.logprobs.mean())

"""`kuhn`: the first semantic entropy, a mean of log-likelihoods over meanings.

L. Kuhn, Y. Gal and S. Farquhar, "Semantic uncertainty: linguistic invariances for uncertainty estimation in natural
language generation", ICLR 2023, as its released code computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .base import SampleScorer, mean_token_logprobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .base import JudgedRow

__all__ = ["Kuhn", "MeaningLogprobs"]

CONSTANT = 5.0  # added by the released code


@dataclass(frozen=True, eq=False, slots=True)
class MeaningLogprobs:
    """The meaning of each sample and the mean log-probability of its tokens, repeats included."""

    column: ClassVar[str] = "samples[].token_logprobs"
    meanings: NDArray[np.int64]
    logprobs: NDArray[np.float64]

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read both, or return None where a sample lacks token log-probabilities (or tokens and a logprob)."""
        means = mean_token_logprobs(row)
        return None if means is None else cls(np.array(row.partition.meanings), means)

    def pick(self, order: Sequence[int]) -> Self:
        at = np.asarray(order, dtype=np.intp)
        return type(self)(self.meanings[at], self.logprobs[at])


class Kuhn(SampleScorer):
    """-(1/m) sum_j log sum_{i in j} exp(mean token log-probability of i) + 5, over the m meanings seen.

    Not an entropy: the meanings are weighted equally, and a sample drawn twice counts twice in its meaning.

    >>> tokens = [(0.8, 0.5), (0.8, 0.5), (0.5, 0.5, 0.4), (0.2, 0.25), (0.1, 0.2)]
    >>> drawn = MeaningLogprobs(np.array([0, 0, 0, 1, 2]), np.array([np.log(each).mean() for each in tokens]))
    >>> round(Kuhn()(drawn), 6)
    5.968765
    """

    name: ClassVar[str] = "kuhn"
    sees: ClassVar[type[MeaningLogprobs]] = MeaningLogprobs

    def __call__(self, drawn: MeaningLogprobs) -> float:
        top = drawn.logprobs.max()
        sums = np.bincount(drawn.meanings, np.exp(drawn.logprobs - top))
        seen = np.bincount(drawn.meanings) > 0
        with np.errstate(divide="ignore"):  # a meaning far below the likeliest may underflow
            logs = np.maximum(np.log(sums[seen]), -700.0) + top
        return float(CONSTANT - logs.mean())

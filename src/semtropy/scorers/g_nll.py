"""`g-nll`: minus the log-probability of the answer at the temperature of the samples, in nats.

L. Aichberger, K. Schweighofer and S. Hochreiter, "Rethinking uncertainty estimation in natural language generation",
2024: the negative log-likelihood of the greedy answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from .base import JudgedRow

__all__ = ["GNll", "SamplingLikelihood"]


@dataclass(frozen=True, slots=True)
class SamplingLikelihood:
    """The log-probability of the judged answer at the temperature of the samples.

    An answer whose own was not recorded has that of the likeliest sample with the same text.
    """

    column: ClassVar[str] = "answer.sampling_logprob"
    logprob: float

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the answer's log-probability, or return None where it is unknown."""
        logprob = None if row.answer is None else row.judged_sample().sampling_logprob
        return None if logprob is None else cls(logprob)


class GNll:
    """The less probable the answer, the more suspicious. `log-likelihood` is the same at the answer's temperature.

    >>> GNll()(SamplingLikelihood(-2.5))
    2.5
    """

    name = "g-nll"
    sees = SamplingLikelihood
    unit = None

    def __call__(self, judged: SamplingLikelihood) -> float:
        return -judged.logprob

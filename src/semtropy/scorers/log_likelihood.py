"""`log-likelihood`: minus the log-probability of the low-temperature answer, in nats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from .base import JudgedRow

__all__ = ["AnswerLikelihood", "LogLikelihood"]


@dataclass(frozen=True, slots=True)
class AnswerLikelihood:
    """The log-probability of the judged answer at the temperature it was drawn at."""

    column: ClassVar[str] = "answer.logprob"
    logprob: float

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the answer's log-probability, or return None where it is unknown."""
        answer = row.answer
        return None if answer is None or answer.logprob is None else cls(answer.logprob)


class LogLikelihood:
    """The less probable the answer, the more suspicious.

    >>> LogLikelihood()(AnswerLikelihood(-2.5))
    2.5
    """

    name = "log-likelihood"
    sees = AnswerLikelihood
    unit = None

    def __call__(self, judged: AnswerLikelihood) -> float:
        return -judged.logprob

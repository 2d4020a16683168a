"""`length`: the number of characters of the answer, a baseline that any other method should beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from .base import JudgedRow

__all__ = ["AnswerText", "Length"]


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The text of the judged answer."""

    column: ClassVar[str] = "answer.text"
    text: str

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the answer's text, or return None where no answer is judged."""
        return None if row.answer is None else cls(row.answer.text)


class Length:
    """The longer the answer, the more suspicious.

    >>> Length()(AnswerText("Paris"))
    5.0
    """

    name = "length"
    sees = AnswerText
    unit = None

    def __call__(self, judged: AnswerText) -> float:
        return float(len(judged.text))

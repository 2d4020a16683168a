"""The protocols of a scorer, of what it reads, and of the row it is read from."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self, TypeVar

__all__ = ["JudgedRow", "Scorer", "ScorerInput"]

Input = TypeVar("Input", contravariant=True)


class JudgedRow(Protocol):
    """A row of a recording, as far as scorers use it.

    >>> from semtropy.recording import Row
    >>> Row({"id": "1", "question": "2 + 2?", "answer": {"text": "4"}, "samples": []}).answer.text
    '4'
    """

    @property
    def answer(self) -> Any:
        """The judged answer with `text` and `logprob`, or None."""
        ...

    @property
    def p_true(self) -> float | None:
        """The model's own probability that its answer is true."""
        ...


class ScorerInput(Protocol):
    """What a scorer reads: a frozen value.

    `column` is the field of a recording that it is read from.

    >>> from semtropy.scorers import load_scorer
    >>> load_scorer("p-true").sees.column
    'p_true'
    """

    column: ClassVar[str]

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the input from a row, or return None where the row lacks the column."""
        ...


class Scorer(Protocol[Input]):
    """A method that rates one judged answer: the higher the score, the more suspicious.

    >>> from semtropy.scorers import load_scorer
    >>> load_scorer("length").name
    'length'
    """

    name: str
    sees: type[Any]

    def __call__(self, judged: Input) -> float: ...

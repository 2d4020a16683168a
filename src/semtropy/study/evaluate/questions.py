"""A recording boiled down to what a study needs of each question, in the natural_key order of ids.

Texts are dropped once their identities are numbered, so that a thousand questions of a hundred samples
weigh a few megabytes and travel cheaply between processes.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...recording import Draws, Row

__all__ = ["StudyQuestion", "natural_key", "sorted_by_id"]


@dataclass(frozen=True, eq=False, slots=True)
class StudyQuestion:
    """One question: its samples as arrays, if its answer is wrong (None: ungraded), what baselines need."""

    id: str
    wrong: bool | None
    draws: Draws
    answer_length: int | None
    answer_logprob: float | None
    p_true: float | None

    @classmethod
    def of(cls, row: Row) -> StudyQuestion:
        """What a study needs of a recording's row."""
        answer = row.answer
        return cls(
            id=row.id,
            wrong=None if answer is None or answer.correct is None else not answer.correct,
            draws=row.draws(),
            answer_length=None if answer is None else len(answer.text),
            answer_logprob=None if answer is None else answer.logprob,
            p_true=row.p_true,
        )

    @property
    def priced(self) -> bool:
        """Whether the probability of any sample is known. One cut off by a length limit has none, and is unlikely."""
        return bool((self.draws.sequences >= 0).any())


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sorting key that puts "q10" after "q9".

    >>> sorted(["q10", "q9", "2"], key=natural_key)
    ['2', 'q9', 'q10']
    """
    parts = re.split(r"([0-9]+)", text)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)


def sorted_by_id(rows: Iterable[Row], *, path: str | None = None) -> list[Row]:
    """The rows in the natural_key order of their ids, whatever order they came in."""
    ordered = sorted(rows, key=lambda row: natural_key(row.id))
    if not ordered:
        raise RecordingError("the recording holds no questions", path=path)
    for one, other in itertools.pairwise(ordered):
        if one.id == other.id:
            raise RecordingError(f"the id {one.id!r} stands twice: ids tell questions apart", path=path)
    return ordered

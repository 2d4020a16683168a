"""The questions of a recording, reduced to what an evaluation needs and sorted by id.

Texts are dropped once identical sequences are numbered and answers are scored, so a thousand questions with a hundred
samples each take a few megabytes and are cheap to send to another process.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import RecordingError
from ...estimators import required_column
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...recording import Row
    from ...recording.draws import Draws

__all__ = ["StudyQuestion", "natural_key", "sorted_by_id"]


@dataclass(frozen=True, eq=False, slots=True)
class StudyQuestion:
    """One question of a study.

    id             the id of its row
    wrong          whether the judged answer is wrong; None where it has no grade
    draws          its samples as arrays
    answer_scores  the score of the judged answer by each scorer; None where the row lacks the column
    """

    id: str
    wrong: bool | None
    draws: Draws
    answer_scores: Mapping[str, float | None]

    @classmethod
    def of(cls, row: Row) -> StudyQuestion:
        """From a row of a recording."""
        answer = row.answer
        return cls(
            id=row.id,
            wrong=None if answer is None or answer.correct is None else not answer.correct,
            draws=row.draws(),
            answer_scores={name: _answer_score(name, row) for name in SCORERS},
        )

    @property
    def columns(self) -> frozenset[str]:
        """The columns it has besides the texts and meanings of its samples.

        One usable log-probability is enough: a sample cut off by a length limit has none.
        """
        present = {
            "samples[].logprob": bool((self.draws.sequences >= 0).any()),
            "samples[].token_logprobs": self.draws.lengths is not None,
            "answer.meaning": self.draws.answer is not None,
        }
        return frozenset(column for column, there in present.items() if there)

    def lacks_column_of(self, method: str) -> bool:
        """Whether the question lacks the column that an estimator or scorer needs."""
        if method in self.answer_scores:
            return self.answer_scores[method] is None
        column = required_column(method)
        return column is not None and column not in self.columns


def _answer_score(name: str, row: Row) -> float | None:
    scorer = load_scorer(name)
    judged = scorer.sees.of_row(row)
    return None if judged is None else scorer(judged)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that compares runs of digits as numbers, so that "q9" sorts before "q10".

    >>> sorted(["q10", "q9", "2"], key=natural_key)
    ['2', 'q9', 'q10']
    """
    parts = re.split(r"([0-9]+)", text)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)


def sorted_by_id(rows: Iterable[Row], *, path: str | None = None) -> list[Row]:
    """The rows in the natural order of their ids; an empty recording or a repeated id is a `RecordingError`."""
    ordered = sorted(rows, key=lambda row: natural_key(row.id))
    if not ordered:
        raise RecordingError("the recording holds no questions", path=path)
    for one, other in itertools.pairwise(ordered):
        if one.id == other.id:
            raise RecordingError(f"the id {one.id!r} appears twice: ids must be unique", path=path)
    return ordered

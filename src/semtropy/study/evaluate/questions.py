"""The questions of a recording, reduced to what an evaluation needs and sorted by id.

Texts are dropped once identical sequences are numbered and answers are scored, so a thousand questions with a hundred
samples each take a few megabytes and are cheap to send to another process.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...errors import RecordingError
from ...estimators import NAMES, required_column
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer
from ...scorers.base import SampleInput
from ...scorers.related import RelatedSamples
from ...scorers.unseen import SampleEvidence

if TYPE_CHECKING:
    from ...recording import Row
    from ...recording.draws import Draws
    from ...scorers.base import Scorer

__all__ = ["ESTIMATORS", "StudyQuestion", "is_of_answer", "natural_key", "sorted_by_id"]

# What sees evidence alone: the estimators, and the agreement of `bayes`.
ESTIMATORS = ("bayes", "agreement", *NAMES[1:])


@dataclass(frozen=True, eq=False, slots=True)
class StudyQuestion:
    """One question of a study.

    id             the id of its row
    wrong          whether the judged answer is wrong; None where it has no grade
    draws          its samples as arrays
    answer_scores  the score of the judged answer by each scorer of answers; None where the row lacks the column
    inputs         its samples as scorers of samples see them, by input type; None where the row lacks the column
    stored_scores  the scores that other tools stored in the row
    """

    id: str
    wrong: bool | None
    draws: Draws
    answer_scores: Mapping[str, float | None]
    inputs: Mapping[str, SampleInput | None] = field(default_factory=dict)
    stored_scores: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Row, methods: Iterable[str] = SCORERS) -> StudyQuestion:
        """From a row of a recording, with what the scorers among `methods` read."""
        answer = row.answer
        scorers = _scorers(tuple(methods))
        read: list[Any] = [each.sees for each in scorers if issubclass(each.sees, SampleInput)]
        if any(sees.column.startswith(RelatedSamples.column) for sees in read):
            read.append(RelatedSamples)  # tells whether relations or another column is missing
        return cls(
            id=row.id,
            wrong=None if answer is None or answer.correct is None else not answer.correct,
            draws=row.draws(),
            answer_scores={each.name: _answer_score(each, row) for each in scorers if is_of_answer(each)},
            inputs={sees.__name__: sees.of_row(row) for sees in dict.fromkeys(read)},
            stored_scores=row.scores,
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

    @property
    def related(self) -> bool:
        """Whether the relations of all its samples are known."""
        return self.inputs.get(RelatedSamples.__name__) is not None

    def lacks_column_of(self, method: str) -> bool:
        """Whether the question lacks the column that a method needs."""
        if method in self.answer_scores:
            return self.answer_scores[method] is None
        if method in SCORERS:
            sees = load_scorer(method).sees
            if issubclass(sees, SampleInput):
                return self.inputs.get(sees.__name__) is None
            return sees.column not in self.columns
        if method not in ESTIMATORS:
            return method not in self.stored_scores
        column = required_column(method)
        return column is not None and column not in self.columns


@lru_cache(maxsize=16)
def _scorers(methods: tuple[str, ...]) -> tuple[Scorer[Any], ...]:
    return tuple(load_scorer(name) for name in methods if name in SCORERS)


def is_of_answer(scorer: Scorer[Any]) -> bool:
    """Whether a scorer looks at the judged answer alone: not at samples, and not at their evidence."""
    return not issubclass(scorer.sees, SampleInput | SampleEvidence)


def _answer_score(scorer: Scorer[Any], row: Row) -> float | None:
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

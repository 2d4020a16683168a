"""Relations for a whole recording: every pair of a question's first different texts, judged once in both directions.

Pairwise methods (`eigv`, `kle`, `semantic-density` and others) then read the same probabilities, and studies need no
judge. Identical texts are not judged.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..meaning.partition import Tally
from ..recording.relations import Relations
from .judging import JudgingReport, judge_recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ..nouns import Judge
    from ..recording import Row

__all__ = ["FIRST", "RowRelating", "relate_recording", "relate_row"]

FIRST = 20
WINDOW = 16


@dataclass(frozen=True, slots=True)
class RowRelating:
    """The relations of each row's answer and first samples.

    first  the number of samples of a row to relate
    every  also judge rows whose relations hold all of these texts
    """

    first: int = FIRST
    every: bool = False
    column = "relations"
    doing = "relating"
    window = WINDOW

    def __post_init__(self) -> None:
        if self.first < 1:
            raise InputError(
                f"--first is {self.first}: the number of samples of a question to relate, at least 1"
            )

    @property
    def options(self) -> dict[str, Any]:
        """What decides the relations beside the judge."""
        return {"first": self.first}

    def has(self, row: Row) -> bool:
        """Whether the relations of the row hold all of these texts."""
        known = None if self.every else row.relations
        return known is not None and known.places(_texts(row, self.first)) is not None

    def find(self, rows: Iterable[Row], judge: Judge) -> Iterator[tuple[Row, dict[str, Any], Tally]]:
        """The relations of each row; what a window of rows asks is judged together."""
        waiting = iter(rows)
        while window := list(islice(waiting, WINDOW)):
            wanted = [_texts(row, self.first) for row in window]
            triples = [
                (row.question, one, other)
                for row, texts in zip(window, wanted, strict=True)
                for one, other in permutations(texts, 2)
            ]
            ask = getattr(judge, "relations", judge.entails)
            each = iter(np.asarray(ask(triples), dtype=float).reshape(len(triples), -1) if triples else ())
            for row, texts in zip(window, wanted, strict=True):
                own = list(islice(each, len(texts) * (len(texts) - 1)))
                yield row, _matrices(texts, own), Tally(judgements=len(own))

    def valid(self, found: Any) -> bool:
        """Whether these are relations."""
        return isinstance(found, dict) and found.keys() == {"texts", "entails", "contradicts"}

    def fill(self, row: Row, found: dict[str, Any]) -> Row:
        """The row with its relations."""
        return row.replace(relations=found)


def relate_recording(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    judge: Judge,
    *,
    first: int = FIRST,
    every: bool = False,
    watch: Callable[[int], None] | None = None,
) -> JudgingReport:
    """Write the recording `source` to `out` with the relations of each question's answer and `first` samples.

    The options are those of `RowRelating`; `watch` is called with the number of questions done.
    """
    return judge_recording(source, out, judge, RowRelating(first, every), watch=watch)


def relate_row(row: Row, judge: Judge, *, first: int = FIRST) -> Row:
    """The row with the relations of its answer and its first samples.

    >>> from semtropy.meaning import load_judge
    >>> from semtropy.recording import Row
    >>> row = Row({"id": "1", "question": "6 + 6?", "samples": [{"text": "12"}, {"text": "twelve"}, {"text": "7"}]})
    >>> relate_row(row, load_judge("numeric"))["relations"]["entails"]
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    relating = RowRelating(first, every=True)
    [(_, found, _)] = relating.find([row], judge)
    return relating.fill(row, found)


def _texts(row: Row, first: int) -> list[str]:
    """The different texts among the first samples, and the answer's."""
    answer = [] if row.answer is None else [row.answer.text]
    return list(dict.fromkeys([*(sample["text"] for sample in row["samples"][:first]), *answer]))


def _matrices(texts: Sequence[str], answers: Iterable[NDArray[np.float64]]) -> dict[str, Any]:
    """The relations as a row holds them; each answer is entailment alone, or with neutral and contradiction."""
    size = len(texts)
    entails, contradicts = np.eye(size), np.zeros((size, size))
    three = False
    for (i, j), answer in zip(permutations(range(size), 2), answers, strict=True):
        entails[i, j] = answer[0]
        if len(answer) == 3:
            three, contradicts[i, j] = True, answer[2]
    return Relations.to_json(texts, entails, contradicts if three else None)

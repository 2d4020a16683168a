"""Relations for a whole recording: every pair of a question's first different texts, judged once in both directions.

Pairwise methods (`eigv`, `kle`, `semantic-density` and others) then read the same probabilities, and studies need no
judge. Identical texts are not judged.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..recording import Header, open_recording, write_recording
from ..recording.relations import Relations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ..nouns import Judge
    from ..recording import Row

__all__ = ["FIRST", "RelateReport", "relate_recording", "relate_row"]

FIRST = 20
WINDOW = 16


@dataclass(slots=True)
class RelateReport:
    """What relating a recording took: its questions, how many of them had relations before, and the judgements."""

    questions: int = 0
    kept: int = 0
    judgements: int = 0
    hits: int = 0
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """The report as a person reads it."""
        return [
            f"questions         {self.questions:,} ({self.kept:,} had relations)",
            f"judgements        {self.judgements:,}, {self.hits:,} from the cache",
            f"seconds           {self.seconds:.1f}",
        ]


def relate_recording(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    judge: Judge,
    *,
    first: int = FIRST,
    every: bool = False,
    watch: Callable[[int], None] | None = None,
) -> RelateReport:
    """Write the recording `source` to `out` with the relations of each question's answer and `first` samples.

    A question whose relations hold all of these texts is kept as it is, unless `every`. `watch` is called with the
    number of questions done.
    """
    if first < 1:
        raise InputError(f"--first is {first}: the number of samples of a question to relate, at least 1")
    if Path(source).resolve() == Path(out).resolve():
        raise InputError(f"{out}: the output is the input: name another file")
    started, hits = time.monotonic(), getattr(judge, "hits", 0)
    report = RelateReport()
    stream = open_recording(source)
    made = {"judge": str(getattr(judge, "name", type(judge).__name__)), "first": first}
    header = Header({**stream.header.fields, "relations_by": made})

    def rows() -> Iterator[Row]:
        waiting = iter(stream.rows)
        while window := list(islice(waiting, WINDOW)):
            for row in _related(window, judge, first, every, report):
                if watch is not None:
                    watch(report.questions)
                yield row

    write_recording(out, header, rows())
    report.hits, report.seconds = getattr(judge, "hits", 0) - hits, time.monotonic() - started
    return report


def relate_row(row: Row, judge: Judge, *, first: int = FIRST) -> Row:
    """The row with the relations of its answer and its first samples.

    >>> from semtropy.meaning import load_judge
    >>> from semtropy.recording import Row
    >>> row = Row({"id": "1", "question": "6 + 6?", "samples": [{"text": "12"}, {"text": "twelve"}, {"text": "7"}]})
    >>> relate_row(row, load_judge("numeric"))["relations"]["entails"]
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return next(_related([row], judge, first, True, RelateReport()))


def _texts(row: Row, first: int) -> list[str]:
    """The different texts among the first samples, and the answer's."""
    answer = [] if row.answer is None else [row.answer.text]
    return list(dict.fromkeys([*(sample["text"] for sample in row["samples"][:first]), *answer]))


def _related(
    rows: Sequence[Row], judge: Judge, first: int, every: bool, report: RelateReport
) -> Iterator[Row]:
    """The rows with their relations; what all of them ask is judged together."""
    wanted = [_texts(row, first) for row in rows]
    held = [
        None if every or row.relations is None else row.relations.places(texts)
        for row, texts in zip(rows, wanted, strict=True)
    ]
    triples = [
        (row.question, one, other)
        for row, texts, known in zip(rows, wanted, held, strict=True)
        if known is None
        for one, other in permutations(texts, 2)
    ]
    ask = getattr(judge, "relations", judge.entails)
    each = iter(np.asarray(ask(triples), dtype=float).reshape(len(triples), -1) if triples else ())
    report.judgements += len(triples)
    for row, texts, known in zip(rows, wanted, held, strict=True):
        report.questions += 1
        if known is not None:
            report.kept += 1
            yield row
            continue
        own = list(islice(each, len(texts) * (len(texts) - 1)))
        yield row.replace(relations=_matrices(texts, own))


def _matrices(texts: Sequence[str], answers: Iterable[NDArray[np.float64]]) -> dict[str, object]:
    """The relations as a row holds them; each answer is entailment alone, or with neutral and contradiction."""
    size = len(texts)
    entails, contradicts = np.eye(size), np.zeros((size, size))
    three = False
    for (i, j), answer in zip(permutations(range(size), 2), answers, strict=True):
        entails[i, j] = answer[0]
        if len(answer) == 3:
            three, contradicts[i, j] = True, answer[2]
    return Relations.to_json(texts, entails, contradicts if three else None)

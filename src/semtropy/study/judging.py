"""A recording judged row by row and written anew, resumed where it stopped: what `cluster` and `relate` share.

What is done is kept in a journal beside the output. The output appears under its name only when it is complete; then
the journal is deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, RecordingError
from ..files import cannot_write, lock, open_own
from ..meaning.grouping import cluster_many, row_task, with_group_meanings
from ..meaning.partition import MODES, Tally
from ..recording import Header, open_recording, write_recording
from ..recording.arrays import Relations
from ..recording.formats import check_recording_output
from .engines import work_here

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from ..nouns import Judge
    from ..recording import Row
    from .engines import WorkEngine


# What an interrupted `semtropy cluster` or `semtropy relate` had done: one line per question, beside the output.
#
# The first line says what is being done, and with which judge. Each further line has the question's id, a digest of
# the texts that were judged, and what was found. Lines are in the order of the recording. A run takes up those at the
# beginning that are of the very texts it reads, and drops the rest.


def digest_of(row: Row) -> str:
    """A digest of what a judge reads of a question: its text, its answer, and its samples' texts and tokens."""
    answer = None if row.answer is None else row.answer.text
    read = [row.question, answer, [[sample.text, list(sample.tokens or ())] for sample in row.samples]]
    return hashlib.blake2b(json.dumps(read).encode(), digest_size=16).hexdigest()


class JudgingJournal:
    """Findings by question, flushed as they come; a context manager that holds the file open.

    path   the file
    key    what is being done: a journal with another key is started anew
    valid  whether a finding that was read has the right form

    A last line that was cut short is dropped; any other damage is an `InputError` that names the file and line, and so
    is a journal that another process is writing. Memory holds one line.
    """

    def __init__(self, path: Path, key: dict[str, Any], valid: Callable[[Any], bool]) -> None:
        self.path, self.resumed = path, 0
        self._key, self._valid = key, valid
        self._entries, self._finished = 0, False
        self._file: IO[bytes]

    def __enter__(self) -> JudgingJournal:
        try:
            self._file = open_own(self.path)
        except OSError as error:
            raise self._cannot(error) from None
        if not lock(self._file):
            self._file.close()
            raise InputError(f"{self.path}: another process is writing the same output: wait for it to end")
        try:
            whole = self._check()
            self._cut(whole)
            if not whole:
                self._write(self._key)
        except InputError:  # `with` calls `__exit__` only after this method has returned
            with suppress(OSError):
                self._file.close()
            raise
        return self

    def _check(self) -> int:
        """The length of the lines that can be used, in bytes; 0 where they were written for another key."""
        whole = 0
        for place, line in enumerate(iter(self._file.readline, b""), start=1):
            if not line.endswith(b"\n"):
                break  # cut short
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):  # also bytes that are no UTF-8
                raise self._damaged(place) from None
            match entry:
                case _ if place == 1:
                    if entry != self._key:
                        return 0
                case [str(), str(), found] if self._valid(found):
                    self._entries += 1
                case _:
                    raise self._damaged(place)
            whole += len(line)
        return whole

    def _damaged(self, place: int) -> RecordingError:
        return RecordingError(
            "damaged journal of an interrupted run; delete this file to start over",
            path=str(self.path),
            line=place,
        )

    def pending(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows from the first on that has no finding; those before it are counted in `resumed`."""
        waiting = iter(rows)
        self.rewind()
        end = self._file.tell()
        for row in waiting:
            line = self._file.readline()
            if not line or json.loads(line)[:2] != [row.id, digest_of(row)]:
                self._cut(end)
                yield row
                break
            end = self._file.tell()
            self.resumed += 1
        else:
            self._cut(end)
        yield from waiting

    def _cut(self, end: int) -> None:
        self._file.seek(end)
        self._file.truncate()

    def add(self, label: str, digest: str, found: Any) -> None:
        """Keep what was found of the next row: its id, the digest of its texts, and the finding."""
        self._write([label, digest, found])
        self._entries += 1

    def _write(self, entry: Any) -> None:
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._cannot(error) from None

    def _cannot(self, error: OSError) -> RecordingError:
        return RecordingError(cannot_write(error), path=str(self.path))

    def rewind(self) -> None:
        """Go back to the first line, for `finding`."""
        self._file.seek(0)
        self._file.readline()

    def finding(self, row: Row) -> Any:
        """What was found of the row, which is the next one that was judged."""
        line = self._file.readline()
        label, digest, found = json.loads(line) if line else (None, None, None)
        if (label, digest) != (row.id, digest_of(row)):
            raise RecordingError(
                f"question {row.id} changed while it was judged: run the same command again, on a recording that "
                "nothing writes to"
            )
        return found

    def finished(self) -> None:
        """The output is whole: nothing is left to resume, and the file is removed at the end."""
        self._finished = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()  # tries again to write what a full disk did not take
        except OSError as error:
            if kind is None:
                raise self._cannot(error) from None
        finally:
            if self._finished or not self._entries:
                with suppress(OSError):
                    self.path.unlink()


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """What a judge found of one row, as a worker returns it."""

    id: str
    digest: str
    found: Any
    tally: Tally
    hits: int


@dataclass(frozen=True, slots=True)
class JudgingReport:
    """What judging a recording took.

    column     what was found of each row
    questions  all of the recording, of which `resumed` were done by an earlier run and `kept` had findings before
    meanings   the number of meanings found by this run
    tally      how this run found them
    hits       judgements (directions of a pair) found in the cache
    seconds    of this run
    """

    column: str
    questions: int
    resumed: int
    kept: int
    meanings: int
    tally: Tally
    hits: int
    seconds: float

    def lines(self) -> list[str]:
        """The report as a person reads it."""
        tally = self.tally
        grouped = [
            f"samples           {tally.samples:,} in {self.meanings:,} meanings",
            f"  same string     {tally.identical:,}",
            f"  same words      {tally.normalised:,}",
            f"  same amount     {tally.quantities:,}",
            f"judged pairs      {tally.pairs:,}",
        ]
        return [
            f"questions         {self.questions:,} ({self.resumed:,} done before, {self.kept:,} had {self.column})",
            *(grouped if self.column == "meanings" else ()),
            f"judgements        {tally.judgements:,}, {self.hits:,} from the cache",
            f"seconds           {self.seconds:.1f}",
        ]


def judge_recording(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    judge: Judge,
    judging: RowJudging,
    *,
    engine: WorkEngine = work_here,
    load: Callable[[], Judge] | None = None,
    watch: Callable[[int], None] | None = None,
) -> JudgingReport:
    """Write the recording `source` to `out` with what `judge` finds of each row.

    engine  where the rows are judged
    load    loads the same judge where `engine` needs it; without it `judge` itself is used
    watch   called with the number of questions done
    """
    check_recording_output(out, source)
    started = time.monotonic()
    made = {"judge": str(getattr(judge, "name", type(judge).__name__)), **judging.options}
    beside = Path(out).with_name(f".{Path(out).name}.{judging.doing}")
    seen = kept = meanings = hits = 0
    total = Tally()

    def rows_to_judge() -> Iterator[Row]:
        nonlocal seen, kept
        for row in open_recording(source).rows:
            seen += 1
            if judging.has(row):
                kept += 1
            else:
                yield row

    with JudgingJournal(beside, {"version": 2, **made}, judging.valid) as journal:
        work, rows = partial(_judging, load or (lambda: judge), judging), journal.pending(rows_to_judge())
        for done, each in enumerate(engine(work, rows, batch=judging.window), start=1):
            journal.add(each.id, each.digest, each.found)
            total, hits = total + each.tally, hits + each.hits
            if judging.column == "meanings":
                meanings += max(each.found, default=-1) + 1
            if watch is not None:
                watch(done + journal.resumed + kept)
        write_recording(out, *_result(source, journal, judging, made))
        journal.finished()
    return JudgingReport(
        judging.column, seen, journal.resumed, kept, meanings, total, hits, time.monotonic() - started
    )


def _judging(
    load: Callable[[], Judge], judging: RowJudging
) -> Callable[[Iterable[Row]], Iterator[JudgedRow]]:
    """The work of one process, which loads the judge."""
    return partial(_findings, load(), judging)


def _findings(judge: Judge, judging: RowJudging, rows: Iterable[Row]) -> Iterator[JudgedRow]:
    """What the judge finds of each row, in order."""
    count = partial(getattr, judge, "hits", 0)
    before = count()
    for row, found, tally in judging.find(rows, judge):
        yield JudgedRow(row.id, digest_of(row), found, tally, count() - before)
        before = count()


def _result(
    source: str | os.PathLike[str], journal: JudgingJournal, judging: RowJudging, made: dict[str, Any]
) -> tuple[Header, Iterator[Row]]:
    """The header and rows of the output."""
    stream = open_recording(source)
    header = Header({**stream.header.fields, f"{judging.column}_by": made})
    journal.rewind()
    return header, (
        row if judging.has(row) else judging.fill(row, journal.finding(row)) for row in stream.rows
    )


# Meanings for a whole recording: batched across questions, and resumed where it stopped.


@dataclass(frozen=True, slots=True)
class RowGrouping:
    """The grouping of each row's samples, and of its answer, by meaning.

    mode    when two answers are one meaning, as in `cluster`
    every   also group rows whose samples have meanings
    window  the number of rows under way at a time
    """

    mode: str = "strict"
    every: bool = False
    window: int = 64
    column = "meanings"
    doing = "clustering"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"no mode is called {self.mode!r}: choose one of {', '.join(MODES)}")

    @property
    def options(self) -> dict[str, Any]:
        """What decides the meanings beside the judge."""
        return {"mode": self.mode}

    def has(self, row: Row) -> bool:
        """Whether all samples have a meaning; a row with one missing is grouped as a whole."""
        return row.clustered and not self.every

    def find(self, rows: Iterable[Row], judge: Judge) -> Iterator[tuple[Row, list[int], Tally]]:
        """Each row in order, with the meanings of its samples and, last, of its answer, and what they took."""
        for grouped in cluster_many(map(row_task, rows), judge, mode=self.mode, window=self.window):
            yield grouped.label, grouped.meanings, grouped.tally

    def valid(self, found: Any) -> bool:
        """Whether a finding read from a journal has the right form."""
        return isinstance(found, list) and all(type(each) is int and each >= 0 for each in found)

    def fill(self, row: Row, found: list[int]) -> Row:
        """The row with its meanings."""
        return with_group_meanings(row, found)


# Relations for a whole recording: every pair of a question's first different texts, judged once in both directions.
#
# Pairwise methods (`eigv`, `kle`, `semantic-density` and others) then read the same probabilities, and studies need
# no judge. Identical texts are not judged.


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
        """Each row in order, with its relations and what they took; a window of rows is judged together."""
        waiting = iter(rows)
        while window := list(islice(waiting, WINDOW)):
            wanted = [_texts(row, self.first) for row in window]
            triples = [
                (row.question, one, other)
                for row, texts in zip(window, wanted, strict=True)
                for one, other in permutations(texts, 2)
            ]
            ask = getattr(judge, "relation", judge.entails)
            each = iter(np.asarray(ask(triples), dtype=float).reshape(len(triples), -1) if triples else ())
            for row, texts in zip(window, wanted, strict=True):
                own = list(islice(each, len(texts) * (len(texts) - 1)))
                yield row, _matrices(texts, own), Tally(judgements=len(own))

    def valid(self, found: Any) -> bool:
        """Whether a finding read from a journal has the right form."""
        return isinstance(found, dict) and found.keys() == {"texts", "entails", "contradicts"}

    def fill(self, row: Row, found: dict[str, Any]) -> Row:
        """The row with its relations."""
        return row.replace(relations=found)


RowJudging = RowGrouping | RowRelating
"""What is judged of each row: `column` names what is found, `window` is the number of rows that are judged together,
`doing` ends the name of the journal, and `options`, stored in the header, decide the findings beside the judge."""


def _texts(row: Row, first: int) -> list[str]:
    """The different texts among the first samples, and the answer's."""
    answer = [] if row.answer is None else [row.answer.text]
    return list(dict.fromkeys([*(sample["text"] for sample in row["samples"][:first]), *answer]))


def _matrices(texts: Sequence[str], answers: Iterable[NDArray[np.float64]]) -> dict[str, Any]:
    """The relations as a row holds them; each answer is entailment alone, or supports, contradicts, silent."""
    size = len(texts)
    entails, contradicts = np.eye(size), np.zeros((size, size))
    three = False
    for (i, j), answer in zip(permutations(range(size), 2), answers, strict=True):
        entails[i, j] = answer[0]
        if len(answer) == 3:
            three, contradicts[i, j] = True, answer[1]
    return Relations.to_json(texts, entails, contradicts if three else None)

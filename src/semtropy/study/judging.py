"""A recording judged row by row and written anew, resumed where it stopped: what `cluster` and `relate` share.

What is done is kept in a journal beside the output. The output appears under its name only when it is complete; then
the journal is deleted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..meaning.partition import Tally
from ..recording import Header, open_recording, write_recording
from ..recording.formats import check_recording_output
from .engines import work_here
from .journal import JudgingJournal, digest_of

if TYPE_CHECKING:
    from ..nouns import Judge
    from ..recording import Row
    from .engines import WorkEngine

__all__ = ["Finding", "JudgingReport", "RowJudging", "judge_recording"]


class RowJudging(Protocol):
    """What is judged of each row.

    column   what is found of each row: "meanings" or "relations"
    window   the number of rows judged together
    doing    the ending of the journal's name
    options  what decides the findings beside the judge; stored in the header
    """

    @property
    def column(self) -> str: ...
    @property
    def window(self) -> int: ...
    @property
    def doing(self) -> str: ...
    @property
    def options(self) -> dict[str, Any]: ...

    def has(self, row: Row) -> bool:
        """Whether the row has its findings already, and is kept as it is."""
        ...

    def find(self, rows: Iterable[Row], judge: Judge) -> Iterator[tuple[Row, Any, Tally]]:
        """Each row in order, with its finding, a JSON value, and what it took."""
        ...

    def valid(self, found: Any) -> bool:
        """Whether a finding read from a journal has the right form."""
        ...

    def fill(self, row: Row, found: Any) -> Row:
        """The row with its finding."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
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


def _judging(load: Callable[[], Judge], judging: RowJudging) -> Callable[[Iterable[Row]], Iterator[Finding]]:
    """The work of one process, which loads the judge."""
    return partial(_findings, load(), judging)


def _findings(judge: Judge, judging: RowJudging, rows: Iterable[Row]) -> Iterator[Finding]:
    """What the judge finds of each row, in order."""
    count = partial(getattr, judge, "hits", 0)
    before = count()
    for row, found, tally in judging.find(rows, judge):
        yield Finding(row.id, digest_of(row), found, tally, count() - before)
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

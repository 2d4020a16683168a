"""Meanings for a whole recording: batched across questions, and resumed where it stopped.

What is done is kept in a journal beside the output. The output appears under its name only when it is complete; then
the journal is deleted.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..recording import open_recording, write_recording
from .grouping import GroupingTask, cluster_many
from .journal import ClusterJournal
from .partition import MODES, Tally
from .rows import row_task, with_group_meanings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..nouns import Judge
    from ..recording import Header, Row

__all__ = ["ClusterReport", "cluster_recording"]


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What clustering a recording took.

    `questions` counts all of the recording, of which `resumed` were done by an earlier run and `kept` had meanings; the
    other figures are of this run. `hits` are judgements (directions of a pair) found in the cache.
    """

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
        return [
            f"questions         {self.questions:,} ({self.resumed:,} done before, {self.kept:,} had meanings)",
            f"samples           {tally.samples:,} in {self.meanings:,} meanings",
            f"  same string     {tally.identical:,}",
            f"  same words      {tally.normalised:,}",
            f"  same amount     {tally.quantities:,}",
            f"judged pairs      {tally.pairs:,}",
            f"judgements        {tally.judgements:,}, {self.hits:,} from the cache",
            f"seconds           {self.seconds:.1f}",
        ]


def cluster_recording(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    judge: Judge,
    *,
    mode: str = "strict",
    every: bool = False,
    window: int = 64,
    watch: Callable[[int], None] | None = None,
) -> ClusterReport:
    """Write the recording `source` to `out` with a meaning for every sample.

    Questions whose samples all have one are kept as they are, unless `every`; a question with a meaning missing is
    grouped as a whole. `watch` is called with the number of questions done.
    """
    if mode not in MODES:
        raise InputError(f"no mode is called {mode!r}: choose one of {', '.join(MODES)}")
    if Path(source).resolve() == Path(out).resolve():
        raise InputError(f"{out}: the output is the input: name another file")
    started, hits = time.monotonic(), getattr(judge, "hits", 0)
    name = str(getattr(judge, "name", type(judge).__name__))
    with ClusterJournal(Path(out), {"version": 2, "judge": name, "mode": mode}) as journal:
        resumed = kept = made = seen = 0
        total = Tally()

        def tasks() -> Iterator[GroupingTask]:
            nonlocal resumed, kept, seen
            for row in open_recording(source).rows:
                seen += 1
                if row.clustered and not every:
                    kept += 1
                elif journal.meanings(row) is not None:
                    resumed += 1
                else:
                    yield row_task(row)

        for done, grouped in enumerate(cluster_many(tasks(), judge, mode=mode, window=window), start=1):
            journal.add(grouped.label, grouped.meanings)
            total += grouped.tally
            made += max(grouped.meanings, default=-1) + 1
            if watch is not None:
                watch(done + resumed + kept)
        header, rows = _result(source, journal, name, mode)
        write_recording(out, header, rows)
        journal.finished()
    return ClusterReport(
        questions=seen,
        resumed=resumed,
        kept=kept,
        meanings=made,
        tally=total,
        hits=getattr(judge, "hits", 0) - hits,
        seconds=time.monotonic() - started,
    )


def _result(
    source: str | os.PathLike[str], journal: ClusterJournal, judge: str, mode: str
) -> tuple[Header, Iterable[Row]]:
    stream = open_recording(source)
    header = type(stream.header)({**stream.header.fields, "meanings_by": {"judge": judge, "mode": mode}})
    known = ((row, journal.meanings(row)) for row in stream.rows)
    return header, (
        row if meanings is None else with_group_meanings(row, meanings) for row, meanings in known
    )

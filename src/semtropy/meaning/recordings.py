"""Meanings for a whole recording: batched across questions, and resumed where it stopped.

What is done is kept in a journal beside the output, a line a question; the output appears under its name only when
it is whole, and the journal goes.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..recording import open_recording, write_recording
from .grouping import GroupingTask, cluster_many
from .partition import MODES, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..nouns import Judge
    from ..recording import Header, Row

__all__ = ["ClusterReport", "cluster_recording"]


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What clustering a recording took.

    `questions` are all of the recording, of which `resumed` were done by a run before and `kept` had meanings; the
    rest tells of this run. `hits` are judgements (directions of a pair) found in the cache.
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
    with _Journal(Path(out), {"judge": name, "mode": mode, "source": _stamp(Path(source))}) as journal:
        resumed, kept, made, total = len(journal.meanings), 0, 0, Tally()
        seen = [0]

        def tasks() -> Iterator[GroupingTask]:
            nonlocal kept
            for row in open_recording(source).rows:
                seen[0] += 1
                if row.clustered and not every:
                    kept += 1
                elif row.id not in journal.meanings:
                    yield _task(row)

        for grouped in cluster_many(tasks(), judge, mode=mode, window=window):
            journal.add(grouped.label, grouped.meanings)
            total += grouped.tally
            made += max(grouped.meanings, default=-1) + 1
            if watch is not None:
                watch(len(journal.meanings) + kept)
        header, rows = _result(source, journal.meanings, name, mode)
        write_recording(out, header, rows)
        journal.finished()
    return ClusterReport(
        questions=seen[0],
        resumed=resumed,
        kept=kept,
        meanings=made,
        tally=total,
        hits=getattr(judge, "hits", 0) - hits,
        seconds=time.monotonic() - started,
    )


def _task(row: Row) -> GroupingTask:
    samples = row.samples
    return GroupingTask(row.question, [s.text for s in samples], [s.tokens for s in samples], label=row.id)


def _result(
    source: str | os.PathLike[str], meanings: dict[str, list[int]], judge: str, mode: str
) -> tuple[Header, Iterable[Row]]:
    stream = open_recording(source)
    header = type(stream.header)({**stream.header.fields, "meanings_by": {"judge": judge, "mode": mode}})
    rows = (row.with_meanings(meanings[row.id]) if row.id in meanings else row for row in stream.rows)
    return header, rows


def _stamp(source: Path) -> list[int] | None:
    """What tells one state of the input from another; None for a folder, which may have grown."""
    if not source.is_file():
        return None
    state = source.stat()
    return [state.st_size, state.st_mtime_ns]


class _Journal:
    """Meanings by question, a line each, flushed as they come; valid for one judge, mode and input."""

    def __init__(self, out: Path, key: dict[str, Any]) -> None:
        self._path = out.with_name(f".{out.name}.clustering")
        self._key = key
        self.meanings: dict[str, list[int]] = {}

    def __enter__(self) -> _Journal:
        if self._path.is_file():
            self._read()
        try:
            self._file = self._path.open("w", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written: {error.strerror or error}") from None
        self._put(self._key)
        for label, meanings in self.meanings.items():
            self._put([label, meanings])
        return self

    def _read(self) -> None:
        """What a run before this one had done; a last line that was cut short is left out."""
        lines = self._path.read_text("utf-8").splitlines()
        try:
            if not lines or json.loads(lines[0]) != self._key:
                return
            for line in lines[1:]:
                label, meanings = json.loads(line)
                self.meanings[label] = meanings
        except ValueError:
            return

    def add(self, label: str, meanings: list[int]) -> None:
        self.meanings[label] = meanings
        self._put([label, meanings])

    def _put(self, value: Any) -> None:
        self._file.write(json.dumps(value) + "\n")
        self._file.flush()

    def finished(self) -> None:
        """The output is whole: nothing is left to resume."""
        self._path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        self._file.close()

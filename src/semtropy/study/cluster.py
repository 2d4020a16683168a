"""Meanings for a whole recording: batched across questions, and resumed where it stopped."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..meaning.grouping import cluster_many
from ..meaning.partition import MODES
from ..meaning.rows import row_task, with_group_meanings
from .judging import JudgingReport, judge_recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..meaning.partition import Tally
    from ..nouns import Judge
    from ..recording import Row

__all__ = ["RowGrouping", "cluster_recording"]


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
        """The meanings of each row's samples and, last, of its answer."""
        for grouped in cluster_many(map(row_task, rows), judge, mode=self.mode, window=self.window):
            yield grouped.label, grouped.meanings, grouped.tally

    def valid(self, found: Any) -> bool:
        """Whether these are numbers of meanings."""
        return isinstance(found, list) and all(type(each) is int and each >= 0 for each in found)

    def fill(self, row: Row, found: list[int]) -> Row:
        """The row with its meanings."""
        return with_group_meanings(row, found)


def cluster_recording(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    judge: Judge,
    *,
    mode: str = "strict",
    every: bool = False,
    window: int = 64,
    watch: Callable[[int], None] | None = None,
) -> JudgingReport:
    """Write the recording `source` to `out` with a meaning for every sample.

    The options are those of `RowGrouping`; `watch` is called with the number of questions done.
    """
    return judge_recording(source, out, judge, RowGrouping(mode, every, window), watch=watch)

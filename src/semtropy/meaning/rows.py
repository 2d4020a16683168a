"""Rows of a recording with their missing meanings filled in as they are read, for `semtropy score`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ..errors import SemtropyError
from .grouping import GroupingTask, cluster_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..nouns import Judge
    from ..recording import Row

__all__ = ["group_rows", "row_task", "with_group_meanings"]

_TOGETHER = 16  # rows read and grouped together: few, so that the first results come soon


def row_task(row: Row) -> GroupingTask:
    """The samples of a row and, after them, its answer, which has a meaning among theirs."""
    texts, tokens = [s.text for s in row.samples], [s.tokens for s in row.samples]
    if row.answer is not None:
        texts.append(row.answer.text)
        tokens.append(row.answer.tokens)
    return GroupingTask(row.question, texts, tokens, label=row)


def with_group_meanings(row: Row, meanings: Sequence[int]) -> Row:
    """The row with the meanings found for its `row_task`."""
    samples = len(row["samples"])
    return row.with_meanings(meanings[:samples], meanings[samples] if len(meanings) > samples else None)


def group_rows(
    rows: Iterable[Row], judge: Callable[[], Judge], *, watch: Callable[[int], None] | None = None
) -> Iterator[tuple[Row, bool]]:
    """Each row in order, with meanings, and whether they were made here.

    A row of which a sample has no meaning is grouped as a whole. `judge` is called when the first such row comes, and
    `watch` with the number of rows grouped so far. An error in a later row is raised after the rows before it.

    >>> from semtropy.meaning.exact import Exact
    >>> from semtropy.recording import Row
    >>> row = Row({"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}, {"text": "5"}, {"text": "4"}]})
    >>> [(row.meanings, fresh) for row, fresh in group_rows([row], Exact)]
    [((0, 1, 0), True)]
    """
    made, grouped, source = None, 0, iter(rows)
    while True:
        chunk: list[Row] = []
        failure = None
        try:
            for row in islice(source, _TOGETHER):
                chunk.append(row)  # noqa: PERF402  # what comes before a failure is kept
        except SemtropyError as error:
            failure = error
        missing = [row for row in chunk if not row.clustered]
        if missing and made is None:
            made = judge()
        results = cluster_many(map(row_task, missing), made) if missing else iter(())
        for row in chunk:
            if row.clustered:
                yield row, False
                continue
            yield with_group_meanings(row, next(results).meanings), True
            grouped += 1
            if watch is not None:
                watch(grouped)
        if failure is not None:
            raise failure
        if not chunk:
            return

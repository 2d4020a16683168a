"""Drivers of the grouper: one question, or many at once with the judge's batches filled across questions."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SemtropyError
from .partition import PRIOR, Grouper, PairComparison, Tally, Triple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from ..nouns import Floats, Judge, Token
    from ..recording import Row


@dataclass(frozen=True, slots=True)
class GroupingTask:
    """One question's answers to be grouped.

    question  what was asked
    texts     the answers, in the order in which they were sampled
    tokens    the tokens of each answer, where known: equal tokens are one meaning without a judgement
    label     anything; it is handed back with the result

    >>> GroupingTask("What is 6 + 6?", ["12", "Twelve."], label=7).label
    7
    """

    question: str
    texts: Sequence[str]
    tokens: Sequence[Sequence[Token] | None] | None = None
    label: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.texts, str):
            raise InputError("texts is one string: give a list of answers")
        if self.tokens is not None and len(self.tokens) != len(self.texts):
            raise InputError(
                f"tokens has {len(self.tokens)} entries for {len(self.texts)} texts: one per text"
            )


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of one task.

    meanings     the meaning of each answer, numbered in order of first appearance
    tally        how the meanings were found, and what it cost
    label        the label of the task
    comparisons  every pair of answers that the judge or arithmetic compared, in order

    >>> [grouped] = cluster_many([GroupingTask("What is 6 + 6?", ["12", "Twelve.", "13"])], "numeric")
    >>> grouped.meanings, grouped.tally.samples
    ([0, 0, 1], 3)
    """

    meanings: list[int]
    tally: Tally
    label: Any = None
    comparisons: tuple[PairComparison, ...] = ()


def cluster(
    question: str,
    texts: Sequence[str],
    judge: Judge | str | None = None,
    *,
    tokens: Sequence[Sequence[Token] | None] | None = None,
    mode: str = "strict",
    prior: float = PRIOR,
) -> list[int]:
    """The meaning of each answer, numbered in order of first appearance.

    question  what was asked; the judge reads it with the answers
    texts     the answers, in the order in which they were sampled
    judge     a name (`NAMES`) or a judge; None is the built-in one
    tokens    the tokens of each answer, where known
    mode      when two answers are one meaning: "strict", each entails the other; "relaxed", one entails the other
              and neither contradicts the other; "either", one entails the other
    prior     how much the prior odds of joining a meaning count; 0 for a fixed threshold

    >>> texts = ["12", "Twelve.", "13", "12.0"]
    >>> cluster("What is 6 + 6?", texts, "numeric"), cluster("What is 6 + 6?", texts, "exact")
    ([0, 0, 1, 0], [0, 1, 2, 3])
    """
    [grouped] = cluster_many([GroupingTask(question, texts, tokens)], judge, mode=mode, prior=prior)
    return grouped.meanings


def cluster_many(
    tasks: Iterable[GroupingTask],
    judge: Judge | str | None = None,
    *,
    mode: str = "strict",
    prior: float = PRIOR,
    window: int = 64,
) -> Iterator[Grouped]:
    """Group the answers of many questions, in the order of the tasks.

    tasks   the questions with their answers
    judge   a name (`NAMES`) or a judge; None is the built-in one
    mode    as in `cluster`
    prior   as in `cluster`
    window  the number of questions under way at a time

    What one question waits for is judged together with what the others wait for, so that the judge sees full
    batches though each question asks for one pair at a time. The result does not depend on `window`.

    >>> tasks = [GroupingTask("What is 6 + 6?", ["12", "Twelve."]), GroupingTask("Is it?", ["yes", "no"])]
    >>> [grouped.meanings for grouped in cluster_many(tasks, "numeric")]
    [[0, 0], [0, 1]]
    """
    if window < 1:
        raise InputError(f"window is {window}: at least one question at a time")
    judge = _loaded(judge)
    waiting = iter(tasks)
    active: deque[_PendingGrouping] = deque()
    while True:
        while len(active) < window and (task := next(waiting, None)) is not None:
            active.append(_PendingGrouping(task, mode, prior, judge))
        if not active:
            return
        asking = [run for run in active if run.wanted]
        if asking:
            answers = ask(judge, [triple for run in asking for triple in run.wanted], mode)
            for run, part in zip(
                asking, np.split(answers, np.cumsum([len(run.wanted) for run in asking])[:-1]), strict=True
            ):
                run.resume(part)
        while active and active[0].result is not None:
            yield active.popleft().result  # type: ignore[misc]


def ask(judge: Judge, batch: Sequence[Triple], mode: str = "strict") -> Floats:
    """The judge's array for the batch; in mode 'relaxed' all three relations, where the judge knows them."""
    call = getattr(judge, "relation", judge.entails) if mode == "relaxed" else judge.entails
    answers = np.asarray(call(batch), dtype=float)
    if answers.shape[:1] != (len(batch),):
        raise InputError(f"the judge gave {answers.shape} values for {len(batch)} pairs: one per pair")
    return answers


def _loaded(judge: Judge | str | None) -> Judge:
    if judge is None or isinstance(judge, str):
        from .judges import load_judge

        return load_judge(judge)
    if not hasattr(judge, "entails"):
        raise InputError(f"{judge!r} is no judge: it has no method entails(batch)")
    return judge


@dataclass(slots=True)
class _PendingGrouping:
    """A task under way: the generator that groups it, and what it waits for."""

    task: GroupingTask
    mode: str
    prior: float
    judge: Judge
    wanted: list[Triple] = field(default_factory=list)
    result: Grouped | None = None
    _steps: Generator[list[Triple], Floats, Grouped] = field(init=False)

    def __post_init__(self) -> None:
        self._steps = _group(self.task, self.mode, self.prior, self.judge)
        self.resume(None)

    def resume(self, answers: Floats | None) -> None:
        try:
            self.wanted = next(self._steps) if answers is None else self._steps.send(answers)
        except StopIteration as stop:
            self.wanted, self.result = [], stop.value


def _group(
    task: GroupingTask, mode: str, prior: float, judge: Judge
) -> Generator[list[Triple], Floats, Grouped]:
    grouper = Grouper(task.question, judge, mode=mode, prior=prior)
    tokens = task.tokens or [None] * len(task.texts)
    meanings = []
    for text, sequence in zip(task.texts, tokens, strict=True):
        meanings.append((yield from grouper.place(text, sequence)))
    return Grouped(meanings, grouper.tally, task.label, grouper.comparisons)


# Rows of a recording with their missing meanings filled in as they are read, for `semtropy score`.


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

    >>> from semtropy.meaning.judges import Exact
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

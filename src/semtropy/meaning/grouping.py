"""Drivers of the grouper: one question, or many at once with the judge's batches filled across questions."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .partition import PRIOR, Grouper, PairComparison, Tally, Triple, Unlike

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from ..nouns import Floats, Judge, Token

__all__ = ["Grouped", "GroupingTask", "ask", "cluster", "cluster_many"]


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

    >>> cluster("What is 6 + 6?", ["12", "Twelve.", "13", "12.0"], "exact")
    [0, 0, 1, 0]
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
            active.append(_PendingGrouping(task, mode, prior, getattr(judge, "unlike", None)))
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
    call = getattr(judge, "relations", judge.entails) if mode == "relaxed" else judge.entails
    answers = np.asarray(call(batch), dtype=float)
    if answers.shape[:1] != (len(batch),):
        raise InputError(f"the judge gave {answers.shape} values for {len(batch)} pairs: one per pair")
    return answers


def _loaded(judge: Judge | str | None) -> Judge:
    if judge is None or isinstance(judge, str):
        from .registry import load_judge

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
    unlike: Unlike | None
    wanted: list[Triple] = field(default_factory=list)
    result: Grouped | None = None
    _steps: Generator[list[Triple], Floats, Grouped] = field(init=False)

    def __post_init__(self) -> None:
        self._steps = _group(self.task, self.mode, self.prior, self.unlike)
        self.resume(None)

    def resume(self, answers: Floats | None) -> None:
        try:
            self.wanted = next(self._steps) if answers is None else self._steps.send(answers)
        except StopIteration as stop:
            self.wanted, self.result = [], stop.value


def _group(
    task: GroupingTask, mode: str, prior: float, unlike: Unlike | None
) -> Generator[list[Triple], Floats, Grouped]:
    grouper = Grouper(task.question, mode=mode, prior=prior, unlike=unlike)
    tokens = task.tokens or [None] * len(task.texts)
    meanings = []
    for text, sequence in zip(task.texts, tokens, strict=True):
        meanings.append((yield from grouper.place(text, sequence)))
    return Grouped(meanings, grouper.tally, task.label, grouper.comparisons)

"""The sampling stage: a set of questions in, a recording folder out, resumable at any moment."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import ModelError, RecordingError
from ...recording.store import RecordingStore
from .driver import Failed, Finished, QuestionTask
from .prompts import worked_example

if TYPE_CHECKING:
    from pathlib import Path

    from .datasets import Dataset
    from .engines import Engine
    from .requests import GenerationPlan

__all__ = ["GenerationReport", "Progress", "generate", "header_of", "identity_of"]

MAX_FAILURES_IN_ROW = 20  # failures in a row, after which the model is taken for dead
REHEARSED = "p_true.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: questions done of all, and what this session drew."""

    done: int
    total: int
    resumed: int
    samples: int
    tokens: int
    failures: int
    seconds: float
    note: str = ""

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far; None before the first question of this session."""
        fresh = self.done - self.resumed
        return (self.total - self.done) * self.seconds / fresh if fresh else None


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """How a run ended."""

    progress: Progress
    failures: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Whether every question has its row."""
        return self.progress.done == self.progress.total


Watch = Callable[[Progress], None]


def identity_of(
    dataset: Dataset, plan: GenerationPlan, model: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What a resumed run must share with the run it goes on with; how many questions is not part of it."""
    examples = replace(dataset, questions=()).fingerprint
    return {
        "model": model,
        "model_settings": dict(settings),
        "dataset": dataset.name,
        "source": dataset.source,
        "examples": examples,
        "prompt": _digest(asdict(plan.prompt)),
        "temperature": plan.temperature,
        "answer_temperature": plan.answer_temperature,
        "samples": plan.samples,
        "seed": plan.seed,
        "grader": plan.grader,
        "judge": plan.judge,
        "p_true": len(dataset.rehearsals) if plan.p_true is not None else None,
    }


def header_of(
    dataset: Dataset, plan: GenerationPlan, model: str, *, eos_included: bool | None
) -> dict[str, Any]:
    """The first line of the recording."""
    return {
        "semtropy_recording": 1,
        "model": model,
        "dataset": dataset.name,
        "temperature": plan.temperature,
        "eos_included": eos_included,
        "answer_temperature": plan.answer_temperature,
        "source": dataset.source,
        "seed": plan.seed,
        "with_context": plan.prompt.with_context,
        "grader": plan.grader,
    }


def generate(
    dataset: Dataset,
    plan: GenerationPlan,
    engine: Engine,
    folder: str | Path,
    *,
    model: str,
    settings: Mapping[str, Any] | None = None,
    eos_included: bool | None = True,
    watch: Watch | None = None,
) -> GenerationReport:
    """Answer every question of `dataset` that `folder` does not hold yet.

    `plan.p_true` of `()` asks for P(True): its worked examples are rehearsed once and kept in the folder.
    Failed questions are left for the next run and named in the report; a model that fails many in a row is
    taken for dead, and ends the run with what is done safe.
    """
    identity = identity_of(dataset, plan, model, settings or {})
    header = header_of(dataset, plan, model, eos_included=eos_included)
    with RecordingStore(folder, identity=identity, header=header) as store:
        if plan.p_true is not None:
            plan = replace(plan, p_true=_rehearsed(store, dataset, plan, engine))
        return _GenerationRun(store, dataset, watch or (lambda progress: None)).go(engine, plan)


class _GenerationRun:
    """The counting of one session."""

    def __init__(self, store: RecordingStore, dataset: Dataset, watch: Watch) -> None:
        self._store, self._watch = store, watch
        done = store.done
        self._tasks = [
            QuestionTask(q, index) for index, q in enumerate(dataset.questions) if q.id not in done
        ]
        self._total = len(dataset.questions)
        self._resumed = self._total - len(self._tasks)
        self._finished = self._samples = self._tokens = 0
        self._failures: dict[str, str] = {}
        self._began = time.monotonic()

    def go(self, engine: Engine, plan: GenerationPlan) -> GenerationReport:
        self._watch(self.progress())
        in_a_row = 0
        for outcome in engine.run(self._tasks, plan):
            if isinstance(outcome, Failed):
                self._failures[outcome.id] = outcome.reason
                in_a_row += 1
                if in_a_row >= min(MAX_FAILURES_IN_ROW, len(self._tasks)):
                    raise ModelError(self._obituary(in_a_row, outcome.reason))
            else:
                in_a_row = 0
                self._keep(outcome)
            self._watch(self.progress())
        return GenerationReport(self.progress(), dict(self._failures))

    def _keep(self, outcome: Finished) -> None:
        self._store.commit([outcome.row])
        self._finished += 1
        samples = [outcome.row["answer"], *outcome.row["samples"]]
        self._samples += len(samples)
        self._tokens += sum(len(sample.get("tokens", ())) for sample in samples)

    def progress(self) -> Progress:
        return Progress(
            done=self._resumed + self._finished,
            total=self._total,
            resumed=self._resumed,
            samples=self._samples,
            tokens=self._tokens,
            failures=len(self._failures),
            seconds=time.monotonic() - self._began,
        )

    def _obituary(self, failures: int, reason: str) -> str:
        return (
            f"the model failed {failures} questions in a row, the last with: {reason}. "
            f"{self._resumed + self._finished} of {self._total} questions are safe in {self._store.folder}: "
            "run the same command again to go on"
        )


def _rehearsed(
    store: RecordingStore, dataset: Dataset, plan: GenerationPlan, engine: Engine
) -> tuple[str, ...]:
    """The worked examples of P(True): from the folder, or made now and kept there one by one."""
    rows = _recalled(store)
    questions = {question.id: question for question in dataset.rehearsals}
    tasks = [
        QuestionTask(q, index, rehearsal=True)
        for index, q in enumerate(questions.values())
        if q.id not in rows
    ]
    for outcome in engine.run(tasks, plan):
        if isinstance(outcome, Failed):
            raise ModelError(f"the examples of P(True) could not be made: {outcome.reason}")
        rows[outcome.id] = outcome.row
        store.remember(REHEARSED, rows)
    held = ((question, rows[name]) for name, question in questions.items())
    return tuple(
        worked_example(question, row["answer"], row["others"], row["correct"])
        for question, row in held
        if row["correct"] is not None
    )


def _recalled(store: RecordingStore) -> dict[str, Any]:
    """The rehearsals kept in the folder, by id."""
    kept = store.recall(REHEARSED)
    rows = {} if kept is None else kept
    if not isinstance(rows, dict) or not all(map(_is_rehearsal, rows.values())):
        raise RecordingError(
            "not the examples of P(True) that this version keeps (by id: answer, others, correct): go on with the "
            "version the run was begun with, or begin another folder",
            path=str(store.folder / REHEARSED),
        )
    return rows


def _is_rehearsal(row: object) -> bool:
    match row:
        case {"answer": str(), "others": list(others), "correct": bool() | None}:
            return all(isinstance(text, str) for text in others)
    return False


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]

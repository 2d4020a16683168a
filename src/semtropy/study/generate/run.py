"""The generation itself: from a set of questions to a recording folder, resumable after an interruption."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import ModelError, RecordingError
from ...files import cannot_read
from ...recording.store import RecordingStore
from .engines import Failed, Finished, QuestionTask
from .requests import worked_example

if TYPE_CHECKING:
    from pathlib import Path

    from .datasets import Dataset
    from .engines import Engine
    from .requests import GenerationPlan


# The worked examples of P(True): answers to training questions, made once per run and stored in its folder.


FILE = "p_true.json"


def worked_examples(
    store: RecordingStore, dataset: Dataset, plan: GenerationPlan, engine: Engine
) -> tuple[str, ...]:
    """The worked examples of a run: those stored in its folder; missing ones are made and stored one by one."""
    rows = _stored(store)
    questions = {question.id: question for question in dataset.rehearsals}
    tasks = [
        QuestionTask(question, index, rehearsal=True)
        for index, question in enumerate(questions.values())
        if question.id not in rows
    ]
    for outcome in engine.run(tasks, plan):
        if isinstance(outcome, Failed):
            raise ModelError(f"the examples of P(True) could not be made: {outcome.reason}")
        rows[outcome.id] = outcome.row
        store.remember(FILE, rows)
    answered = ((question, rows[name]) for name, question in questions.items())
    return tuple(
        worked_example(question, row["answer"], row["others"], row["correct"])
        for question, row in answered
        if row["correct"] is not None
    )


def _stored(store: RecordingStore) -> dict[str, Any]:
    """The answers stored in the folder, by question id."""
    path = str(store.folder / FILE)
    try:
        stored = store.recall(FILE)
    except OSError as error:
        raise RecordingError(cannot_read(error), path=path) from None
    rows = {} if stored is None else stored
    if not isinstance(rows, dict) or not all(map(_is_answered, rows.values())):
        raise RecordingError(
            "does not hold the examples of P(True) in the format of this version (by id: answer, others, correct): "
            "continue with the version that began the run, or choose another folder",
            path=path,
        )
    return rows


def _is_answered(row: object) -> bool:
    match row:
        case {"answer": str(), "others": list(others), "correct": bool() | None}:
            return all(isinstance(text, str) for text in others)
    return False


MAX_FAILURES_IN_ROW = 20  # then the run ends: the model no longer answers


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    done      questions stored
    total     questions in all
    resumed   of those done, the ones stored by earlier sessions
    samples   samples drawn in this session
    tokens    tokens drawn in this session
    failures  questions that failed in this session
    seconds   since the session began
    """

    done: int
    total: int
    resumed: int
    samples: int
    tokens: int
    failures: int
    seconds: float

    @property
    def seconds_left(self) -> float | None:
        """Estimated from the rate so far; None before the first question of this session."""
        fresh = self.done - self.resumed
        return (self.total - self.done) * self.seconds / fresh if fresh else None


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """How a session ended: its progress, and the reason of each failure by question id."""

    progress: Progress
    failures: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Whether every question is stored."""
        return self.progress.done == self.progress.total


ProgressWatch = Callable[[Progress], None]


def run_identity(
    dataset: Dataset,
    plan: GenerationPlan,
    model: str,
    settings: Mapping[str, Any],
    endpoint: str | None = None,
) -> dict[str, Any]:
    """Everything a resumed run must share with the run it continues; the number of questions may differ."""
    examples = replace(dataset, questions=()).fingerprint
    return {
        "model": model,
        "model_settings": {key: value for key, value in settings.items() if key != "api_key"},
        **({} if endpoint is None else {"endpoint": endpoint}),
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


def recording_header(
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
    endpoint: str | None = None,
    eos_included: bool | None = None,
    watch: ProgressWatch | None = None,
) -> GenerationReport:
    """Answer every question of `dataset` that is not stored in `folder` yet.

    dataset       the questions and examples
    plan          how each is answered; with `p_true=()` the worked examples of P(True) are made first and stored
    engine        where they are answered
    folder        the recording; a folder of another run is refused
    model         the name of the model, for the header
    settings      options of the model, part of the identity of the run; a key is not stored
    endpoint      the address that is asked, part of the identity too; None for a model in this process
    eos_included  whether log-probabilities include the end token; None finds it out from the first answers
    watch         called with the progress after each question

    Failed questions are named in the report and left for the next run. After 20 failures in a row the run ends with a
    `ModelError`; finished questions stay stored.

    Returns:
        a report with `complete`, the `progress`, and the reason of each of the `failures` by question id.

    >>> import tempfile
    >>> from semtropy.models import ScriptedModel
    >>> from semtropy.study.generate import GenerationPlan, load_dataset, load_engine
    >>> engine = load_engine("local", lambda: ScriptedModel(default={"29": 0.9, "30": 0.1}))
    >>> questions, plan = load_dataset("facts", limit=3), GenerationPlan(samples=5)
    >>> report = generate(questions, plan, engine, tempfile.mkdtemp(), model="scripted")
    >>> report.complete, report.progress.done
    (True, 3)
    """
    identity = run_identity(dataset, plan, model, settings or {}, endpoint)
    header = recording_header(dataset, plan, model, eos_included=eos_included)
    with RecordingStore(folder, identity=identity, header=header) as store:
        if plan.p_true is not None:
            plan = replace(plan, p_true=worked_examples(store, dataset, plan, engine))
        return _GenerationRun(store, dataset, watch or (lambda progress: None)).go(engine, plan)


class _GenerationRun:
    """One session of a run, and its counts."""

    def __init__(self, store: RecordingStore, dataset: Dataset, watch: ProgressWatch) -> None:
        self._store, self._watch = store, watch
        self._tasks = [
            QuestionTask(q, index)
            for index, q in enumerate(dataset.questions)
            if not store.check_question(
                {"id": q.id, "question": q.text, "context": q.context, "references": q.references}
            )
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
                    raise ModelError(self._many_failures(in_a_row, outcome.reason))
            else:
                in_a_row = 0
                self._keep(outcome)
            self._watch(self.progress())
        return GenerationReport(self.progress(), dict(self._failures))

    def _keep(self, outcome: Finished) -> None:
        if self._store.header.get("eos_included") is None:
            found = end_counted(outcome.row["samples"])
            if found is not None:
                self._store.amend_header(eos_included=found)
        self._store.commit([outcome.row])
        self._finished += 1
        samples = [outcome.row["answer"], *outcome.row["samples"]]
        self._samples += len(samples)
        self._tokens += sum(sample.get("token_count", len(sample.get("tokens", ()))) for sample in samples)

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

    def _many_failures(self, failures: int, reason: str) -> str:
        reason += "" if reason.endswith((".", "?")) else "."
        return (
            f"the model failed {failures} questions in a row, the last with: {reason} "
            f"{self._resumed + self._finished} of {self._total} questions are stored in {self._store.folder}: "
            "run the same command again to continue"
        )


def end_counted(samples: Sequence[Mapping[str, Any]]) -> bool | None:
    """Whether the log-probabilities of these samples include the end token; None where they have none.

    An answer whose tokens are weighed, but not the whole of it, lacks its end.

    >>> end_counted([{"text": "Paris", "token_logprobs": [-0.1]}]), end_counted([{"text": "Paris", "logprob": -0.1}])
    (False, True)
    """
    whole = [sample for sample in samples if sample.get("complete", True)]
    if any(sample.get("logprob") is not None for sample in whole):
        return True
    return False if any(sample.get("token_logprobs") for sample in whole) else None


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]

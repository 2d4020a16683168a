"""The worked examples of P(True): answers to training questions, made once per run and stored in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ModelError, RecordingError
from .driver import Failed, QuestionTask
from .prompts import worked_example

if TYPE_CHECKING:
    from ...recording.store import RecordingStore
    from .datasets import Dataset
    from .engines import Engine
    from .requests import GenerationPlan

__all__ = ["FILE", "worked_examples"]

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
        raise RecordingError(f"cannot be read: {error.strerror or error}", path=path) from None
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

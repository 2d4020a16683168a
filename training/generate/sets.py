"""Closed sets written by hand: members of one kind answer one question and never mean the same.

Split by member, so that held-out names were never told apart in training.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out
from .members import SETS
from .wording import say

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

SOURCE = "sets"
RELATED = Path(__file__).parents[1] / "related.jsonl"


def pairs(rng: random.Random, *, test: bool, count: int) -> Iterator[Pair]:
    """`count` draws of a set, a question and two members; as many of one member in two wordings."""
    asked = _asked()
    kept = {
        kind: [name for name in names if (held_out(name) or _bare(name) in asked) == test]
        for kind, (_, names, _) in SETS.items()
    }
    kinds = [kind for kind, names in kept.items() if len(names) > 1]
    for _ in range(count):
        kind = rng.choice(kinds)
        questions, _, frames = SETS[kind]
        question = rng.choice(questions) if rng.random() < 0.8 else ""
        one, two = rng.sample(kept[kind], 2)
        yield from both(SOURCE, question, _say(one, frames, rng), _say(two, frames, rng), CONTRADICTION)
        told = _say(one, frames, rng), _say(one, frames, rng)
        if told[0] != told[1]:
            yield from both(SOURCE, question, told[0], told[1], ENTAILMENT)


def _asked() -> set[str]:
    """The names that related.jsonl asks about."""
    rows = [json.loads(line) for line in RELATED.read_text("utf-8").splitlines()]
    return {_bare(row[side]) for row in rows for side in "ab"}


def _bare(name: str) -> str:
    """The name without an article, in lower case."""
    lower = name.lower()
    return next(
        (lower.removeprefix(start) for start in ("the ", "a ", "an ") if lower.startswith(start)), lower
    )


def _say(name: str, frames: tuple[str, ...], rng: random.Random) -> str:
    return rng.choice(frames).format(name) if rng.random() < 0.3 else say(name, rng)

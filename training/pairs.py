"""One training example, and the split that keeps a third of every source for testing."""

from __future__ import annotations

import hashlib
import json
import lzma
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# In the order of the network's outputs: supports, contradicts, silent. The last is no output: not supported, and it is
# unknown which of the other two.
ENTAILMENT, CONTRADICTION, NEUTRAL, NOT_ENTAILMENT = range(4)
LABELS = {"entailment": ENTAILMENT, "neutral": NEUTRAL, "contradiction": CONTRADICTION}


class Pair(NamedTuple):
    """Does `a` entail `b` as an answer to `question` ("" for none)?"""

    source: str
    question: str
    a: str
    b: str
    label: int


def both(source: str, question: str, a: str, b: str, label: int) -> list[Pair]:
    """The same label in both directions."""
    return [Pair(source, question, a, b, label), Pair(source, question, b, a, label)]


def one_way(source: str, question: str, specific: str, general: str) -> list[Pair]:
    """The specific entails the general and not the other way round."""
    return [
        Pair(source, question, specific, general, ENTAILMENT),
        Pair(source, question, general, specific, NEUTRAL),
    ]


def side_of(question: str) -> str:
    """The side of the split a question is on: two thirds train, and of the rest half tune and half test.

    >>> [side_of(question) for question in ("paris", "rome", "oslo", "bern")]
    ['test', 'tune', 'train', 'train']
    """
    if not held_out(question):
        return "train"
    digest = hashlib.blake2b(question.casefold().encode(), digest_size=4).digest()
    return "tune" if digest[1] % 2 else "test"


def held_out(item: str) -> bool:
    """Whether an item (an entity, a premise, a question) is in the third kept for testing.

    >>> [held_out(item) for item in ("paris", "rome", "oslo", "bern")]
    [True, True, False, False]
    """
    return hashlib.blake2b(item.casefold().encode(), digest_size=4).digest()[0] % 3 == 0


def write(path: Path, pairs: Iterable[Pair]) -> int:
    """Pairs as compressed JSON lines; how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with lzma.open(path, "wt", encoding="utf-8", preset=4) as file:
        for count, pair in enumerate(pairs, start=1):  # noqa: B007
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
    return count


def read(path: Path) -> list[Pair]:
    """What `write` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [Pair(*json.loads(line)) for line in file]

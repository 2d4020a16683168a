"""Answers and claims that were written for this training, and what is learnt from them.

`written/answers.jsonl.xz` has for each question wordings of one answer (`same`), answers that exclude it (`no`), some
that differ and could be right as well (`beside`), and close paraphrases of its wordings with their places (`close`).
A question about something that does not exist has made-up answers instead, no two of which mean the same (`apart`).
`written/claims.jsonl.xz` has passages with claims that they support ("s"), contradict ("c") or leave open ("n").
`written/sampled.jsonl.xz` has answers (`texts`) that a model of 1.5 billion parameters gave when asked several times,
with the number of each one's meaning (`meanings`), None where it has no sense or is hard to tell.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from itertools import permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .sources.passages import nearest

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

FOLDER = Path(__file__).with_name("written")
ANSWERS, CLAIMS, SAMPLED = (FOLDER / f"{name}.jsonl.xz" for name in ("answers", "claims", "sampled"))
_WORD = re.compile(r"\w+")
_SMALL = """
a an the is are was were do does did can could what why how who when where which i my you your to of in on for and or it
its be with from at by that this there have has not one
"""
_COMMON = frozenset(_SMALL.split())
_SAME = (0.97, 0.01, 0.02)
_DIFFERENT = (0.0, 0.92, 0.08)
_APART = (0.01, 0.6, 0.39)
_OPENINGS = (
    "Sure! {}", "Great question! {}", "Short answer: {}", "As far as I know, {}", "I think, {}", "In short, {}",
    "Basically, {}", "{} I hope that helps!", "**Answer:** {}", "Well, {}",
    "{} Let me know if you have more questions.",
)  # fmt: skip
_LOWERED = frozenset({
    "Because", "The", "A", "An", "It", "It's", "They", "There", "You", "Yes", "No", "In", "By", "To", "From", "With",
    "Its", "This", "That", "If", "Use",
})  # fmt: skip
OPEN = ("apart", "sampled-other")
_RELATIONS = {"s": (0.97, 0.01, 0.02), "c": (0.02, 0.95, 0.03), "n": (0.03, 0.07, 0.9)}


class Example(NamedTuple):
    """A pair with the three probabilities to learn; of those of `OPEN` kinds only that of support is known."""

    kind: str
    triple: tuple[str, str, str]
    target: tuple[float, float, float]


def side_of(question: str) -> str:
    """The side of a question that was written: of sixteen one tunes, one tests, and the others train.

    >>> [side_of(question) for question in ("Why?", "What is a cat?", "Who is it?")]
    ['train', 'train', 'train']
    """
    place = hashlib.blake2b(question.strip().casefold().encode()).digest()[0] % 16
    return {0: "tune", 1: "test"}.get(place, "train")


def read(path: Path, side: str | None = None) -> list[dict[str, Any]]:
    """The rows of a file, or those of one side."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if side in (None, side_of(row["q"]))]


def write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Keep each question once, and none that is nearly one of the sets by hand; how many were kept."""
    shunned = [_stems(text) for text in _asked_elsewhere()]
    kept: dict[frozenset[str], str] = {}
    for row in rows:
        stems = _stems(row["q"] + row.get("passage", ""))
        if "passage" not in row and any(_alike(stems, other) for other in shunned):
            continue
        kept.setdefault(stems, json.dumps(row, ensure_ascii=False))
    path.parent.mkdir(exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as file:
        file.write("\n".join(kept.values()) + "\n")
    return len(kept)


def _asked_elsewhere() -> set[str]:
    """The questions of the sets by hand, which are tested on."""
    files = sorted(Path(__file__).parent.glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return {row["question"] for row in rows if "question" in row}


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in _WORD.findall(text.lower()) if word not in _COMMON)


def _alike(stems: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(stems), len(other)) < 2:  # "What is inflation?"
        return stems == other
    return len(stems & other) >= 0.7 * min(len(stems), len(other))


def answers(rows: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Example]:
    """Pairs of answers that are known to be the same or different, in both directions."""
    for row in rows:
        if "apart" in row:
            for a, b in permutations(row["apart"], 2):
                yield Example("apart", (row["q"], _opened(a, rng), b), _APART)
            continue
        question, same, no = row["q"], row["same"], row["no"]
        for a, b in permutations(same, 2):
            yield Example("same", (question, _opened(a, rng), _opened(b, rng)), _SAME)
        for a, b in product(same, no):
            yield from _both("different", question, _opened(a, rng), b, _DIFFERENT)
        for a, b in product(rng.sample(same, 2), row.get("beside", ())):
            yield from _both("beside", question, a, b, (0.06, 0.14, 0.8))
        for place, close in row.get("close", ()):
            yield from _both("close", question, same[place], close, _SAME)
            yield from _both("same", question, rng.choice(same), close, _SAME)
            yield from _both("different", question, close, rng.choice(no), _DIFFERENT)
            yield from _both("close", question, close, _opened(same[place], rng, 1.0), _SAME)


def _opened(text: str, rng: random.Random, share: float = 0.12) -> str:
    """Some of the texts with an opening, a hedge or a closing, as chatbots add them.

    >>> _opened("Because it rains.", random.Random(3), 1.0)
    'As far as I know, because it rains.'
    """
    if rng.random() >= share:
        return text
    opening = rng.choice(_OPENINGS)
    lowered = opening.endswith(", {}") and text.split()[0] in _LOWERED
    return opening.format(text[0].lower() + text[1:] if lowered else text)


def _both(kind: str, question: str, a: str, b: str, target: tuple[float, float, float]) -> Iterator[Example]:
    yield Example(kind, (question, a, b), target)
    yield Example(kind, (question, b, a), target)


def sampled(rows: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """Pairs of a model's answers; whether one that differs contradicts or is silent is not known."""
    for row in rows:
        known = [(text, n) for text, n in zip(row["texts"], row["meanings"], strict=True) if n is not None]
        for (a, one), (b, other) in permutations(known, 2):
            same = one == other
            yield Example(
                "sampled-same" if same else "sampled-other", (row["q"], a, b), _SAME if same else _APART
            )


def claims(rows: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Example]:
    """Each claim with its whole passage and with the sentences nearest to it, half of the time without the question."""
    for row in rows:
        question, passage = row["q"], row["passage"]
        for claim, label in row["claims"]:
            for text in dict.fromkeys((passage, nearest(claim, passage, rng.choice((3, 4, 5))))):
                asked = question if rng.random() < 0.5 else ""
                yield Example(f"claim-{label}", (asked, text, claim), _RELATIONS[label])

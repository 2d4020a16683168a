"""Sampled TriviaQA answers with meanings by a large NLI model that did not see the question: a hint, not the truth.

Same meaning is taken as entailment both ways. Different meanings count only where neither answer contains the other's
words: "Canada." and a sentence with Canada in it are one answer to the question, whatever that model said. Two
refusals are one meaning; a refusal that goes on to guess is left out.
"""

from __future__ import annotations

import gzip
import json
import re
from itertools import combinations
from typing import TYPE_CHECKING

from ..pairs import ENTAILMENT, NOT_ENTAILMENT, Pair, both, held_out
from ..vocabulary import words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|not (?:aware|able|sure|familiar))|i (?:do not|don't|couldn't|could not|cannot|can't) "
    r"(?:know|have|find|verify|provide|confirm|determine)|unable to|no information|not enough information)",
    re.IGNORECASE,
)
_EMPTY = set(
    words("""
    a an the of in is was were are and to it that by for on as at with from
""")
)


def read(path: Path, *, test: bool) -> list[dict[str, object]]:
    """The questions on one side of the split."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if held_out(row["question"]) == test]


def pairs(path: Path, *, test: bool) -> Iterator[Pair]:
    """Every pair of different strings of a question that the labels say something about."""
    for row in read(path, test=test):
        meaning = dict(zip(row["texts"], row["meanings"], strict=True))  # type: ignore[call-overload]
        for one, two in combinations(meaning, 2):
            question = str(row["question"])
            refused = [bool(REFUSAL.search(text)) for text in (one, two)]
            if any(refused):
                if all(refused):
                    yield from both("sampled-refusals", question, one, two, ENTAILMENT)
            elif meaning[one] == meaning[two]:
                yield from both("sampled", question, one, two, ENTAILMENT)
            elif not contained(one, two, question) and not contained(two, one, question):
                yield from both("sampled", question, one, two, NOT_ENTAILMENT)


def contained(one: str, two: str, question: str) -> bool:
    """Whether every word of `one` that the question does not have is in `two`."""
    said = [set(re.findall(r"\w+", text.lower())) - _EMPTY for text in (one, two, question)]
    news = said[0] - said[2]
    return news <= said[1]

"""Sampled TriviaQA and NQ answers with a teacher's logit of "same meaning" for every pair, in both orders.

The split is by question, with the hash that also splits the other sources: two thirds train, and of the rest one half
tunes (thresholds, calibration, the choice between judges) and the other half is the test, looked at once. The digests
below freeze it: `check_split` fails where the data or the rule has changed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from semtropy.meaning.quantities import conflict, settled
from semtropy.meaning.spelling import normalise

from ..pairs import side_of
from .trivia import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SAME = 2.0  # mean logit of both orders from which the teacher calls two answers the same
# Questions of each side, and the first 16 digits of the SHA-256 of their sorted list.
FROZEN = {
    "train": (2622, "7e9842ff5f06ff86"),
    "tune": (688, "2bd3ee84c31088a1"),
    "test": (690, "3f86863bf3913ed3"),
}


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """Distinct sampled answers of one question and the teacher's mean logit of every pair.

    `order` lists the answers (as indices into `texts`) in the order in which they are taken as samples.
    """

    source: str
    question: str
    references: tuple[str, ...]
    texts: tuple[str, ...]
    order: tuple[int, ...]
    logits: dict[tuple[int, int], float]

    def same(self, i: int, j: int) -> bool:
        """Whether the teacher calls two answers the same."""
        return i == j or self.logits[min(i, j), max(i, j)] >= SAME


def read(path: Path, side: str) -> list[JudgedQuestion]:
    """The questions of one side, in the order of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [_question(row) for row in rows if side_of(row["question"]) == side]


def _question(row: dict[str, Any]) -> JudgedQuestion:
    drawn = [place for place, count in enumerate(row["counts"]) for _ in range(count)]
    random.Random(row["question"]).shuffle(drawn)
    return JudgedQuestion(
        row["set"],
        row["question"],
        tuple(row["references"]),
        tuple(row["texts"]),
        tuple(drawn),
        {(i, j): (there + back) / 2 for i, j, there, back in row["pairs"]},
    )


def check_split(path: Path) -> None:
    """Fail where the sides are not the frozen ones."""
    for side, frozen in FROZEN.items():
        found = digest_of([row.question for row in read(path, side)])
        if found != frozen:
            raise ValueError(f"{path}: side {side} is {found}, not the frozen {frozen}")


def digest_of(questions: Sequence[str]) -> tuple[int, str]:
    """How many questions there are, and a digest of which."""
    return len(questions), hashlib.sha256("\n".join(sorted(questions)).encode()).hexdigest()[:16]


class SoftPair(NamedTuple):
    """Two answers and the probability that they mean the same."""

    question: str
    a: str
    b: str
    same: float


def soft_pairs(rows: Sequence[JudgedQuestion], slope: float) -> Iterator[SoftPair]:
    """Every pair with the teacher's opinion, corrected where spelling, arithmetic or the references know better.

    The teacher's probability is a logistic function of its mean logit, one half at `SAME`. Two answers that are names
    of the reference are the same; one that is and one that shares no word with it are not.
    """
    for row in rows:
        names = {plain(reference) for reference in row.references}
        known = [plain(text) in names for text in row.texts]
        for (i, j), logit in row.logits.items():
            a, b = row.texts[i], row.texts[j]
            same = 1 / (1 + math.exp(-slope * (logit - SAME)))
            arithmetic = settled(a, b, row.question), settled(b, a, row.question)
            if normalise(a) == normalise(b) or arithmetic == (True, True):
                same = 1.0
            elif conflict(a, b, row.question):
                same = 0.0
            elif known[i] and known[j]:
                same = max(same, 0.95)
            elif known[i] != known[j] and not set(plain(a).split()) & set(plain(b).split()):
                same = min(same, 0.05) if logit < SAME else same
            yield SoftPair(row.question, a, b, same)

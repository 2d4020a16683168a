"""How well groups agree with a teacher's: adjusted Rand index, right and wrong merges, distance of the entropy."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.meaning.partition import PRIOR

from .evaluate import adjusted_rand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .sources.judged import JudgedQuestion


@dataclass(frozen=True, slots=True)
class Agreement:
    """Groups against the teacher's, over many questions.

    `rand` is the mean adjusted Rand index; `right` and `wrong` count pairs of different strings put together that the
    teacher puts together, or apart; `missed` those that only the teacher puts together; `entropy` is the mean distance
    in nats of the groups' empirical entropies.
    """

    questions: int
    rand: float
    right: int
    wrong: int
    missed: int
    entropy: float

    def line(self) -> str:
        """One line of figures."""
        share = self.right / max(self.right + self.wrong, 1)
        return (
            f"{self.questions} questions, rand {self.rand:.4f}, merges right {self.right} wrong {self.wrong}"
            f" ({share:.3f}) missed {self.missed}, entropy off by {self.entropy:.4f}"
        )


def teachers_groups(rows: Sequence[JudgedQuestion]) -> list[list[int]]:
    """The partition of each question with the teacher as the judge."""
    return [_groups(row, lambda i, j, row=row: row.same(i, j)) for row in rows]


def _groups(row: JudgedQuestion, same: Any) -> list[int]:
    """The groups that the incremental partition finds with that judge, without arithmetic or spelling rules."""
    counts: list[int] = []
    first: list[int] = []
    known: dict[int, int] = {}
    meanings = []
    for place in row.order:
        if place not in known:
            ranked = sorted(range(len(counts)), key=lambda m: (-counts[m], m))
            known[place] = next((m for m in ranked if same(first[m], place)), len(counts))
        if known[place] == len(counts):
            counts.append(0)
            first.append(place)
        counts[known[place]] += 1
        meanings.append(known[place])
    return meanings


def judges_groups(rows: Sequence[JudgedQuestion], judge: Any, *, prior: float = PRIOR) -> list[list[int]]:
    """The partition of each question by a judge, as the package makes it."""
    tasks = [GroupingTask(row.question, [row.texts[place] for place in row.order]) for row in rows]
    return [grouped.meanings for grouped in cluster_many(tasks, judge, prior=prior)]


def strings_groups(rows: Sequence[JudgedQuestion]) -> list[list[int]]:
    """Identical strings only."""
    return [list(row.order) for row in rows]


def agreement(
    rows: Sequence[JudgedQuestion], made: Sequence[Sequence[int]], teacher: Sequence[Sequence[int]]
) -> Agreement:
    """Compare groups with the teacher's."""
    rands, distances, merges = [], [], Counter[str]()
    for row, ours, theirs in zip(rows, made, teacher, strict=True):
        rands.append(adjusted_rand(ours, theirs))
        distances.append(abs(entropy(ours) - entropy(theirs)))
        group = {place: (a, b) for place, a, b in zip(row.order, ours, theirs, strict=True)}
        for one, other in combinations(group, 2):
            together = [x == y for x, y in zip(group[one], group[other], strict=True)]
            merges[_KINDS[tuple(together)]] += 1
    return Agreement(
        len(rows),
        float(np.mean(rands)),
        merges["right"],
        merges["wrong"],
        merges["missed"],
        float(np.mean(distances)),
    )


_KINDS = {(True, True): "right", (True, False): "wrong", (False, True): "missed", (False, False): "apart"}


def entropy(groups: Sequence[int]) -> float:
    """The empirical entropy of a partition in nats.

    >>> round(entropy([0, 0, 1, 1]), 4)
    0.6931
    """
    shares = [count / len(groups) for count in Counter(groups).values()]
    return -sum(share * math.log(share) for share in shares)

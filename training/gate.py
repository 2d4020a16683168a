"""The gate: pairs of answers written before the judge was trained, with margins fixed at the same time.

`gate.jsonl` has one pair per line: its kind, a question, two answers and whether they mean the same. A pair is right
when grouping the two answers gives that result, in either order. What arithmetic and spelling decide must be right
throughout; where the network decides, `MARGINS` says how many of the different pairs may be merged at most and how
many of the same pairs must be at least. No pair of the file is ever trained on (`data.without_probe`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from semtropy.meaning.grouping import GroupingTask, cluster_many

if TYPE_CHECKING:
    from semtropy.nouns import Judge

GATE = Path(__file__).with_name("gate.jsonl")


class Margin(NamedTuple):
    """The share of different pairs that may be merged, and of same pairs that must be."""

    wrong_merges: float
    right_merges: float


MARGINS = {
    "arithmetic": Margin(0.0, 1.0),
    "scripts": Margin(0.0, 1.0),
    "named": Margin(0.0, 1.0),
    "related": Margin(0.02, 0.75),
    "invented": Margin(0.02, 0.75),
    "lists": Margin(0.02, 0.75),
    "roles": Margin(0.02, 0.75),
}


class GatePair(NamedTuple):
    """Two answers to a question, and whether they mean the same."""

    kind: str
    question: str
    a: str
    b: str
    same: bool


@dataclass(frozen=True, slots=True)
class GateResult:
    """One kind of the gate: pairs of each label, and those that were grouped wrongly."""

    kind: str
    different: int
    same: int
    merged: tuple[GatePair, ...]
    split: tuple[GatePair, ...]

    @property
    def passed(self) -> bool:
        """Whether both shares are within the margin."""
        margin = MARGINS[self.kind]
        return (
            len(self.merged) <= margin.wrong_merges * self.different
            and self.same - len(self.split) >= margin.right_merges * self.same
        )


def pairs() -> list[GatePair]:
    """All pairs of the gate."""
    return [GatePair(**json.loads(line)) for line in GATE.read_text("utf-8").splitlines()]


def run(judge: Judge, kinds: tuple[str, ...] = tuple(MARGINS)) -> list[GateResult]:
    """Group every pair in both orders; a pair is wrong where either order is."""
    chosen = [pair for pair in pairs() if pair.kind.partition("/")[0] in kinds]
    tasks = [
        GroupingTask(pair.question, texts)
        for pair in chosen
        for texts in ([pair.a, pair.b], [pair.b, pair.a])
    ]
    merged = [len(set(grouped.meanings)) == 1 for grouped in cluster_many(tasks, judge)]
    orders = list(zip(merged[::2], merged[1::2], strict=True))
    results = []
    for kind in kinds:
        of_kind = [(p, o) for p, o in zip(chosen, orders, strict=True) if p.kind.partition("/")[0] == kind]
        results.append(
            GateResult(
                kind,
                sum(not pair.same for pair, _ in of_kind),
                sum(pair.same for pair, _ in of_kind),
                tuple(pair for pair, together in of_kind if not pair.same and any(together)),
                tuple(pair for pair, together in of_kind if pair.same and not all(together)),
            )
        )
    return results

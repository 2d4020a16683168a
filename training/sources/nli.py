"""Natural language inference sets: SNLI (dev), SICK, MED, RTE and MRPC; split by premise."""

from __future__ import annotations

import csv
import gzip
import re
from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, NOT_ENTAILMENT, Pair, both, held_out

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pairs(folder: Path, *, test: bool) -> Iterator[Pair]:
    """Every NLI pair on one side of the split, and what negation makes of those with a copula."""
    for pair in _all(folder):
        if held_out(pair.a) == test:
            yield pair
            yield from _negated(pair)


def _all(folder: Path) -> Iterator[Pair]:
    for label, a, b in _rows(folder / "snli_dev.tsv.gz"):
        if label in LABELS:
            yield Pair("snli", "", _untokenised(a), _untokenised(b), LABELS[label])
    for name in ("SICK_train.txt.gz", "SICK.txt.gz"):
        for _, a, b, _, label in _rows(folder / name, skip=1):
            yield Pair("sick", "", a, b, LABELS[label.lower()])
    for row in _rows(folder / "MED.tsv.gz", skip=1):
        yield Pair("med", "", row[8], row[9], LABELS.get(row[-1], NOT_ENTAILMENT))
    for _, a, b, label in _rows(folder / "RTE_train.tsv.gz", skip=1):
        yield Pair("rte", "", a, b, ENTAILMENT if label == "entailment" else NOT_ENTAILMENT)
    for label, _, _, a, b in _rows(folder / "MRPC_train.txt.gz", skip=1):
        yield from both("mrpc", "", a, b, ENTAILMENT if label == "1" else NOT_ENTAILMENT)


def _rows(path: Path, skip: int = 0) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
        for place, row in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)):
            if place >= skip and len(row) >= 3:
                yield row


def _untokenised(text: str) -> str:
    """SNLI comes with spaces before punctuation; answers do not."""
    return re.sub(r" ([.,;:!?')])", r"\1", text.strip()).replace("( ", "(")


_COPULA = re.compile(r"\b(is|are|was|were) (?!not\b|no\b)")


def negate(sentence: str) -> str | None:
    """The sentence with its first copula negated, or None where there is not exactly one.

    >>> negate("A man is riding a horse."), negate("Two dogs run.")
    ('A man is not riding a horse.', None)
    """
    return _COPULA.sub(r"\1 not ", sentence, count=1) if len(_COPULA.findall(sentence)) == 1 else None


def _negated(pair: Pair) -> Iterator[Pair]:
    """Contraposition: from a entails b follows that not b entails not a, and a contradicts not b."""
    not_a, not_b = negate(pair.a), negate(pair.b)
    if pair.source not in ("snli", "sick"):
        return
    if not_b and pair.label == ENTAILMENT:
        yield Pair("negation", "", pair.a, not_b, CONTRADICTION)
        if not_a and len(pair.a) < 60:
            yield Pair("negation", "", not_b, not_a, ENTAILMENT)
            yield Pair("negation", "", not_a, not_b, NEUTRAL)
    elif not_b and pair.label == CONTRADICTION:
        yield from both("negation", "", pair.b, not_b, CONTRADICTION)
    elif not_b and pair.label == NEUTRAL:
        yield Pair("negation", "", pair.a, not_b, NEUTRAL)

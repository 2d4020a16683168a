"""Explanations of a small model: consistent ones have one meaning, made-up ones many (training/explanations.jsonl)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from semtropy import check
from semtropy.meaning.builtin import FOLDER, Builtin
from semtropy.verdict import Outcome

TRAINING = Path(__file__).parents[2] / "training"
pytestmark = pytest.mark.skipif(
    not (FOLDER / "sentences.onnx").is_file(), reason="the judge's network for sentences is not there"
)


def read(name: str) -> list[dict]:
    return [json.loads(line) for line in (TRAINING / f"{name}.jsonl").read_text("utf-8").splitlines()]


def outcomes(*, agree: bool) -> Counter[Outcome]:
    """What comes of the first answer to each question of the test side, with the others as samples."""
    judge, found = Builtin(), Counter[Outcome]()
    for row in read("explanations"):
        if row["side"] == "test" and row["agree"] is agree:
            answer, *samples = row["samples"]
            found[check(row["question"], answer=answer, samples=samples, judge=judge).outcome] += 1
    return found


def test_made_up_explanations_are_flagged():
    found = outcomes(agree=False)
    assert found[Outcome.FLAGGED] == found.total() == 12


def test_most_consistent_explanations_are_not_flagged():
    found = outcomes(agree=True)
    assert found.total() == 15
    assert found[Outcome.STEADY] >= 7
    assert found[Outcome.FLAGGED] <= 6  # of all 75 answers 16; 67 when each had to entail the other


@pytest.mark.parametrize(
    ("name", "same", "least", "most"),
    [
        ("explanation_pairs", True, 18, 22),
        ("explanation_pairs", False, 0, 0),
        ("explanation_pairs_fresh", True, 26, 40),
        ("explanation_pairs_fresh", False, 0, 2),
    ],
)
def test_pairs_written_by_hand(name: str, same: bool, least: int, most: int) -> None:
    pairs = [(row["question"], row["a"], row["b"]) for row in read(name) if row["same"] is same]
    assert least <= sum(Builtin().entails(pairs) >= 0.5) <= most


def test_two_explanations_are_one_in_either_order():
    rows = read("explanation_pairs")
    there = [(row["question"], row["a"], row["b"]) for row in rows]
    there = [triple for triple in there if Builtin().sentences(triple)]
    assert len(there) >= 40
    back = [(question, b, a) for question, a, b in there]
    assert Builtin().entails(there) == pytest.approx(Builtin().entails(back))

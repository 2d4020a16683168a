"""Everyday questions, each answered in three wordings and differently, written by hand (training/*.jsonl)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from training import written

from semtropy.meaning.builtin import FOLDER, Builtin
from semtropy.meaning.grouping import GroupingTask, cluster_many

TRAINING = Path(__file__).parents[2] / "training"
pytestmark = pytest.mark.skipif(
    not (FOLDER / "sentences.onnx").is_file(), reason="the judge's network for sentences is not there"
)


@pytest.mark.parametrize(("name", "least"), [("everyday", 49), ("everyday_test", 24), ("everyday_more", 41)])
def test_groups_are_right(name: str, least: int) -> None:
    rows = [json.loads(line) for line in (TRAINING / f"{name}.jsonl").read_text("utf-8").splitlines()]
    tasks = [GroupingTask(row["question"], [*row["same"], row["other"]], label=row) for row in rows]
    wrong = [grouped for grouped in cluster_many(tasks, Builtin()) if grouped.meanings != [0, 0, 0, 1]]
    assert len(rows) - len(wrong) >= least, [
        (grouped.label["question"], grouped.meanings) for grouped in wrong
    ]
    assert not [grouped for grouped in wrong if grouped.meanings[3] in grouped.meanings[:3]]  # no wrong merge


@pytest.mark.parametrize(
    ("name", "side", "least", "merged"),
    [
        ("everyday_fresh", "tune", 36, 2),
        ("everyday_fresh", "test", 58, 3),
        ("everyday_second", None, 47, 10),
        ("everyday_third", None, 84, 14),
    ],
)
def test_fresh_questions_are_grouped_as_well_as_the_model_card_says(
    name: str, side: str | None, least: int, merged: int
) -> None:
    lines = (TRAINING / f"{name}.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row.get("side") == side]
    tasks = [GroupingTask(row["question"], [*row["same"], *row["other"]], label=row) for row in rows]
    grouped = [each.meanings for each in cluster_many(tasks, Builtin())]
    assert sum(each[:3] == [0, 0, 0] and 0 not in each[3:] for each in grouped) >= least
    assert sum(not set(each[:3]).isdisjoint(each[3:]) for each in grouped) <= merged


def test_answers_of_a_real_model_are_grouped_as_well_as_the_model_card_says() -> None:
    rows = written.read(written.SAMPLED, "test")
    pairs: Counter[tuple[bool, bool]] = Counter()
    for each in cluster_many([GroupingTask(row["q"], row["texts"], label=row) for row in rows], Builtin()):
        known = [
            pair for pair in zip(each.label["meanings"], each.meanings, strict=True) if pair[0] is not None
        ]
        pairs.update((a == b, x == y) for (a, x), (b, y) in combinations(known, 2))
    assert pairs[True, True] >= 0.715 * (pairs[True, True] + pairs[True, False])
    assert pairs[False, True] <= 0.13 * (pairs[False, True] + pairs[False, False])


@pytest.mark.parametrize(("side", "least"), [("tune", 44), ("test", 50)])
def test_amounts_are_grouped_right(side: str, least: int) -> None:
    lines = (TRAINING / "amounts.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["side"] == side]
    tasks = [GroupingTask(row["question"], [*row["same"], *row["other"]], label=row) for row in rows]
    grouped = list(cluster_many(tasks, Builtin()))
    wrong = [each for each in grouped if each.meanings != [0, 0, 0, 1, 2][: len(each.meanings)]]
    assert len(rows) - len(wrong) >= least, [(each.label["question"], each.meanings) for each in wrong]
    assert not [
        each for each in wrong if not set(each.meanings[:3]).isdisjoint(each.meanings[3:])
    ]  # no wrong merge


def test_the_sides_of_the_amounts_are_those_of_the_hash() -> None:
    for line in (TRAINING / "amounts.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        assert row["side"] == ("test", "tune")[hashlib.blake2b(row["question"].encode()).digest()[0] % 2]


@pytest.mark.parametrize(
    ("before", "after"), [("", " Answer in one sentence."), ("In one short sentence: ", "")]
)
def test_how_long_the_answer_is_to_be_changes_no_group(before: str, after: str) -> None:
    rows = [json.loads(line) for line in (TRAINING / "everyday_more.jsonl").read_text("utf-8").splitlines()]
    tasks = [
        GroupingTask(question, [*row["same"], row["other"]], label=None)
        for row in rows
        for question in (row["question"], f"{before}{row['question']}{after}")
    ]
    grouped = [each.meanings for each in cluster_many(tasks, Builtin())]
    assert (
        grouped[::2] == grouped[1::2]
    )  # without care for it 8 groups fewer were right, and there were 4 wrong merges


@pytest.mark.parametrize(
    ("question", "answers", "meanings"),
    [
        (
            "Can dogs eat chocolate, and why?",
            [
                "Dogs can eat chocolate at any time, but it can be harmful to them.",
                "Dogs cannot eat chocolate because it can cause harm.",
                "No, because it contains theobromine, which is toxic to dogs.",
            ],
            [0, 1, 1],
        ),
        (
            "Is a tomato a fruit or a vegetable, and why?",
            ["It is a fruit because it has seeds.", "A fruit, since it grows from a flower.", "A vegetable."],
            [0, 0, 1],
        ),
    ],
)
def test_yes_or_no_comes_before_why(question: str, answers: list[str], meanings: list[int]) -> None:
    [grouped] = cluster_many([GroupingTask(question, answers, label=None)], Builtin())
    assert grouped.meanings == meanings


def test_what_was_written_for_the_training_is_well_formed() -> None:
    answers, claims, sampled = map(written.read, (written.ANSWERS, written.CLAIMS, written.SAMPLED))
    assert len(answers) > 11_000
    assert len(claims) > 1_500
    assert len(sampled) > 3_800
    for row in answers:
        if "apart" in row:
            assert len(set(row["apart"])) >= 3, row["q"]
            continue
        same, other = row["same"], [*row["no"], *row["beside"]]
        assert len(set(same)) >= 3, row["q"]
        assert len(row["no"]) >= 2, row["q"]
        assert set(same).isdisjoint(other), row["q"]
        assert all(0 <= place < len(same) for place, _ in row.get("close", ())), row["q"]
    assert {label for row in claims for _, label in row["claims"]} == {"s", "c", "n"}
    assert all(len(set(row["texts"])) == len(row["texts"]) == len(row["meanings"]) for row in sampled)


def test_no_question_that_was_written_is_one_of_these_sets() -> None:
    rows = [
        json.loads(line) for path in TRAINING.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()
    ]
    asked = {row["question"].casefold().strip(" ?") for row in rows if "question" in row}
    assert asked.isdisjoint(row["q"].casefold().strip(" ?") for row in written.read(written.ANSWERS))

"""Short answers with no spelling in common are kept apart without a judgement, and nothing else is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from training import gate

from semtropy.meaning import Cached, cluster, load_judge
from semtropy.meaning.builtin import Builtin
from semtropy.meaning.grouping import GroupingTask, cluster_many
from semtropy.meaning.spelling import unlike
from semtropy.server.policy import BoundedJudge

FACTS = Path(__file__).parents[2] / "src" / "semtropy" / "data" / "facts--smollm2.jsonl.gz"


class CountingJudge:
    """The built-in judge, with or without its screen, that counts what it is asked."""

    def __init__(self, *, screened: bool) -> None:
        self._judge, self.asked = Builtin(), 0
        if screened:
            self.unlike = self._judge.unlike

    def entails(self, batch):
        self.asked += len(batch)
        return self._judge.entails(batch)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Zn", "zinc"),
        ("NaCl", "table salt"),
        ("I.P.", "the Ignatius Prewett"),
        ("Sầm Sơn", "Sam Son"),
        ("Yes", "Correct."),
        ("Unknown", "No idea."),
        ("half of them", "50 percent"),
        ("a millennium", "a thousand years"),
        ("It expanded.", "It got bigger."),
        ("Of course.", "The town is in Europe."),
        ("", "Paris"),
    ],
)
def test_what_has_many_wordings_is_left_to_the_judge(a, b):
    assert not unlike(a, b)
    assert not unlike(b, a)


def test_no_pair_of_the_gate_that_is_one_meaning_is_kept_apart():
    judge = Builtin()
    assert [
        pair for pair in gate.pairs() if pair.same and judge.unlike((pair.question, pair.a, pair.b))
    ] == []


def test_known_names_are_never_kept_apart_by_their_letters():
    assert cluster("Which country?", ["United States", "the USA", "America"], "builtin")[:2] == [0, 0]


def test_groups_of_real_answers_are_the_same_for_fewer_judgements():
    with gzip.open(FACTS, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if "question" in row]
    tasks = [
        GroupingTask(row["question"], [each["text"] for each in row["samples"][:10]]) for row in rows[:12]
    ]
    screened, plain = CountingJudge(screened=True), CountingJudge(screened=False)
    assert [each.meanings for each in cluster_many(tasks, screened)] == [
        each.meanings for each in cluster_many(tasks, plain)
    ]
    assert screened.asked < 0.8 * plain.asked


def test_the_looser_modes_still_ask():
    general = ["Toni Morrison", "a writer"]
    assert load_judge("builtin").unlike(("Who is it?", *general))
    assert cluster("Who is it?", general, "builtin", mode="either") == [0, 0]
    assert cluster("Who is it?", general, "builtin") == [0, 1]


def test_a_judge_around_another_one_hands_it_on():
    judge = BoundedJudge(Cached(Builtin()))
    assert judge.unlike(("What is it?", "Mansion", "Spoonfuls"))
    assert not hasattr(BoundedJudge(Cached(load_judge("exact"))), "unlike")

"""One answer in two wordings: what needs no judge, what only hints at it, and names that are never the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from semtropy.meaning import ScriptedJudge, cluster
from semtropy.meaning.builtin import FOLDER, Builtin
from semtropy.meaning.quantities import compare_lists
from semtropy.meaning.spelling import other_name, same_name, same_wording, squash, wording_hint

SAME = [
    ("Spider-Man", "Spiderman"),
    ("spider man", "Spider-Man"),
    ("Back_to_the_Future", "Back to the Future"),
    ("J. K. Rowling", "J.K. Rowling"),
    ("J K Rowling", "JK Rowling"),
    ("sainsbury's", "Sainsburys"),
    ("Xi'an", "Xian"),
    ("4.3 light-years", "4.3 lightyears"),
    ("Нью-Йорк", "Нью Йорк"),
    ("Sir Isaac Newton", "Isaac Newton"),
    ("Queen Victoria", "Victoria"),
    ("Mt. Everest", "Everest"),
    ("In the foot", "the foot"),
    ("at home", "home"),
    ("about 5 km", "5 km"),
    ("approximately 12", "12"),
]
OTHER = [
    ("I ran", "Iran"),
    ("3-0", "30"),
    ("1.5", "15"),
    ("alpha - beta", "alpha beta"),
    ("a-b-c-d-e", "abcde"),
    ("C++", "C"),
    ("King George", "Queen George"),
    ("before noon", "noon"),
    ("about 5 km", "about 6 km"),
    ("over 5 km", "5 km"),
    ("not Paris", "Paris"),
    ("from Rome", "to Rome"),
    ("New York", "York"),
    ("", "Sir"),
    ("", ""),
]
HINTS = [
    ("Which river is it?", "Nile", "the Nile River"),
    ("Which river is it?", "Tyne", "River Tyne"),
    ("What is the longest river in Africa?", "the Nile", "Nile River"),
    ("Which Chinese dynasty ruled then?", "Ming", "Ming Dynasty"),
    ("In which London magazine did it appear?", "The Strand", "Strand Magazine"),
    ("What type of plate boundary is it?", "convergent", "convergent plate boundary"),
    ("Who sailed in 1492?", "Columbus", "Christopher Columbus"),
    ("Which statesman was it?", "Bismarck", "Otto von Bismarck".title()),
    ("Where is it?", "Lourdes", "Lourdes, France"),
]
NO_HINTS = [
    ("What is it?", "Nile", "Nile River"),
    ("Which river is it?", "Nile", "Niger River"),
    ("Which war was it?", "the First World War", "World War"),
    ("Which is larger, north or south?", "Korea", "North Korea"),
    ("Where is the deepest lake?", "Michigan", "Lake Michigan"),
    ("Which acid is it?", "nitric acid", "nitrous acid"),
    ("Where is it?", "York", "New York"),
    ("Where is it?", "Georgia", "Georgia, USA"),
    ("Which cities fought?", "Rome", "Rome, Carthage"),
    ("Who was it?", "John", "John Napier"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_words(a: str, b: str) -> None:
    assert same_wording(a, b)
    assert same_wording(b, a)


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_other_words(a: str, b: str) -> None:
    assert not same_wording(a, b)
    assert not same_wording(b, a)


@pytest.mark.parametrize(("question", "a", "b"), HINTS)
def test_hints(question: str, a: str, b: str) -> None:
    assert wording_hint(question, a, b)
    assert wording_hint(question, b, a)
    assert not wording_hint("", a, b) or "," in b


@pytest.mark.parametrize(("question", "a", "b"), NO_HINTS)
def test_no_hints(question: str, a: str, b: str) -> None:
    assert not wording_hint(question, a, b)
    assert not wording_hint(question, b, a)


def test_a_long_answer_is_left_to_the_judge() -> None:
    long = "It is a river " * 50
    assert not same_wording(long, long.replace(" ", "-"))
    assert not wording_hint("Which river is it?", long, "river")


def test_squash_keeps_what_carries_meaning() -> None:
    assert squash("x - y") == "x - y"
    assert squash("−5 °C") == squash("-5 °C").replace(" ", " ")
    assert squash("50%") != squash("50")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("World War I", "World War II"),
        ("WWI", "World WarII"),
        ("CO2", "CO"),
        ("George W. Bush", "George H.W. Bush"),
        ("John Q. Adams", "John A. Adams"),
    ],
)
def test_names_that_differ(a: str, b: str) -> None:
    assert other_name(a, b)
    assert other_name(b, a)
    judge = Builtin()
    assert judge.entails([("", a, b), ("", b, a)]).tolist() == [0.0, 0.0]
    assert judge.explain(("", a, b)) in ("spelling", "arithmetic")


@pytest.mark.parametrize(
    ("a", "b"), [("George W. Bush", "George Bush"), ("USA", "America"), ("Paris", "Rome"), ("", "J. S. Bach")]
)
def test_names_that_may_be_the_same(a: str, b: str) -> None:
    assert not other_name(a, b)


def test_known_names_in_any_spacing() -> None:
    assert same_name("World WarII", "WW2")
    assert same_name("U.S.A.", "the United States")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Rome and Carthage", "Rome, Carthage", True),
        ("Stuart, Pete, Mick", "Stuart, Pete", False),
        ("Stuart, Pete", "Stuart, Pete, Mick", False),
        ("Paris, France", "Paris", None),
        ("Paris, France", "Lyon, France", None),
        ("Rome, Carthage", "Rome, Babylon", None),
        ("copper, tin and zinc", "zinc, tin and copper", True),
        ("copper, tin and zinc", "Paris, France", None),
    ],
)
def test_lists_are_compared_as_sets(a: str, b: str, same: bool | None) -> None:
    assert compare_lists(a, b) is same
    assert compare_lists(b, a) is same


@pytest.mark.parametrize(
    "text", ["It means peace.", "They are Romans.", "This is Rome.", "She was Cleopatra", "He's Caesar"]
)
def test_a_frame_says_nothing(text: str) -> None:
    bare = text.split()[-1].strip(".")
    assert cluster("What is it?", [text, bare], ScriptedJudge({}, default=0.0)) == [0, 0]
    assert cluster("What is it?", [text, f"not {bare}"], ScriptedJudge({}, default=0.0)) == [0, 1]


def test_a_hint_adds_to_what_the_network_says(tmp_path: Path) -> None:
    settings = json.loads((FOLDER / "judge.json").read_text("utf-8"))
    hint, settings["calibration"]["hint"] = settings["calibration"]["hint"], 0.0
    for name in ("judge.onnx", "tokenizer.json"):
        (tmp_path / name).symlink_to(FOLDER / name)
    (tmp_path / "judge.json").write_text(json.dumps(settings))
    triples = [
        ("Who sailed west?", "Columbus", "Christopher Columbus"),
        ("Which city is it?", "Oslo", "Bergen"),
    ]
    found = [judge.entails(triples) for judge in (Builtin(), Builtin(tmp_path))]
    odds = [np.log(p) - np.log1p(-p) for p in found]
    assert (odds[0] - odds[1]).tolist() == pytest.approx([hint, 0.0], abs=1e-6)
    assert Builtin().explain(triples[0]) == "network"

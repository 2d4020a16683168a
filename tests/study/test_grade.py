"""Graders against SQuAD's own rules, and what each says when it cannot tell."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.errors import InputError
from semtropy.models.scripted import ScriptedModel
from semtropy.nouns import Grader, Question
from semtropy.study.generate.graders import GRADERS, ModelGrader, exact, f1, load_grader, numeric, token_f1


def squad_f1(answer: str, reference: str) -> float:
    """SQuAD's definition written out step by step: the independent reference."""

    def tokens(text: str) -> list[str]:
        lowered = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", lowered).split()

    said, wanted = tokens(answer), tokens(reference)
    if not said or not wanted:
        return float(said == wanted)
    same = sum((Counter(said) & Counter(wanted)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


words = st.lists(st.sampled_from(["the", "a", "Eiffel", "tower", "Paris,", "in", "1889!"]), max_size=6)


@given(words, words)
def test_f1_is_squads(answer: list[str], reference: list[str]) -> None:
    said, wanted = " ".join(answer), " ".join(reference)
    assert token_f1(said, wanted) == pytest.approx(squad_f1(said, wanted))


def ask(*references: str) -> Question:
    return Question("1", "Who?", references=references)


@pytest.mark.parametrize(
    ("grader", "references", "answer", "correct"),
    [
        (f1, ("Neil Armstrong",), "Armstrong", True),
        (f1, ("Neil Alden Armstrong",), "Armstrong", True),  # exactly 0.5
        (f1, ("Neil Alden Armstrong Junior",), "Armstrong", False),
        (f1, ("x", "Lima"), "lima.", True),
        (f1, ("Lima",), "", False),
        (exact, ("The Beatles",), "beatles!", True),
        (exact, ("The Beatles",), "The Beatles band", False),
        (numeric, ("1000",), "about 1,000 in all", True),
        (numeric, ("3.50",), "$3.5", True),
        (numeric, ("-4",), "-4", True),
        (numeric, ("4",), "-4", False),
        (numeric, ("4",), "four", False),
        (numeric, ("12",), "5 plus 7 is 12", True),
        (numeric, ("four",), "4", None),
    ],
)
def test_grades(grader: Grader, references: tuple[str, ...], answer: str, correct: bool | None) -> None:
    assert grader(ask(*references), answer) is correct


@pytest.mark.parametrize("name", sorted(GRADERS))
def test_without_references_nothing_is_graded(name: str) -> None:
    assert load_grader(name)(ask(), "anything") is None


@pytest.mark.parametrize(("reply", "correct"), [("Yes, it does", True), ("no", False), ("perhaps", None)])
def test_a_model_as_grader(reply: str, correct: bool | None) -> None:
    grader = ModelGrader(ScriptedModel(default={reply: 1.0}))
    assert grader(ask("Lima"), "Lima, Peru") is correct
    assert grader(ask(), "Lima, Peru") is None


def test_unknown_graders_and_models() -> None:
    with pytest.raises(InputError, match="f1, exact, numeric, model:NAME"):
        load_grader("taste")
    with pytest.raises(InputError, match="unknown model 'none'"):
        load_grader("model:none")

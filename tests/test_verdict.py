"""The verdict: JSON there and back, and sentences a person can act on."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.errors import InputError
from semtropy.stopping import Reason, Spent
from semtropy.verdict import Entropy, Meaning, Verdict

number = st.floats(0, 10)
verdicts = st.builds(
    Verdict,
    question=st.text(min_size=1),
    answer=st.text(),
    entropy=st.builds(Entropy, number, st.none() | number, st.none() | st.tuples(number, number)),
    meanings=st.lists(st.builds(Meaning, st.text(), st.integers(1, 9), st.floats(0, 1)), min_size=1).map(
        tuple
    ),
    spent=st.builds(
        Spent,
        st.integers(1, 99),
        st.integers(1, 9),
        st.none() | st.integers(0, 99),
        st.integers(0, 9),
        number,
    ),
    reason=st.sampled_from(list(Reason)),
    flagged=st.booleans(),
    probability=st.none() | st.floats(0, 1),
    threshold=st.floats(0.1, 5),
    warnings=st.lists(st.text()).map(tuple),
)


@given(verdicts)
def test_json_there_and_back_is_the_same_verdict(verdict):
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert Verdict.from_dict(json.loads(verdict.to_json())) == verdict


@given(verdicts)
def test_every_verdict_explains_itself(verdict):
    text = verdict.explain()
    assert str(verdict.reason) in text
    assert ("threshold" if verdict.probability is None else "by the calibration given") in text
    assert all(warning in text for warning in verdict.warnings)


def one(**changes) -> Verdict:
    settings = {
        "question": "Who?",
        "answer": "Ann",
        "entropy": Entropy(1.2, 0.1, (0.5, 1.9)),
        "meanings": (Meaning("Ann", 2), Meaning("Bob", 1)),
        "spent": Spent(samples=3, rounds=2, tokens=9, judge_calls=2, seconds=0.25),
        "reason": Reason.SAMPLES,
        "flagged": True,
    }
    return Verdict(**(settings | changes))


def test_the_keys_are_those_of_the_contract():
    keys = {"question", "answer", "entropy", "meanings", "samples", "rounds", "reason", "flagged"}
    keys |= {"probability", "threshold", "cost", "warnings"}
    data = one().to_dict()
    assert set(data) == keys
    assert set(data["entropy"]) == {"mean", "variance", "interval"}
    assert set(data["cost"]) == {"tokens", "judge_calls", "seconds"}
    assert data["meanings"][0] == {"text": "Ann", "count": 2, "floor": 0.0}


def test_headlines():
    assert one().headline() == 'Likely made up: "Ann".'
    assert one(probability=0.8).headline() == 'Probably made up (80%): "Ann".'
    assert one(flagged=False).headline() == 'Looks steady: "Ann".'
    assert one(answer=" ").headline() == "No answer: the model returned an empty one."


def test_what_it_does_not_say_is_said():
    assert "repeats one error consistently" in one(flagged=False).explain()
    assert "may still be right" in one().explain()


def test_numbers_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        one(entropy=Entropy(math.nan)).to_json()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{}", "'entropy' is missing"),
        ("[]", "expected an object"),
        ("{", "not a verdict"),
        ('{"entropy": 3, "cost": {}}', "not"),
    ],
)
def test_what_is_no_verdict_is_named(text, names):
    with pytest.raises(InputError, match=names):
        Verdict.from_json(text)


def test_an_unknown_reason_is_an_error():
    data = one().to_dict() | {"reason": "because"}
    with pytest.raises(InputError, match="because"):
        Verdict.from_dict(data)

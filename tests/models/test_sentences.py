"""Checks of an endpoint that is sure of its answers and words them in different ways."""

from __future__ import annotations

from collections import Counter

import pytest

from semtropy import check
from semtropy.meaning import ScriptedJudge
from semtropy.testing import SENTENCES, emulate


def knowing_judge() -> ScriptedJudge:
    """Knows that all wordings of an answer mean the same."""
    return ScriptedJudge(lambda question, a, b: float({a, b} <= set(SENTENCES[question])))


@pytest.mark.parametrize("provider", ["vllm", "openai", "openai-reasoning"])
def test_right_answers_in_different_wordings_are_not_flagged(provider):
    with emulate(provider, SENTENCES.__getitem__) as endpoint:
        model = endpoint.model()
        outcomes = Counter(
            str(check(question, model=model, judge=knowing_judge(), rng=seed).outcome)
            for question in SENTENCES
            for seed in range(5)
        )
    assert outcomes["flagged"] == 0, outcomes
    assert outcomes["undecided"] <= 2, outcomes
    assert outcomes.total() == 20

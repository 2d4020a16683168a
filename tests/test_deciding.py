"""What a verdict may claim, and which terms are refused before the model is asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from semtropy import Budget, Decided, FixedSamples, Rounds, Sample, VarianceBelow, check
from semtropy.errors import InputError
from semtropy.models import ScriptedModel
from semtropy.verdict import Entropy, Outcome, Reason, Spent, Verdict

HALF = {"Paris": 0.62, "Lyon": 0.38}


class Untouched(ScriptedModel):
    """A model that must not be asked."""

    def sample(self, *args: Any, **options: Any) -> list[Sample]:
        raise AssertionError("the model was asked")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("threshold", math.nan),
        ("threshold", -0.1),
        ("threshold", 0),
        ("threshold", math.inf),
        ("threshold", "0.7"),
        ("threshold", True),
        ("rule", 0.1),
        ("rule", "decided"),
        ("rule", Decided),
        ("budget", 5),
        ("budget", 0),
        ("rounds", 3),
        ("answer_temperature", math.nan),
        ("answer_temperature", "hot"),
        ("calibration", 0.5),
        ("prior", 3),
        ("estimator", 5),
        ("judge", 5),
        ("answer", 5),
    ],
)
def test_terms_that_cannot_be_meant_are_refused_before_the_model_is_asked(option: str, value: object) -> None:
    given: Any = {"model": Untouched(default=HALF), "judge": "exact", option: value}
    with pytest.raises(InputError, match=option):
        check("Capital of France?", **given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Budget(samples=2.5),  # type: ignore[arg-type]
        lambda: Budget(samples=math.nan),  # type: ignore[arg-type]
        lambda: Budget(tokens="many"),  # type: ignore[arg-type]
        lambda: Budget(seconds=math.nan),
        lambda: Decided(0.7, math.nan),
        lambda: Decided(0.7, "high"),  # type: ignore[arg-type]
        lambda: VarianceBelow("small"),  # type: ignore[arg-type]
        lambda: VarianceBelow(math.nan),
        lambda: FixedSamples(2.5),  # type: ignore[arg-type]
        lambda: FixedSamples(0),
        lambda: Rounds(1.5),  # type: ignore[arg-type]
        lambda: Rounds(1, math.nan),
    ],
)
def test_rules_and_budgets_refuse_what_is_no_number(make: Any) -> None:
    with pytest.raises(InputError):
        make()


def test_numbers_of_numpy_are_numbers() -> None:
    verdict = check(
        "Capital?",
        model=ScriptedModel(default={"Paris": 0.99, "Lyon": 0.01}),
        judge="exact",
        threshold=np.float32(0.7),  # type: ignore[typeddict-item]
        budget=Budget(samples=np.int64(3)),  # type: ignore[arg-type]
        rng=1,
    )
    assert verdict.outcome is Outcome.STEADY
    assert Verdict.from_json(verdict.to_json()).threshold == pytest.approx(0.7)


def test_no_sample_decides_nothing_that_is_undecided() -> None:
    verdict = check(
        "Capital?", model=ScriptedModel(default=HALF), judge="exact", budget=Budget(samples=0), rng=1
    )
    assert verdict.outcome is Outcome.UNDECIDED
    assert "decides" not in verdict.explain()
    assert "No sample was drawn" in verdict.explain()


def test_a_flag_on_another_meaning_does_not_call_the_model_unsure() -> None:
    sure = ScriptedModel(default={"Paris": 0.97, "Lyon": 0.03})
    verdict = check("Capital?", model=sure, judge="exact", answer="Berlin", rng=1)
    assert verdict.flagged
    assert verdict.entropy.mean < verdict.threshold
    assert "unsure" not in verdict.explain()
    assert "mostly says something else" in verdict.explain()
    many = ScriptedModel(default=dict.fromkeys("abcdefghij", 0.1))
    assert "the model is unsure" in check("Capital?", model=many, judge="exact", rng=1).explain()


@pytest.mark.parametrize(("probability", "word"), [(0.3, "Possibly"), (0.8, "Probably")])
def test_probably_is_more_than_one_half(probability: float, word: str) -> None:
    verdict = Verdict(
        "?", "Paris", Outcome.FLAGGED, Entropy(0.9), (), Spent(), Reason.FIXED, probability=probability
    )
    assert verdict.headline() == f'{word} made up ({probability:.0%}): "Paris".'


def test_silence_gets_no_notes_on_a_belief() -> None:
    verdict = check("?", model=ScriptedModel(default={"": 1.0}), judge="exact", rng=1)
    assert (verdict.outcome, verdict.warnings) == (Outcome.NO_ANSWER, ())

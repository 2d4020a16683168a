"""What a verdict may claim, and which terms are refused before the model is asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from semtropy import (
    Budget,
    Decided,
    Evidence,
    FixedSamples,
    Price,
    Rounds,
    Sample,
    VarianceBelow,
    check,
    load_estimator,
)
from semtropy.calibration import Calibration, Isotonic, Logistic
from semtropy.errors import InputError
from semtropy.estimators import LearnedPrior
from semtropy.models import ScriptedModel
from semtropy.nouns import JudgedAnswer
from semtropy.stopping import RELAXATION, Reason, Spent, suspicion
from semtropy.verdict import THRESHOLD, Entropy, Outcome, Verdict

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


class Wordy:
    """Always gives one answer, of 50 tokens."""

    name = "wordy"

    def __init__(self, text: str = "Rome") -> None:
        self.text = text

    def sample(self, prompt: object, n: int, **options: object) -> list[Sample]:
        return [Sample(self.text, token_count=50)] * n


def test_a_given_answer_is_not_paid_for() -> None:
    """Every token is one of a sample: the next one must fit into what is left."""
    budget = Budget(samples=10, tokens=150)
    verdict = check(
        "Capital?", model=Wordy(), answer="Rome", judge="exact", rule=VarianceBelow(0.0), budget=budget
    )
    assert (verdict.spent.tokens, verdict.spent.answers) == (150, 0)
    assert Price(per_sample=1.0).of(verdict.spent) == 3.0
    drawn = check("Capital?", model=Wordy(), judge="exact", rule=VarianceBelow(0.0), budget=budget)
    assert drawn.spent.tokens == 150
    assert Price(per_sample=1.0).of(drawn.spent) == 3.0


def test_a_given_answer_is_not_believed_for_a_probability_of_one() -> None:
    certain = Sample("Paris", logprob=0.0, sampling_logprob=0.0)
    verdict = check("Capital?", model=Wordy(), answer=certain, judge="exact")
    assert verdict.samples > 0
    assert verdict.outcome is not Outcome.STEADY


# ---- counts alone, and calibrations --------------------------------------------------------------------------


def counted(own, others):
    counts = (own, *others) if own else others
    return load_estimator("bayes")(Evidence(counts, answer=JudgedAnswer(0 if own else len(others))))


def test_one_dissenting_sample_does_not_end_a_check():
    rule = Decided(THRESHOLD, relaxation=RELAXATION)
    belief = counted(0, (1,))
    assert suspicion(belief, THRESHOLD) > 0.95
    assert rule(belief, Spent(samples=1)) is None
    assert rule(counted(0, (1, 1)), Spent(samples=2)) is Reason.DECIDED_HIGH


def test_with_its_log_probability_one_sample_may_flag():
    belief = load_estimator("bayes")(Evidence((1,), (0.6,), answer=JudgedAnswer(1, math.log(1e-6))))
    assert Decided(THRESHOLD)(belief, Spent(samples=1)) is Reason.DECIDED_HIGH


def test_two_agreeing_samples_are_not_enough_whatever_the_prior():
    """Of answers made up from four, a sixteenth would pass."""
    learned = LearnedPrior()
    for _ in range(100):
        learned.learn(Evidence((5,), answer=JudgedAnswer(0)))
    bayes, rule = load_estimator("bayes", prior=learned.prior), Decided(THRESHOLD)
    beliefs = [bayes(Evidence((n,), answer=JudgedAnswer(0))) for n in (1, 2, 3)]
    reasons = [rule(belief, Spent(samples=n)) for n, belief in enumerate(beliefs, start=1)]
    assert reasons == [None, None, Reason.DECIDED_LOW]


def test_a_budget_of_one_sample_cannot_flag_by_counts():
    terms = {"judge": "exact", "answer": "Paris", "budget": Budget(samples=1)}
    verdict = check("Capital?", model=lambda messages, n, temperature: ["Rome"] * n, **terms)
    assert verdict.outcome == "undecided"


CURVES = {
    "strict": Calibration(Logistic(8.0, -1.0), "bayes", 0.3),
    "lenient": Calibration(Logistic(2.0, -4.0), "bayes", 0.5),
    "without a threshold": Calibration(Logistic(2.0, -1.0), "bayes"),
    "flags nothing": Calibration(Isotonic((0.0, 1.0), (0.1, 0.2)), "bayes", 0.5),
    "flags everything": Calibration(Isotonic((0.0, 1.0), (0.6, 0.8)), "bayes", 0.5),
}


@pytest.mark.parametrize("calibration", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("share", [0.99, 0.8, 0.5, 0.2])
def test_with_a_calibration_the_reason_never_contradicts_the_verdict(calibration, share):
    others = {f"city {k}": (1 - share) / 8 for k in range(8)}
    for seed in range(3):
        model = ScriptedModel(default={"Paris": share, **others})
        verdict = check("Capital?", model=model, judge="exact", calibration=calibration, rng=seed)
        if verdict.reason is Reason.DECIDED_HIGH:
            assert verdict.flagged
        if verdict.reason is Reason.DECIDED_LOW:
            assert not verdict.flagged


def test_a_calibration_decides_how_far_sampling_goes():
    """An entropy of 0.9 nats is far below the lenient calibration's threshold, and above the default one."""
    model = ScriptedModel(default={"Paris": 0.7, **{f"city {k}": 0.1 for k in range(3)}})
    verdict = check("Capital?", model=model, judge="exact", calibration=CURVES["lenient"], rng=1)
    assert (verdict.outcome, verdict.reason) == ("steady", Reason.DECIDED_LOW)
    constant = check("Capital?", model=model, judge="exact", calibration=CURVES["flags nothing"], rng=1)
    assert constant.samples == 0


def test_an_answer_that_the_model_contradicts_is_flagged_whatever_the_calibration():
    model = ScriptedModel(default={"Rome": 1.0})
    verdict = check(
        "Capital?", model=model, judge="exact", answer="Paris", calibration=CURVES["lenient"], rng=1
    )
    assert verdict.flagged

"""A second opinion: what another model's answers count, when it is asked, and what a verdict says of it."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import Budget, Sample, Verdict, acheck, check, stream
from semtropy.calibration import Calibration, Logistic
from semtropy.errors import InputError, ModelError, RateLimited
from semtropy.models import ScriptedModel
from semtropy.models.endpoint import Retry
from semtropy.models.openai import chat
from semtropy.second import MOST_ANSWERS, Opinion, OpinionWeights
from semtropy.verdict import Outcome, score_reason

probabilities = st.floats(0.0, 1.0)
weights = OpinionWeights.default()


def opinions() -> st.SearchStrategy[Opinion]:
    return st.lists(st.integers(0, 2), min_size=1, max_size=8).map(lambda said: Opinion.of(0, said))


@given(probabilities, opinions())
def test_the_score_is_a_probability_and_grows_with_both_agreements(own: float, opinion: Opinion) -> None:
    score = weights(own, [opinion])
    assert 0 < score < 1
    assert weights(min(1.0, own + 0.1), [opinion]) >= score
    if opinion.supports < opinion.answers:
        more = Opinion(opinion.supports + 1, opinion.answers, opinion.repeats)
        assert weights(own, [more]) > score


@given(st.integers(1, 30))
def test_a_model_that_never_repeats_itself_says_less_the_more_it_says(n: int) -> None:
    torn, longer = Opinion(0, n, repeats=0), Opinion(0, n + 5, repeats=0)
    assert longer.weight > torn.weight or n < 3
    assert abs(Opinion(0, 200, repeats=0).weight) < 0.1 < abs(Opinion(0, 200, repeats=199).weight)


def test_an_ignorant_second_model_does_not_flag_a_steady_answer() -> None:
    steady = 0.97
    for n in range(1, 20):
        assert weights(steady, [Opinion(0, n, repeats=0)]) > 0.5


@pytest.mark.parametrize("shipped", [OpinionWeights.default(), OpinionWeights.for_claims()])
def test_one_answer_of_another_model_counts_like_a_sample(shipped: OpinionWeights) -> None:
    assert shipped.other * Opinion(0, 1).steadiness == pytest.approx(shipped.own, rel=0.01)


def test_a_steady_second_model_that_contradicts_flags_the_steadiest_answer() -> None:
    assert weights(1.0, [Opinion(0, MOST_ANSWERS, repeats=MOST_ANSWERS - 1)]) < 0.5
    assert weights(1.0, [Opinion(MOST_ANSWERS, MOST_ANSWERS, repeats=MOST_ANSWERS - 1)]) > 0.9


@given(probabilities, st.permutations([Opinion(1, 1), Opinion(0, 2, 1), Opinion(2, 3, 1)]))
def test_the_order_of_second_models_does_not_matter_and_silent_ones_do_not_count(
    own: float, said: list[Opinion]
) -> None:
    assert weights(own, [*said, Opinion(0, 0)]) == pytest.approx(weights(own, sorted(said, key=repr)))


def test_weights_are_found_again() -> None:
    rng = np.random.default_rng(0)
    own = rng.uniform(0.02, 0.98, 20_000)
    word = rng.normal(0, 1, own.size)
    truth = OpinionWeights(-0.4, 0.7, 1.0)
    odds = np.array([truth.log_odds(float(each)) for each in own]) + truth.other * word
    fitted = OpinionWeights.fit(own, word, rng.random(own.size) < expit(odds))
    assert (fitted.intercept, fitted.own, fitted.other) == pytest.approx((-0.4, 0.7, 1.0), abs=0.08)


def test_a_second_model_that_is_mostly_wrong_counts_little_once_fitted() -> None:
    rng = np.random.default_rng(0)
    own = rng.uniform(0.1, 0.9, 4000)
    right = rng.random(own.size) < own
    noise = rng.choice([-1.2, 1.2], own.size)
    helpful = np.where(right ^ (rng.random(own.size) < 0.1), 1.2, -1.2)
    assert OpinionWeights.fit(own, noise, right).other < 0.4 * OpinionWeights.fit(own, helpful, right).other


def test_weights_survive_being_written() -> None:
    made = OpinionWeights(0.1, 0.2, 0.3, {"answers": 7})
    assert OpinionWeights.from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Opinion(2, 1),
        lambda: Opinion(0, 2, repeats=2),
        lambda: Opinion(0, 1, pooled=1.0),
        lambda: Opinion(0, 1).interval(1.0),
        lambda: OpinionWeights(float("nan"), 1, 1),
        lambda: OpinionWeights(0, -1, 1),
        lambda: OpinionWeights.from_dict({"own": 1}),
        lambda: OpinionWeights.fit([0.5], [0.0], [True]),
        lambda: OpinionWeights.fit([], [], []),
        lambda: OpinionWeights.fit([0.5, 0.5], [0.0, float("nan")], [True, False]),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"opinion|level"):
        wrong()  # type: ignore[operator]


@given(st.floats(-4, 4), st.lists(st.integers(0, 2), max_size=MOST_ANSWERS))
def test_asking_goes_on_only_while_the_verdict_can_change(odds: float, said: list[int]) -> None:
    opinion = Opinion.of(0, said) if said else Opinion(0, 0)
    if not weights.worth_asking(odds, opinion):
        return
    left = MOST_ANSWERS - opinion.answers
    assert left > 0
    ends = [
        odds + weights.other * Opinion.of(0, [*said, *rest]).weight < 0
        for rest in ([0] * left, [(said or [1])[0] or 1] * left)
    ]
    assert ends[0] != ends[1] or len(set(said)) > 1


# Live checks.


PARIS = ScriptedModel(default={"Paris": 1.0}, name="first")
LYON = ScriptedModel(default={"Lyon": 1.0}, name="other")
TORN = ScriptedModel(default=dict.fromkeys("ABCDEFGHIJ", 0.1), name="torn")
QUESTION = "What is the capital of France?"


class Broken:
    """A model whose every request fails, and that counts them."""

    name = "broken"

    def __init__(self, error: Exception) -> None:
        self.error, self.asked = error, 0

    def sample(self, prompt: object, n: int, *, temperature: float, rng: object) -> list[Sample]:
        self.asked += 1
        raise self.error


def checked(**options: Any) -> Verdict:
    return check(QUESTION, **{"model": PARIS, "judge": "exact", "rng": 1, **options})


def test_a_steady_answer_that_another_model_contradicts_is_flagged_with_both_answers() -> None:
    verdict = checked(second=LYON)
    assert verdict.outcome is Outcome.FLAGGED
    assert verdict.headline() == 'Looks steady, but another model disagrees: "Paris".'
    assert 'other says otherwise: "Lyon"' in verdict.explain()
    assert verdict.second is not None
    assert set(verdict.second.answers) == {"Lyon"}
    assert verdict.second.without is Outcome.STEADY
    assert verdict.score is not None
    assert verdict.score < 0.5
    assert "two models disagree" in verdict.explain()
    assert "Another model disagrees." in score_reason(verdict)


def test_a_steady_answer_that_another_model_gives_too_takes_one_answer_of_it() -> None:
    alone, verdict = checked(), checked(second=PARIS)
    assert verdict.outcome is Outcome.STEADY
    assert verdict.second is not None
    assert verdict.second.samples == 1
    assert verdict.samples == alone.samples  # its answers are counted apart
    assert "first gives the same answer (its one answer)." in verdict.explain()
    assert "1 answer of first" in verdict.explain()


def test_a_model_that_contradicts_itself_overrules_nothing() -> None:
    assert checked(second=TORN).outcome is Outcome.STEADY


def test_where_the_answer_is_flagged_anyway_nobody_else_is_asked() -> None:
    asked = Broken(RuntimeError("never"))
    verdict = check(QUESTION, model=TORN, judge="exact", second=asked, rng=1)
    assert verdict.flagged
    assert verdict.second is None
    assert asked.asked == 0
    assert checked(model=TORN, second=LYON, second_when="always").second is not None


def test_an_unsure_answer_that_another_model_gives_too_is_not_flagged() -> None:
    unsure = ScriptedModel(default={"Paris": 0.4, "Lyon": 0.35, "Nice": 0.25})
    options: dict[str, Any] = {"answer": "Paris", "model": unsure, "second_when": "always"}
    verdict = checked(second=PARIS, **options)
    assert verdict.second is not None
    if verdict.second.without is Outcome.FLAGGED and verdict.outcome is Outcome.STEADY:
        assert verdict.headline() == 'Unsure, but another model agrees: "Paris".'
    assert (verdict.score or 0) > (checked(second=LYON, **options).score or 1)


def test_answers_of_another_model_may_be_given() -> None:
    verdict = checked(second=["Lyon", Sample("Lyon"), "Lyon"])
    assert verdict.outcome is Outcome.FLAGGED
    assert verdict.second is not None
    assert (verdict.second.model, verdict.second.samples) == ("another model", 0)


def test_several_models_are_weighed_together() -> None:
    verdict = checked(second=(PARIS, ["Lyon"], LYON), second_when="always")
    assert verdict.second is not None
    assert [each.model for each in (verdict.second, *verdict.second.others)] == [
        "first",
        "another model",
        "other",
    ]
    assert checked(second=(["Lyon"], ["Lyon"])).score < checked(second=["Lyon"]).score  # type: ignore[operator]


@pytest.mark.parametrize(
    "error",
    [
        ModelError("https://second.example: nobody listens"),
        RateLimited("rate limited: try again in 20 s"),
        RuntimeError("a bug"),
        TimeoutError("slow"),
    ],
)
@pytest.mark.parametrize("live", [check, lambda *args, **options: asyncio.run(acheck(*args, **options))])
def test_a_second_model_that_fails_leaves_the_first_verdict_with_a_note(error: Exception, live: Any) -> None:
    second = Broken(error)
    options: dict[str, Any] = {"model": PARIS, "judge": "exact", "rng": 1}
    verdict, alone = live(QUESTION, second=second, **options), live(QUESTION, **options)
    assert second.asked == 1
    assert (verdict.outcome, verdict.score, verdict.second) == (alone.outcome, alone.score, None)
    assert any(
        "broken gave no answer" in note and str(error) in note and "first model alone" in note
        for note in verdict.warnings
    )


@pytest.mark.parametrize("failure", [500, 404, "broken", "cut", "empty", "hang"])
def test_an_endpoint_that_fails_leaves_the_first_verdict(failure: Any) -> None:
    endpoint = ScriptedEndpoint(lambda prompt: {"Lyon": 1.0}, lambda number, body: failure)
    limited = ScriptedEndpoint(
        lambda prompt: {"Lyon": 1.0},
        lambda number, body: (429, {"retry-after": "600"}, {"error": "slow down"}),
    )
    with serving(endpoint) as url, serving(limited) as limited_url:
        second = tuple(
            chat("x", base_url=each, api_key="k", timeout=0.3, retry=Retry(times=0))
            for each in (url, limited_url, "http://127.0.0.1:9/v1")
        )
        verdict = checked(second=second, budget=Budget(samples=10, seconds=20))
        for each in second:
            each.close()
    assert verdict.outcome is Outcome.STEADY
    assert verdict.second is None
    assert len([note for note in verdict.warnings if "gave no answer" in note]) == 3


@pytest.mark.parametrize("text", ["", "I'm sorry, but I can't help with that."])
def test_a_refusal_is_no_contradiction(text: str) -> None:
    verdict = checked(second=[text])
    assert verdict.outcome is Outcome.STEADY
    assert verdict.second is None
    assert any("gave no answer" in note for note in verdict.warnings)


def test_a_second_model_that_hangs_does_not_pass_the_time_limit() -> None:
    released = threading.Event()

    def hang(messages: object, n: int, temperature: float) -> list[str]:
        released.wait(30)
        return ["late"] * n

    start = time.monotonic()
    verdict = checked(second=hang, budget=Budget(samples=10, seconds=1.0))
    released.set()
    assert time.monotonic() - start < 10
    assert verdict.outcome is Outcome.STEADY
    assert any("did not answer in time" in note for note in verdict.warnings)


@pytest.mark.parametrize("limit", range(0, 12))
def test_own_samples_and_answers_of_second_models_stay_within_one_budget(limit: int) -> None:
    verdict = checked(second=(LYON, TORN), second_when="always", budget=Budget(samples=limit))
    asked = [] if verdict.second is None else [verdict.second, *verdict.second.others]
    assert verdict.samples + sum(each.samples for each in asked) <= limit


def test_tokens_of_both_models_count_against_the_budget() -> None:
    verdict = checked(second=LYON, budget=Budget(samples=10, tokens=4))
    spent = verdict.spent.tokens or 0
    assert spent + (0 if verdict.second is None else verdict.second.tokens or 0) <= 4


def test_both_drivers_agree_and_a_verdict_survives_json() -> None:
    options: dict[str, Any] = {"model": PARIS, "judge": "exact", "rng": 3, "second": (LYON, TORN)}
    one, other = check(QUESTION, **options), asyncio.run(acheck(QUESTION, **options))
    again = Verdict.from_json(one.to_json())
    assert one.second == other.second == again.second
    assert one.score == other.score == again.score
    assert one.headline() == again.headline()


def test_the_last_step_alone_has_a_reason_and_the_opinions() -> None:
    steps = list(stream(QUESTION, model=PARIS, judge="exact", second=LYON, rng=1))
    assert [step.reason is not None for step in steps] == [False] * (len(steps) - 1) + [True]
    assert [bool(step.second) for step in steps] == [False] * (len(steps) - 1) + [True]


def test_a_calibrated_probability_is_moved_and_its_threshold_holds() -> None:
    calibration = Calibration(Logistic(2.0, -2.0), "bayes", threshold=0.3)
    agree, differ = (checked(second=each, calibration=calibration) for each in (PARIS, LYON))
    assert agree.outcome is Outcome.STEADY
    assert differ.outcome is Outcome.FLAGGED
    assert agree.probability is not None
    assert differ.probability is not None
    assert agree.probability < 0.3 < differ.probability
    assert differ.score == pytest.approx(1 - differ.probability)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"second": LYON, "second_when": "sometimes"}, "second_when"),
        ({"second": [1]}, "second has an answer of type"),
        ({"second": LYON, "choices": ["a", "b"]}, "plain text"),
        ({"second": 5}, "is of type int"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        checked(**options)

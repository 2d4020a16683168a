"""Answers that are given: weighed by one request where the endpoint can, unknown where it cannot."""

from __future__ import annotations

import asyncio
import math
from contextlib import closing

import pytest

from semtropy import Budget, FixedSamples, Sample, acheck, check, stream
from semtropy.models.openai import echoed, prompted
from semtropy.testing import PROVIDERS, emulate

QUESTION = "Which city has the tower?"
SPREAD = {"New York": 0.5, "New Orleans": 0.2, "Paris": 0.3}
SURE = {"Paris": 0.98, "New York": 0.02}


def known(endpoint, kind="openai"):
    """A model of the endpoint that has seen what it gives."""
    model = endpoint.model(kind)
    model.sample(QUESTION, 1)
    return model


@pytest.mark.parametrize("kind", ["openai", "completions"])
@pytest.mark.parametrize("text", SPREAD)
def test_the_log_probability_is_that_of_the_whole_answer(kind, text):
    with emulate("vllm", SPREAD) as endpoint, closing(known(endpoint, kind)) as model:
        weighed = asyncio.run(awaited(model, text))
    assert weighed.text == text
    assert weighed.sampling_logprob == pytest.approx(math.log(SPREAD[text]))
    assert len(weighed.tokens) == len(text.split()) + 1


async def awaited(model, text):
    try:
        return await model.aweigh(QUESTION, Sample(text))
    finally:
        await model.aclose()


async def awaited_check(model):
    try:
        return await acheck(QUESTION, model=model, judge="exact", answer="Paris", budget=Budget(samples=0))
    finally:
        await model.aclose()


@pytest.mark.parametrize("kind", ["openai", "completions"])
def test_a_given_answer_may_be_judged_without_any_sample(kind):
    with emulate("vllm", SURE) as endpoint, closing(known(endpoint, kind)) as model:
        before = endpoint.drawn
        verdict = check(QUESTION, model=model, judge="exact", answer="Paris")
        awaited = asyncio.run(awaited_check(model))
        assert endpoint.drawn == before
    assert (verdict.outcome, verdict.samples) == ("steady", 0)
    assert awaited.agreement.mean == pytest.approx(verdict.agreement.mean)
    assert verdict.agreement.mean > 0.9


def test_an_answer_the_model_would_never_give_is_flagged_by_samples():
    with emulate("vllm", SURE) as endpoint, closing(known(endpoint)) as model:
        verdict = check(QUESTION, model=model, judge="exact", answer="Oslo", rng=1)
    assert verdict.outcome == "flagged"
    assert verdict.samples >= 1
    assert verdict.meanings[-1].floor < 1e-6


@pytest.mark.parametrize("kind", ["openai", "completions"])
def test_a_right_answer_is_not_flagged_for_words_the_model_would_not_use(kind):
    """It was "likely made up" with an entropy of 5 nats, before any sample."""
    with emulate("vllm", SURE) as endpoint, closing(known(endpoint, kind)) as model:
        verdict = check(QUESTION, model=model, answer="The city with the tower is Paris.", rng=1)
    assert verdict.outcome == "steady"
    assert verdict.samples >= 1
    assert verdict.entropy.mean < 0.5


def test_an_answer_of_unlikely_words_without_any_sample_is_undecided():
    with emulate("vllm", SURE) as endpoint, closing(known(endpoint)) as model:
        verdict = check(QUESTION, model=model, judge="exact", answer="Oslo", budget=Budget(samples=0))
    assert verdict.outcome == "undecided"


def test_the_first_check_weighs_once_samples_have_shown_that_it_can():
    with emulate("vllm", {"Paris": 0.7, "Rome": 0.3}) as endpoint, closing(endpoint.model()) as model:
        steps = [*stream(QUESTION, model=model, judge="exact", answer="Paris", rng=5)]
        weighing = [body for body in endpoint.requests if "prompt_logprobs" in body]
    assert steps[0].answer.sampling_logprob is None or len(steps[0].samples) > 0
    assert len(weighing) <= 1
    if len(steps) > 1:
        assert steps[1].evidence.answer.logprob == pytest.approx(math.log(0.7))


@pytest.mark.parametrize("name", sorted({*PROVIDERS} - {"vllm"}))
def test_where_the_endpoint_cannot_it_stays_unknown(name):
    with emulate(name, SURE) as endpoint, closing(known(endpoint)) as model:
        verdicts = [
            check(QUESTION, model=model, judge="exact", answer="Paris", budget=Budget(samples=3), rng=seed)
            for seed in range(3)
        ]
        weighing = [body for body in endpoint.requests if "prompt_logprobs" in body]
    assert all(verdict.samples >= 1 for verdict in verdicts)
    # Endpoints that return log-probabilities of whole answers are asked once; the others never.
    assert len(weighing) == (endpoint.provider.logprobs == "end")


@pytest.mark.parametrize("answer", ["", "  "])
def test_no_answer_is_not_weighed(answer):
    with emulate("vllm", SURE) as endpoint, closing(known(endpoint)) as model:
        before = len(endpoint.requests)
        assert check(QUESTION, model=model, judge="exact", answer=answer).outcome == "no answer"
        assert len(endpoint.requests) == before
        assert not [body for body in endpoint.requests if "prompt_logprobs" in body]


def place(token, logprob, *, rank=1, likeliest=None):
    entries = {"5": {"logprob": logprob, "rank": rank, "decoded_token": token}}
    if likeliest is not None:
        entries["3"] = {"logprob": -0.1, "rank": 1, "decoded_token": likeliest}
    return entries


ENDED = [place("<|im_end|>", -0.2), place("\n", -0.01)]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([place("assistant", -1), place("\n", -1), place("Par", -0.5), place("is", -0.1), *ENDED], -0.8),
        ([place("Par", -3, rank=4, likeliest="Rome"), place("is", -0.1), *ENDED], -3.3),
        ([place("Paris", -9), place("?", -9), place("\n", -9), place(" Paris", -0.5), *ENDED], -0.7),
        ([place("</think>", -1), place("\n\n", -1), place("Paris", -0.5), *ENDED], None),
        ([place("Par", -0.5), place("�", -0.1), *ENDED], None),
        ([place("Paris", -0.5)], None),
        ([place("Paris", 0.0), place("<|im_end|>", 0.0)], None),
    ],
)
def test_the_answer_is_found_at_the_end_of_the_prompt(tokens, expected):
    weighed = prompted({"prompt_logprobs": [None, *tokens]}, Sample("Paris"))
    assert (None if weighed is None else pytest.approx(weighed.sampling_logprob)) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([("Answer", None), (":", -1), (" Par", -0.5), ("is", -0.2), ("\n\n", -0.1), ("Q", -9)], -0.8),
        ([("Answer", None), (": P", -1), ("aris", -0.2), ("\n\n", -0.1), ("Q", -9)], None),
        ([("Answer", None), (":", -1), (" Rome", -0.2), ("\n\n", -0.1)], None),
        ([("Answer", None), (":", -1), (" Paris", None), ("\n\n", -0.1)], None),
    ],
)
def test_the_answer_is_found_in_an_echo(tokens, expected):
    logprobs = {"tokens": [token for token, _ in tokens], "token_logprobs": [value for _, value in tokens]}
    weighed = echoed({"choices": [{"logprobs": logprobs}]}, "Answer:", Sample("Paris"))
    assert (None if weighed is None else pytest.approx(weighed.sampling_logprob)) == expected


def test_a_given_log_probability_is_that_of_the_same_sample_not_of_another():
    answer = Sample("Paris", logprob=math.log(0.7) + 0.001)
    with emulate("vllm", {"Paris": 0.7, "Rome": 0.3}) as endpoint, closing(endpoint.model()) as model:
        verdict = check(QUESTION, model=model, judge="exact", answer=answer, rng=2, budget=Budget(samples=5))
    floors = {meaning.text: meaning.floor for meaning in verdict.meanings}
    assert floors["Paris"] == pytest.approx(0.7, abs=0.01)


def test_log_probabilities_that_cannot_be_are_left_out_and_said():
    """Believed, they would end the check with an error."""

    def ask(messages, n, temperature):
        return [Sample(text, -0.1) for text in ["Paris", "Rome", "Oslo", "Bern"][:n]]

    verdict = check(QUESTION, model=ask, judge="exact", rule=FixedSamples(4))
    assert verdict.samples == 4
    assert verdict.outcome == "flagged"
    assert any("sum to more than 1" in warning for warning in verdict.warnings)

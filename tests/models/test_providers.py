"""Every kind of endpoint model against every provider's emulator: what a model promises, and the verdicts."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from contextlib import closing, contextmanager

import numpy as np
import pytest

from semtropy import Budget, FixedSamples, check
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.models.openai import THINKING_TOKENS, known_refusals
from semtropy.models.replies import chat_sample
from semtropy.nouns import Model, Sample
from semtropy.recording import read_recording
from semtropy.testing import PROVIDERS, emulate
from semtropy.testing.emulator import TokenModel, tokens_of
from semtropy.testing.providers import BY_NAME
from semtropy.verdict import Outcome

QUESTION = "Which city has the tower?"
SPREAD = {"New York": 0.5, "New Orleans": 0.2, "Paris": 0.3}
SURE = {"Paris": 1.0}
CASES = [
    (name, kind)
    for name, provider in BY_NAME.items()
    for kind in ("openai", *(["completions"] if provider.completions else []))
]


@contextmanager
def asked(name, answers=SPREAD, kind="openai", **options):
    with emulate(name, answers) as endpoint, closing(endpoint.model(kind, **options)) as model:
        yield endpoint, model


@pytest.fixture(params=CASES, ids=lambda case: f"{case[1]} at {case[0]}")
def case(request):
    name, kind = request.param
    with asked(name, kind=kind) as (endpoint, model):
        yield endpoint, model


def test_it_draws_as_many_as_asked_for(case):
    _, model = case
    assert isinstance(model, Model)
    for n in (1, 3, 7):
        samples = model.sample(QUESTION, n, rng=np.random.default_rng(n))
        assert len(samples) == n
        assert all(isinstance(sample, Sample) for sample in samples)
        assert {sample.text for sample in samples} <= set(SPREAD)
        assert all(sample.complete for sample in samples)


def test_draws_follow_the_distribution(case):
    _, model = case
    found = Counter(sample.text for sample in model.sample(QUESTION, 150, rng=np.random.default_rng(3)))
    for text, share in SPREAD.items():
        assert found[text] / 150 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 150))


def test_a_log_probability_is_that_of_the_answer_or_unknown(case):
    endpoint, model = case
    samples = model.sample(QUESTION, 8, rng=np.random.default_rng(4))
    known = endpoint.provider.logprobs == "end" and not endpoint.provider.thinking
    for sample in samples:
        if known:
            assert sample.logprob == pytest.approx(math.log(SPREAD[sample.text]), abs=1e-6)
        else:
            assert sample.logprob is None
        left_out = endpoint.provider.logprobs == "no end" and not endpoint.provider.thinking
        assert (sample.prefix_logprob is not None) == left_out
        if left_out:  # without its end an answer is at least as probable
            assert sample.prefix_logprob >= math.log(SPREAD[sample.text]) - 1e-6


def test_tokens_are_counted_with_those_spent_on_thinking(case):
    endpoint, model = case
    samples = model.sample(QUESTION, 4, rng=np.random.default_rng(5))
    assert all(sample.token_count is not None for sample in samples)
    assert sum(sample.token_count for sample in samples) >= 4 * (endpoint.provider.thinking + 1)


def test_what_is_refused_is_learned_once(case):
    endpoint, model = case
    model.sample(QUESTION, 3, temperature=0.1)
    model.sample(QUESTION, 3)
    before = len(endpoint.requests)
    model.sample(QUESTION, 3, temperature=0.1)
    model.sample(QUESTION, 3)
    later = endpoint.requests[before:]
    assert all(endpoint.provider.refusal(body) is None for body in later)
    assert len(later) == (2 if endpoint.provider.choices >= 3 else 6)


def test_awaiting_gives_what_calling_gives(case):
    endpoint, model = case

    async def drawn():
        samples = await model.asample(QUESTION, 5, rng=np.random.default_rng(4))
        await model.aclose()
        return samples

    called = model.sample(QUESTION, 5, rng=np.random.default_rng(4))
    awaited = asyncio.run(drawn())
    assert len(awaited) == len(called) == 5
    if endpoint.provider.seeds and "seed" not in model.refused:
        assert [sample.text for sample in awaited] == [sample.text for sample in called]


def test_the_temperature_of_an_answer_is_known(case):
    endpoint, model = case
    (sample,) = model.sample(QUESTION, 1, temperature=0.1)
    assert sample.temperature == (0.1 if endpoint.provider.temperatures == "any" else 1.0)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_check_gives_the_right_verdict_everywhere(name):
    with asked(name, SURE) as (_, model):
        steady = check(QUESTION, model=model, judge="exact", rng=1)
    ten = {f"{letter}ville": 0.1 for letter in "ABCDEFGHIJ"}
    with asked(name, ten) as (_, model):
        unsure = check(QUESTION, model=model, judge="exact", rng=1)
    assert steady.outcome is Outcome.STEADY
    assert unsure.outcome is Outcome.FLAGGED
    assert steady.answer == "Paris"


@pytest.mark.parametrize("name", PROVIDERS)
def test_no_verdict_rests_on_one_sample_without_log_probabilities(name):
    """Four different answers, each with the log-probability 0.0, were "0.00 nats, steady" after one sample."""
    provider = BY_NAME[name]
    with asked(name, {"Paris": 0.25, "Rome": 0.25, "Oslo": 0.25, "Bern": 0.25}) as (_, model):
        verdict = check(QUESTION, model=model, judge="exact", rng=1)
    assert verdict.outcome is not Outcome.STEADY
    if provider.logprobs != "end":
        assert all(meaning.floor == 0 for meaning in verdict.meanings)
        assert verdict.entropy.variance > 0


@pytest.mark.parametrize("name", ["placeholder-zeros", "placeholder-9999"])
def test_placeholders_do_not_end_a_check_with_an_error(name):
    with asked(name, {"Paris": 0.5, "Rome": 0.5}) as (_, model):
        verdict = check(QUESTION, model=model, judge="exact", rule=FixedSamples(4), rng=1)
    assert verdict.samples == 4
    assert sum("log-probability" in warning for warning in verdict.warnings) == 1


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_answer_at_another_temperature_is_said(name):
    with asked(name, SURE) as (_, model):
        verdict = check(QUESTION, model=model, judge="exact", rng=1)
        at_one = check(QUESTION, model=model, judge="exact", answer_temperature=1.0, rng=1)
    said = [warning for warning in verdict.warnings if "takes no temperature but 1" in warning]
    assert len(said) == (BY_NAME[name].temperatures != "any")
    assert not any("temperature" in warning for warning in at_one.warnings)


@pytest.mark.parametrize("name", ["openai-reasoning", "gemini", "ollama"])
def test_a_model_that_thinks_gets_the_tokens_it_needs(name):
    with asked(name, SURE) as (endpoint, model):
        assert model.sample(QUESTION, 1)[0].text == "Paris"
        model.sample(QUESTION, 1)
    last = endpoint.requests[-1]
    assert last.get("max_completion_tokens", last.get("max_tokens")) in (THINKING_TOKENS, 64)
    assert sum(endpoint.provider.refusal(body) is None for body in endpoint.requests) <= 3


@pytest.mark.parametrize("name", ["openai-reasoning", "gemini", "ollama"])
def test_an_empty_answer_at_its_limit_says_so_and_what_raises_it(name):
    with asked(name, SURE, max_tokens=10) as (_, model):
        verdict = check(QUESTION, model=model, judge="exact", budget=Budget(samples=2))
    assert verdict.outcome is Outcome.NO_ANSWER
    assert "token limit" in verdict.explain()
    assert "--max-tokens" in verdict.explain()


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_budget_on_tokens_is_kept_everywhere(name):
    with asked(name, SPREAD) as (endpoint, model):
        model.sample(QUESTION, 1)
        each = endpoint.provider.thinking + 3
        budget = Budget(samples=50, tokens=6 * each)
        verdict = check(QUESTION, model=model, judge="exact", rule=FixedSamples(50), budget=budget, rng=2)
    assert verdict.spent.tokens is not None
    assert not any("count its tokens" in warning for warning in verdict.warnings)


@pytest.mark.parametrize("name", PROVIDERS)
def test_generate_finds_out_whether_the_end_is_counted(name, tmp_path, capsys):
    questions = tmp_path / "questions.txt"
    questions.write_text("Which city?\nWhich other city?\n")
    with emulate(name, SPREAD) as endpoint:
        command = ["generate", "--dataset", str(questions), "--model", f"openai:{endpoint.provider.example}"]
        command += ["--model-option", f"base_url={endpoint.base_url}", "--samples", "3", "--no-p-true"]
        assert main([*command, "--out", str(tmp_path / "run")]) == 0
    recording = read_recording(tmp_path / "run")
    assert recording.header.eos_included is {"end": True, "no end": False}.get(endpoint.provider.logprobs)
    assert {row.question for row in recording} == {"Which city?", "Which other city?"}
    usable = [sample.logprob is not None for row in recording for sample in row.samples]
    assert all(usable) == any(usable) == (endpoint.provider.logprobs == "end")
    temperatures = {row["answer"]["temperature"] for row in recording}
    assert temperatures == {0.1 if endpoint.provider.temperatures == "any" else 1.0}


def test_thinking_that_came_with_log_probabilities_is_not_part_of_the_answer():
    tokens = ["<think>", "hmm", "</think>", "Paris", "<|im_end|>"]
    content = [{"token": token, "logprob": -0.1, "bytes": list(token.encode())} for token in tokens]
    choice = {
        "message": {"content": "<think>hmm</think>\n\nParis"},
        "finish_reason": "stop",
        "logprobs": {"content": content},
    }
    sample = chat_sample(choice)
    assert (sample.text, sample.logprob, sample.token_count) == ("Paris", None, 5)


def test_the_emulated_model_has_the_probabilities_it_was_given():
    model = TokenModel(SPREAD)
    for text, share in SPREAD.items():
        assert math.exp(sum(value for _, value in model.weighed(tokens_of(text)))) == pytest.approx(share)


def test_an_unknown_provider_is_named():
    with (
        pytest.raises(InputError, match="unknown provider 'acme': choose from openai"),
        emulate("acme", SURE),
    ):
        pass


def test_the_command_line_works_with_each(monkeypatch, capsys):
    for name in PROVIDERS:
        with emulate(name, SURE) as endpoint:
            model = f"openai:{endpoint.provider.example}"
            command = [
                "check",
                QUESTION,
                "--model",
                model,
                "--base-url",
                endpoint.base_url,
                "--judge",
                "exact",
            ]
            assert main([*command, "--json"]) == 0, name
        assert json.loads(capsys.readouterr().out)["answer"] == "Paris"


def test_what_a_named_model_refuses_is_remembered_between_checks(monkeypatch):
    with emulate("openai-reasoning", SURE) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        options = {"model": "openai:gpt-5-mini", "judge": "exact", "rng": 1}
        check(QUESTION, **options)
        before = len(endpoint.requests)
        check(QUESTION, **options)
    assert all(endpoint.provider.refusal(body) is None for body in endpoint.requests[before:])


def test_one_refusal_teaches_all_that_gemini_refuses():
    with asked("gemini", SURE) as (endpoint, model):
        assert model.sample(QUESTION, 1)[0].text == "Paris"
        assert [endpoint.provider.refusal(body) is None for body in endpoint.requests] == [False, True]
        assert {"exact", "logprobs", "seed", "thinking"} <= model.refused


def test_at_its_own_address_gemini_takes_one_round_trip():
    with asked("gemini", SURE) as (endpoint, model):
        model.refused |= known_refusals(endpoint.provider.base_url)
        verdict = check(QUESTION, model=model, judge="exact", rng=1)
        refused = [body for body in endpoint.requests if endpoint.provider.refusal(body) is not None]
    assert (verdict.outcome, verdict.spent.rounds) == (Outcome.STEADY, 1)
    assert [sorted(set(body) & {"n"}) for body in refused] == [["n"]], (
        "whether it takes n depends on the model"
    )


def test_ollama_is_known_by_its_first_reply():
    with asked("ollama", SURE) as (endpoint, model):
        model.sample(QUESTION, 1)
        before = len(endpoint.requests)
        assert len(model.sample(QUESTION, 5)) == 5
        later = endpoint.requests[before:]
    assert len(later) == 5
    assert not any("n" in body for body in later), "one of them alone would be a round trip more"


def test_more_answers_than_one_request_may_ask_for():
    with asked("openai", SPREAD) as (endpoint, model):
        assert len(model.sample(QUESTION, 150)) == 150
        sizes = [body["n"] for body in endpoint.requests if endpoint.provider.refusal(body) is None]
    assert sorted(sizes) == [22, 64, 64]

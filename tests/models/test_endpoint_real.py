"""The endpoint models against a real llama.cpp server on loopback: ends found out, probabilities its own."""

from __future__ import annotations

import asyncio
import math
from contextlib import closing

import numpy as np
import pytest

from semtropy.checking import Checker
from semtropy.errors import PromptTooLong
from semtropy.models import load_model
from semtropy.stopping import FixedSamples, Reason

KNOWN = "What is the capital of France?"


def test_plain_completions_price_the_line_break_that_ends_the_answer(llama_url, smollm2):
    with closing(load_model("completions:smollm2", base_url=llama_url, max_tokens=16)) as model:
        samples = model.sample(KNOWN, 6, rng=np.random.default_rng(1))
        paris = [sample for sample in samples if sample.text == "Paris"]
    assert paris
    inside = next(s for s in smollm2.sample(KNOWN, 6, rng=np.random.default_rng(5)) if s.text == "Paris")
    for sample in paris:
        assert sample.complete
        assert sample.tokens[-1] in ("\n", "\n\n", "")
        # One way to end is not likelier than all of them together, nor much less here; the rest is the noise
        # between tokens evaluated in a batch and alone.
        assert math.exp(sample.logprob) < math.exp(inside.logprob) + 0.1
    likeliest = max(math.exp(sample.logprob) for sample in paris)
    assert likeliest > 0.5 * math.exp(inside.logprob)


def test_chat_counts_the_end_token(tiny_llama_url):
    with closing(load_model("openai:tiny", base_url=tiny_llama_url, max_tokens=48)) as model:
        samples = model.sample("Reply with one word: yes or no?", 8, rng=np.random.default_rng(2))
    ended = [sample for sample in samples if sample.complete]
    assert ended, "some of eight brief answers end within 48 tokens"
    for sample in ended:
        assert sample.logprob == pytest.approx(math.fsum(sample.token_logprobs))
        assert "".join(sample.tokens[:-1]).strip() == sample.text
    assert all(sample.logprob is None for sample in samples if not sample.complete)


def test_more_answers_than_the_server_has_slots(tiny_llama_url):
    with closing(load_model("completions:tiny", base_url=tiny_llama_url, max_tokens=4)) as model:
        assert len(model.sample(KNOWN, 6)) == 6


def test_a_prompt_longer_than_the_context_is_named(tiny_llama_url):
    with closing(load_model("openai:tiny", base_url=tiny_llama_url)) as model, pytest.raises(PromptTooLong):
        model.sample("why " * 9000, 1)


def test_checks_run_side_by_side(llama_url):
    async def three():
        model = load_model("completions:smollm2", base_url=llama_url, max_tokens=8, concurrency=2)
        checker = Checker.load(model=model, judge="exact", estimator="histogram", rule=FixedSamples(5))
        questions = [KNOWN, "Who wrote Hamlet?", "Who was the mayor of Timisoara in 1911?"]
        verdicts = await asyncio.gather(*(checker.acheck(q, rng=1) for q in questions))
        await model.aclose()
        return questions, verdicts

    questions, verdicts = asyncio.run(three())
    assert [verdict.question for verdict in verdicts] == questions
    # Eight tokens may cut the obscure answer off.
    assert all(verdict.reason in (Reason.FIXED, Reason.NO_ANSWER) for verdict in verdicts)
    assert verdicts[0].entropy.mean < verdicts[2].entropy.mean

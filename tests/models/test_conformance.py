"""What every model promises, run for every model that is available here."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from contextlib import closing, nullcontext

import numpy as np
import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy.errors import ModelError
from semtropy.models import FORMS, load_model
from semtropy.models.replay import Replay
from semtropy.models.scripted import ScriptedModel
from semtropy.nouns import Model, Sample

QUESTION = "What is the capital of France?"
SPREAD = {"Paris": 0.8, "Lyon": 0.2}


def scripted(request, folder):
    path = folder / "script.json"
    path.write_text(json.dumps({QUESTION: SPREAD}))
    return nullcontext(load_model(f"scripted:{path}"))


def replayed(request, folder):
    path = folder / "run.jsonl"
    samples = [{"text": "Paris", "logprob": math.log(0.8)}] * 4 + [{"text": "Lyon", "logprob": math.log(0.2)}]
    row = {"id": "1", "question": QUESTION, "answer": {"text": "Paris"}, "samples": samples}
    header = {"semtropy_recording": 1, "temperature": 1.0, "eos_included": True}
    path.write_text(f"{json.dumps(header)}\n{json.dumps(row)}\n")
    return nullcontext(load_model(f"replay:{path}"))


def smollm2(request, folder):
    return nullcontext(request.getfixturevalue("smollm2"))


def gguf(request, folder):
    return nullcontext(request.getfixturevalue("gguf_model"))


def gguf_brief(request, folder):
    return nullcontext(request.getfixturevalue("gguf_brief_model"))


def hf(request, folder):
    return nullcontext(request.getfixturevalue("tiny_hf"))


def against(kind):
    def make(request, folder):
        url = request.getfixturevalue("scripted_url")
        return closing(load_model(f"{kind}:m", base_url=url))

    return make


def real(kind):
    def make(request, folder):
        url = request.getfixturevalue("tiny_llama_url")
        return closing(load_model(f"{kind}:tiny", base_url=url, max_tokens=6))

    return make


@pytest.fixture(scope="module")
def scripted_url():
    with serving(ScriptedEndpoint(lambda prompt: SPREAD)) as url:
        yield url


@pytest.fixture(scope="module")
def gguf_model(tiny_gguf):
    return load_model(f"gguf:{tiny_gguf}", max_tokens=6)


@pytest.fixture(scope="module")
def gguf_brief_model(tiny_gguf):
    return load_model(f"gguf-brief:{tiny_gguf}", max_tokens=6)


@pytest.fixture(scope="module")
def tiny_hf(tmp_path_factory):
    pytest.importorskip("torch", reason="the extra `transformers` is not installed")
    from tiny_checkpoint import make_checkpoint

    folder = make_checkpoint(tmp_path_factory.mktemp("tiny"), context=1024)
    return load_model(f"hf:{folder}", max_tokens=12)


MAKERS = {
    "scripted": scripted,
    "replay": replayed,
    "smollm2": smollm2,
    "gguf": gguf,
    "gguf-brief": gguf_brief,
    "hf": hf,
    "openai": against("openai"),
    "completions": against("completions"),
    "openai, llama.cpp's server": real("openai"),
    "completions, llama.cpp's server": real("completions"),
}


@pytest.fixture(params=MAKERS)
def model(request, tmp_path):
    with MAKERS[request.param](request, tmp_path) as made:
        yield made


def test_every_registered_model_is_here():
    assert {form.partition(":")[0] for form in FORMS} <= set(MAKERS)


def test_it_draws_as_many_as_asked_for(model):
    assert isinstance(model, Model)
    assert model.name
    for n in (1, 2):
        samples = model.sample(QUESTION, n, rng=np.random.default_rng(0))
        assert len(samples) == n
        assert all(isinstance(sample, Sample) for sample in samples)
        assert all(sample.text == sample.text.strip() for sample in samples)


def test_log_probabilities_are_log_probabilities(model):
    for sample in model.sample(QUESTION, 4, rng=np.random.default_rng(1)):
        if sample.logprob is not None:
            assert sample.logprob <= 0
            assert math.isfinite(sample.logprob)
        if sample.logprob is not None and sample.token_logprobs is not None:
            assert sample.logprob == pytest.approx(math.fsum(sample.token_logprobs), abs=1e-9)
        if sample.tokens is not None and sample.token_logprobs is not None:
            assert len(sample.tokens) == len(sample.token_logprobs)


def test_the_tokens_of_a_single_answer_spell_it(model):
    for temperature in (1.0, 0.1):
        (answer,) = model.sample(QUESTION, 1, temperature=temperature, rng=np.random.default_rng(1))
        if answer.pieces is None or not answer.complete or "\ufffd" in answer.text:
            continue
        assert answer.text in "".join(text for text, _ in answer.pieces)
        known = (answer.sampling_logprob, answer.logprob, answer.prefix_logprob)
        total = next(value for value in known if value is not None)
        assert math.fsum(value for _, value in answer.pieces) == pytest.approx(total, abs=1e-6)


def test_the_same_sequence_has_the_same_probability(model):
    known: dict[object, float] = {}
    for sample in model.sample(QUESTION, 8, rng=np.random.default_rng(2)):
        if sample.logprob is not None and sample.tokens is not None:
            # A server that batches requests rounds differently each time.
            assert known.setdefault(sample.tokens, sample.logprob) == pytest.approx(sample.logprob, abs=0.2)
    probabilities = {tokens: math.exp(logprob) for tokens, logprob in known.items()}
    assert math.fsum(probabilities.values()) < 1.05


def test_a_low_temperature_is_steadier(model):
    def commonest(temperature: float) -> int:
        drawn = model.sample(QUESTION, 5, temperature=temperature, rng=np.random.default_rng(3))
        return Counter(sample.text for sample in drawn).most_common(1)[0][1]

    cold = commonest(0.05)
    assert cold >= commonest(1.0)
    assert cold >= 4


def test_awaiting_gives_what_calling_gives(model):
    """The same `rng`, the same answers; a model without an awaitable twin is awaited in a thread, as `acheck` does."""

    async def drawn():
        rng = np.random.default_rng(4)
        if not hasattr(model, "asample"):
            return await asyncio.to_thread(model.sample, QUESTION, 3, rng=rng)
        samples = await model.asample(QUESTION, 3, rng=rng)
        if hasattr(model, "aclose"):
            await model.aclose()
        return samples

    # A server rounds differently before its cache is filled.
    model.sample(QUESTION, 3, rng=np.random.default_rng(3))
    called = model.sample(QUESTION, 3, rng=np.random.default_rng(4))
    awaited = asyncio.run(drawn())
    assert len(called) == 3
    assert [sample.text for sample in awaited] == [sample.text for sample in called]
    assert [sample.tokens for sample in awaited] == [sample.tokens for sample in called]


@pytest.mark.parametrize("prompt", ["法国的首都是哪里？", "ما هي عاصمة فرنسا؟", "🇫🇷 è\ncapital?"])
def test_any_script_is_answered_or_refused_by_name(model, prompt):
    if isinstance(model, Replay | ScriptedModel):
        with pytest.raises(ModelError, match=r"no such question|no answers for this prompt"):
            model.sample(prompt, 1)
        return
    (sample,) = model.sample(prompt, 1, rng=np.random.default_rng(5))
    assert sample.text.encode().decode() == sample.text

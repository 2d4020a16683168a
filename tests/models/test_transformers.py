"""`hf:` against a separate forward pass, on a small checkpoint made here."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from semtropy import Sample, check
from semtropy.errors import InputError, ModelError, PromptTooLong
from semtropy.models import load_model
from skips import needs

if TYPE_CHECKING:
    from pathlib import Path

needs("torch", "transformers", reason="the extra `transformers` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

PROMPTS = ["Question: who?\nAnswer:", "Question: nobody, who and where?\nAnswer:", "who"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_checkpoint import make_checkpoint

    return make_checkpoint(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> Any:
    return load_model(f"hf:{checkpoint}", form="raw", max_tokens=12)


@functools.cache
def loaded_anew(checkpoint: Path) -> tuple[Any, Any]:
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    return network, transformers.AutoTokenizer.from_pretrained(checkpoint)


def separate_pass(
    checkpoint: Path, prompt: str, tokens: tuple[int, ...], endings: frozenset[int], t: float
) -> float:
    """The sequence's log-probability from a plain forward pass over it alone, by a network loaded anew."""
    import torch

    network, tokenizer = loaded_anew(checkpoint)
    ids = tokenizer(prompt).input_ids
    with torch.no_grad():
        logits = network(torch.tensor([[*ids, *tokens]])).logits[0].double() / t
    table = torch.log_softmax(logits, dim=-1)
    total = 0.0
    for k, token in enumerate(tokens):
        row = table[len(ids) - 1 + k]
        if k + 1 == len(tokens) and token in endings:
            total += float(row[sorted(endings)].logsumexp(0))
        else:
            total += float(row[token])
    return total


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_log_probabilities_are_those_of_a_separate_forward_pass(
    model: Any, checkpoint: Path, temperature: float
) -> None:
    rngs = [np.random.default_rng(k) for k in range(3)]
    drawn = model.complete_many(PROMPTS, 6, temperature=temperature, rngs=rngs)  # left-padded, one batch
    checked = 0
    for prompt, samples in zip(PROMPTS, drawn, strict=True):
        for sample in samples:
            alone = separate_pass(checkpoint, prompt, sample.tokens, model.endings, temperature)
            assert sample.logprob == pytest.approx(alone, abs=1e-3)
            assert sample.logprob == pytest.approx(math.fsum(sample.token_logprobs), abs=1e-9)
            checked += sample.complete
    assert checked >= 6  # answers that ended, so that the end was checked too


def test_probabilities_of_distinct_sequences_never_sum_above_one(model: Any) -> None:
    for seed, prompt in enumerate(PROMPTS):
        samples = model.complete(prompt, 100, rng=np.random.default_rng(seed))
        distinct = {sample.tokens: sample.logprob for sample in samples if sample.complete}
        assert 0 < math.fsum(map(math.exp, distinct.values())) <= 1 + 1e-6


def test_draws_follow_the_distribution(checkpoint: Path) -> None:
    model = load_model(f"hf:{checkpoint}", form="raw", max_tokens=1)
    samples = model.complete(PROMPTS[0], 2000, rng=np.random.default_rng(0))
    counts: dict[Any, int] = {}
    for sample in samples:
        counts[sample.tokens[0]] = counts.get(sample.tokens[0], 0) + 1
    first = {sample.tokens[0]: math.exp(sample.token_logprobs[0]) for sample in samples}
    token = max(counts, key=lambda k: counts[k])
    spread = math.sqrt(first[token] * (1 - first[token]) / 2000)
    assert abs(counts[token] / 2000 - first[token]) < 4 * spread


def test_a_sample_depends_on_its_seed_not_on_its_batch(model: Any) -> None:
    alone = [model.complete(p, 5, rng=np.random.default_rng(k)) for k, p in enumerate(PROMPTS)]
    rngs = [np.random.default_rng(k) for k in range(3)]
    together = model.complete_many(PROMPTS, 5, temperature=1.0, rngs=rngs)
    for one, other in zip(itertools.chain(*alone), itertools.chain(*together), strict=True):
        assert one.tokens == other.tokens
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)


def test_slices_of_many_rows_are_the_same_draws(checkpoint: Path, model: Any) -> None:
    narrow = load_model(f"hf:{checkpoint}", form="raw", max_tokens=12, max_rows=4)
    wide, sliced = (m.complete("who", 11, rng=np.random.default_rng(3)) for m in (model, narrow))
    assert [s.tokens for s in wide] == [s.tokens for s in sliced]


def test_low_temperature_gives_the_likeliest_tokens(model: Any) -> None:
    cold = model.complete("who", 5, temperature=0.0, rng=np.random.default_rng(0))
    assert len({sample.tokens for sample in cold}) == 1


def test_an_answer_ends_at_the_line_end(model: Any) -> None:
    for sample in model.complete(PROMPTS[0], 60, rng=np.random.default_rng(1)):
        assert "\n" not in sample.text.strip()
        assert sample.complete == (
            sample.tokens[-1] in model.endings or len(sample.tokens) < model.max_tokens
        )


def test_a_continuation_weighs_what_a_separate_pass_says(model: Any, checkpoint: Path) -> None:
    tokenizer = loaded_anew(checkpoint)[1]
    pairs = [(PROMPTS[0], " A"), (PROMPTS[1], " nobody"), ("who", " B")]
    for (prompt, text), weighed in zip(pairs, model.continuation_logprobs(pairs), strict=True):
        tokens = tuple(tokenizer(text, add_special_tokens=False).input_ids)
        assert weighed == pytest.approx(separate_pass(checkpoint, prompt, tokens, frozenset(), 1.0), abs=1e-3)


def test_a_given_answer_weighs_what_a_separate_pass_says(model: Any, checkpoint: Path) -> None:
    drawn = model.complete("who", 80, rng=np.random.default_rng(5))
    checked = set()
    for sample in drawn:
        if not sample.complete or not sample.text or sample.tokens[-1] not in model.endings:
            continue
        weighed = model.weigh("who", Sample(sample.text))
        if weighed is None:
            continue
        alone = separate_pass(checkpoint, "who", weighed.tokens, model.endings, 1.0)
        assert weighed.sampling_logprob == pytest.approx(alone, abs=1e-3)
        assert weighed.text == sample.text
        assert math.fsum(weighed.token_logprobs) == pytest.approx(weighed.sampling_logprob)
        assert len(weighed.token_entropies) == len(weighed.tokens)
        if weighed.tokens == sample.tokens:  # else the sample spelled the text in other tokens
            assert weighed.sampling_logprob == pytest.approx(sample.logprob, abs=1e-3)
            assert weighed.token_entropies == pytest.approx(sample.token_entropies, abs=1e-3)
            checked.add(sample.text)
    assert len(checked) >= 3


@pytest.mark.parametrize("text", ["two\nlines", "long " * 30, "half a \ufffd"])
def test_an_answer_that_cannot_be_drawn_is_not_weighed(model: Any, text: str) -> None:
    assert model.weigh("who", Sample(text)) is None


def test_a_likely_answer_that_is_given_needs_no_sample(tmp_path: Path) -> None:
    from tiny_checkpoint import make_checkpoint

    sure = load_model(f"hf:{make_checkpoint(tmp_path, scale=10.0)}", form="raw", max_tokens=12)
    asked = [f"who {number}" for number in range(120)]
    rngs = [np.random.default_rng(0)] * len(asked)
    answers = [drawn[0] for drawn in sure.complete_many(asked, 1, temperature=0.0, rngs=rngs)]
    likely = [
        (prompt, answer)
        for prompt, answer in zip(asked, answers, strict=True)
        if answer.complete and answer.text.isalpha() and -0.1 < answer.sampling_logprob < -1e-3
    ]
    prompt, answer = likely[0]
    verdict = check(prompt, model=sure, judge="exact", answer=answer.text)
    assert (verdict.outcome, verdict.samples) == ("steady", 0)
    assert verdict.meanings[0].floor == pytest.approx(math.exp(answer.sampling_logprob), abs=1e-3)


def test_brief_and_chat_forms(checkpoint: Path) -> None:
    brief = load_model(f"hf:{checkpoint}", max_tokens=4)
    # The tiny model has a short context: the five examples do not fit, and the error says so.
    with pytest.raises(PromptTooLong, match="256"):
        brief.sample("Who?", 1)
    with pytest.raises(InputError, match="brief, chat, raw"):
        load_model(f"hf:{checkpoint}", form="poem")


def test_what_cannot_be_asked(model: Any) -> None:
    with pytest.raises(PromptTooLong, match="shorten the prompt"):
        model.complete("who " * 300, 1)
    with pytest.raises(InputError, match="empty"):
        model.sample("  ", 1)
    with pytest.raises(InputError, match="n is 0"):
        model.complete("who", 0)


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(f"hf:{tmp_path / 'nothing'}")
    with pytest.raises(InputError, match="float32"):
        load_model(f"hf:{tmp_path}", dtype="int3")


def test_memory_that_runs_out_makes_batches_smaller(
    model: Any, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    small = load_model(f"hf:{checkpoint}", form="raw", max_tokens=12, max_rows=64)
    draw, sizes = small._draw, []

    def scarce(encoded: Any, numbers: Any, temperature: float) -> Any:
        sizes.append(len(numbers))
        if len(numbers) > 8:
            raise torch.OutOfMemoryError("no room")
        return draw(encoded, numbers, temperature)

    monkeypatch.setattr(small, "_draw", scarce)
    got = small.complete("who", 20, rng=np.random.default_rng(5))
    assert sizes == [20, 20, 16, 8, 8, 4]  # 64 rows and 32, then slices of 16, of 8
    assert [s.tokens for s in got] == [
        s.tokens for s in model.complete("who", 20, rng=np.random.default_rng(5))
    ]


def test_a_cold_answer_has_the_log_probability_of_the_samples_too(checkpoint: Path, model: Any) -> None:
    endings = model._ends.pure
    (cold,) = model.sample(PROMPTS[0], 1, temperature=0.1, rng=np.random.default_rng(3))
    if not cold.complete:
        endings = frozenset()
    assert cold.logprob == pytest.approx(
        separate_pass(checkpoint, PROMPTS[0], cold.tokens, endings, 0.1), abs=1e-3
    )
    plain = separate_pass(checkpoint, PROMPTS[0], cold.tokens, endings, 1.0)
    assert cold.sampling_logprob == pytest.approx(plain, abs=1e-3)
    assert len(cold.token_entropies) == len(cold.tokens)
    assert all(entropy >= 0 for entropy in cold.token_entropies)


def test_a_shared_prefix_is_read_once_and_changes_no_number(model: Any) -> None:
    prefix = "Question: who?\nAnswer: nobody \n" * 6
    pairs = [
        (prefix + asked, text)
        for asked in ("Question: a?", "Question: longer?\nAnswer:")
        for text in (" A", " yes")
    ]
    other = [("Question: why?", " A")]
    expected, alone = model.continuation_logprobs(pairs), model.continuation_logprobs(other)
    read: list[int] = []
    forward = model._network.forward

    def counted(*given: Any, **options: Any) -> Any:
        read.append(options["input_ids"].numel())
        return forward(*given, **options)

    model._network.forward = counted
    try:
        model.continuation_logprobs(pairs)
        afresh = sum(read)
        model.share_prefix(prefix)
        first = model.continuation_logprobs(pairs)
        read.clear()
        again = model.continuation_logprobs(pairs)
        assert 4 * sum(read) < afresh
        assert again == first == pytest.approx(expected, abs=1e-4)
        assert model.continuation_logprobs(other) == pytest.approx(alone, abs=1e-4)  # begins otherwise
    finally:
        model._network.forward = forward
        model.share_prefix("")

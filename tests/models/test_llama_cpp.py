"""The built-in model: its probabilities against its own distribution, and the same draws from the same seed."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from semtropy import Sample, check
from semtropy.conversation import as_messages
from semtropy.errors import InputError, ModelError, PromptTooLong, WeightsError
from semtropy.models import load_model
from semtropy.models.llama_cpp import LlamaCpp, _ends, _form, _sample, threads_for
from semtropy.models.prompt_template import BRIEF, brief_prompt

KNOWN = "What is the capital of France?"
OBSCURE = "Who was the mayor of Timisoara in 1911?"
LIKELIEST = 2000  # tokens, which hold nearly all of the probability
BYTES = 259  # the whole vocabulary of the model with random weights


def next_token(model, prompt, *, seed=0, tokens=LIKELIEST):
    """The model's distribution after `prompt`, a text or token ids, by a forward pass that draws nothing we keep."""
    request = {"prompt": prompt, "n_predict": 1, "n_probs": tokens, "temperature": 1.0, "seed": seed}
    reply = model._ask(request | {"samplers": ["temperature"]})
    content = reply["choices"][0]["logprobs"]
    if content is None:  # the token drawn was half a character: ask again
        return next_token(model, prompt, seed=seed + 1, tokens=tokens)
    entry = content["content"][0]
    found = {int(other["id"]): (other["logprob"], bytes(other["bytes"])) for other in entry["top_logprobs"]}
    assert len(found) == tokens
    return found


def forward(model, sample, temperature, asked=None, tokens=LIKELIEST):
    """The log-probability of the sample's tokens and then any end, from distributions scaled by hand.

    asked   the prompt that was continued, in a chat; else that of the known question
    tokens  how many of the vocabulary are asked for
    """
    total, prompt = 0.0, [asked or brief_prompt(KNOWN)]
    for token in sample.tokens:
        spread = next_token(model, prompt, tokens=tokens)
        scaled = np.array([logprob for logprob, _ in spread.values()])
        if temperature != 1:  # below 1, tokens that are not among the likeliest have next to no probability
            scaled /= temperature
            scaled -= np.logaddexp.reduce(scaled)
        place = {number: k for k, number in enumerate(spread)}
        if token == model.header.end:
            ending = {"header": model.header, "lines": asked is None}
            ends = [place[t] for t, (_, piece) in spread.items() if _ends(t, piece, **ending)]
            return total + float(np.logaddexp.reduce(scaled[ends]))
        total += float(scaled[place[token]])
        prompt = [*prompt, token]
    return total


@pytest.fixture(scope="module")
def chat(smollm2):
    """The same weights, asked in their chat template."""
    return load_model(f"gguf:{smollm2.path}")


@pytest.fixture(scope="module")
def tiny_chat(tiny_gguf):
    """Random weights, asked in a chat template."""
    return load_model(f"gguf:{tiny_gguf}")


@pytest.fixture(scope="module")
def tiny(tiny_gguf):
    """Random weights, which continue a few examples."""
    return load_model(f"gguf-brief:{tiny_gguf}")


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_probabilities_are_those_of_the_models_own_distribution(smollm2, temperature):
    samples = smollm2.sample(KNOWN, 3, temperature=temperature, rng=np.random.default_rng(4))
    distinct = {sample.tokens: sample for sample in samples if sample.complete}
    assert distinct
    for sample in distinct.values():
        assert sample.logprob == pytest.approx(forward(smollm2, sample, temperature), abs=2e-3)
    smollm2._ready = None


def test_frequencies_agree_with_probabilities(tiny):
    samples = tiny.sample(KNOWN, 100, rng=np.random.default_rng(7))
    counts = Counter(sample.tokens for sample in samples)
    known = {sample.tokens: sample.logprob for sample in samples if sample.complete}
    assert len(known) > 10
    likeliest = sorted(known, key=known.__getitem__)[-4:]
    assert math.exp(known[likeliest[0]]) > 0.02
    for tokens in likeliest:
        p = math.exp(known[tokens])
        assert abs(counts[tokens] / 100 - p) < 4 * math.sqrt(p * (1 - p) / 100)


def test_the_same_seed_gives_the_same_draws_whatever_was_asked_before(smollm2):
    def draw(question, n=3):
        return smollm2.sample(question, n, rng=np.random.default_rng(11))

    first = draw(KNOWN)
    draw(OBSCURE, 1)
    smollm2.complete("Once upon a time", 1, rng=np.random.default_rng(0))
    assert draw(KNOWN) == first
    assert draw(KNOWN, 1) == first[:1]


def test_threads_take_turns(tiny):
    wanted = {q: tiny.sample(q, 2, rng=np.random.default_rng(3)) for q in (KNOWN, OBSCURE)}
    found: dict[str, list] = {}

    def draw(question):
        found[question] = tiny.sample(question, 2, rng=np.random.default_rng(3))

    threads = [threading.Thread(target=draw, args=(q,)) for q in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted


def test_a_prompt_longer_than_the_context_is_refused_and_does_no_harm(smollm2):
    with pytest.raises(PromptTooLong, match="the context holds 2048"):
        smollm2.sample("why " * 3000, 1)
    assert len(smollm2.sample(KNOWN, 1)) == 1


def test_an_answer_cut_off_is_marked(tiny_gguf):
    short = LlamaCpp(tiny_gguf, max_tokens=1)
    samples = short.sample(OBSCURE, 3, rng=np.random.default_rng(0))
    assert not any(sample.complete for sample in samples)
    assert all(len(sample.tokens) == 1 for sample in samples)


def piece(token, text, p, others=()):
    top = [{"id": t, "bytes": list(x), "logprob": math.log(q)} for t, x, q in others or [(token, text, p)]]
    return {"id": token, "bytes": list(text), "logprob": math.log(p), "top_logprobs": top}


def test_the_end_is_any_of_the_tokens_that_end(smollm2):
    ends = [(198, b"\n", 0.5), (2, b"", 0.2), (253, b" a", 0.1), (1, b"<|im_start|>", 0.1)]
    for number, text, p in ends[:2]:
        entries = [piece(7042, b" Paris", 0.8), piece(number, text, p, ends)]
        sample = _sample(entries, None, smollm2.header, 1.0)
        assert (sample.text, sample.tokens, sample.complete) == ("Paris", (7042, 2), True)
        assert sample.logprob == pytest.approx(math.log(0.8 * 0.7))


def test_a_cold_answer_has_the_log_probability_of_the_samples_too(smollm2):
    """Drawn at 0.1, an answer is nearly certain; under the samples' distribution it is not."""
    (cold,) = smollm2.sample(KNOWN, 1, temperature=0.1, rng=np.random.default_rng(0))
    same = [s for s in smollm2.sample(KNOWN, 20, rng=np.random.default_rng(0)) if s.tokens == cold.tokens]
    assert same, "the likeliest answer is among twenty samples"
    assert cold.sampling_logprob == pytest.approx(same[0].logprob, abs=1e-4)
    assert cold.sampling_logprob < cold.logprob <= 0
    assert len(cold.token_entropies) == len(cold.tokens)
    warm = [(198, b"\n", 0.6), (2, b"", 0.3), (253, b" a", 0.1)]
    tempered = _sample([piece(7042, b" Paris", 0.8), piece(253, b" a", 0.1, warm)], None, smollm2.header, 0.5)
    assert tempered.token_logprobs[1] == pytest.approx(math.log(0.01 / (0.36 + 0.09 + 0.01)))
    assert tempered.token_entropies[1] == pytest.approx(-sum(p * math.log(p) for p in (0.6, 0.3, 0.1)))


def test_a_given_answer_is_weighed_if_it_is_the_likeliest(smollm2):
    weighed = smollm2.weigh(KNOWN, Sample("Paris"))
    assert weighed.text == "Paris"
    assert weighed.sampling_logprob == pytest.approx(forward(smollm2, weighed, 1.0), abs=0.02)
    for other in ("The capital of France is Paris.", "Lyon", "Par", "巴黎", "two\nlines"):
        assert smollm2.weigh(KNOWN, Sample(other)) is None


def test_a_likely_answer_that_is_given_needs_no_sample(smollm2):
    verdict = check(KNOWN, model=smollm2, answer="Paris", judge="exact", rng=1)
    assert (verdict.outcome, verdict.samples) == ("steady", 0)
    assert verdict.meanings[0].floor > 0.5


def test_text_and_line_break_in_one_token(smollm2):
    entries = [piece(7042, b" Paris", 0.8), piece(950, b".\n", 0.1, [(198, b"\n", 0.5)])]
    sample = _sample(entries, None, smollm2.header, 1.0)
    assert (sample.text, sample.tokens) == ("Paris.", (7042, 950))
    assert sample.logprob == pytest.approx(math.log(0.08))


def test_nothing_generated_is_an_empty_answer_without_a_probability(smollm2):
    sample = _sample([], "length", smollm2.header, 1.0)
    assert (sample.text, sample.logprob, sample.complete) == ("", None, False)


SENTENCE = "What is the capital of France? Answer in one sentence."


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_in_a_chat_probabilities_are_those_of_the_template_with_the_end_of_the_turn(tiny_chat, temperature):
    samples = tiny_chat.sample(SENTENCE, 6, temperature=temperature, rng=np.random.default_rng(4))
    ended = {sample.tokens: sample for sample in samples if sample.complete}
    assert len(ended) > 1
    asked = tiny_chat.rendered(as_messages(SENTENCE, BRIEF))
    assert asked.endswith("<|im_start|>assistant\n")
    for sample in ended.values():
        assert sample.tokens[-1] == tiny_chat.header.end
        assert sample.logprob == pytest.approx(
            forward(tiny_chat, sample, temperature, asked, BYTES), abs=2e-3
        )
    tiny_chat._ready = None


def test_in_a_chat_any_answer_can_be_weighed(chat):
    """What is drawn and what is weighed have the same probability, however unlikely the answer is."""
    drawn = chat.sample(SENTENCE, 3, temperature=0.8, rng=np.random.default_rng(4))
    weighed = [(sample, chat.weigh(SENTENCE, Sample(sample.text))) for sample in drawn if sample.complete]
    # A text that was drawn in unusual tokens is weighed in the usual ones.
    alike = [(one, other) for one, other in weighed if one.tokens == other.tokens]
    assert len({sample.text for sample, _ in alike}) > 1
    for sample, other in alike:
        assert other.sampling_logprob == pytest.approx(sample.sampling_logprob, abs=1e-4)
        assert (other.text, other.logprob) == (sample.text, None)
    assert chat.weigh(KNOWN, Sample("two\nlines")).sampling_logprob < -10
    for impossible in ("", "why " * 80):
        assert chat.weigh(KNOWN, Sample(impossible)) is None


def test_in_a_chat_the_same_seed_gives_the_same_draws_and_lines_do_not_end_an_answer(tiny_chat):
    def draw(question, n):
        asked = tiny_chat.rendered([{"role": "user", "content": question}])
        how = {"temperature": 1.0, "max_tokens": 40, "lines": False}
        return tiny_chat.complete(asked, n, rng=np.random.default_rng(3), **how)

    listed = "Write a numbered list of three colours."
    first = draw(listed, 4)
    draw(KNOWN, 1)
    assert draw(listed, 2) == first[:2]
    assert any(sample.complete and "\n" in sample.text for sample in first)


def test_a_conversation_goes_through_the_template_as_it_is(chat):
    said = [
        {"role": "developer", "content": "You say yes or no."},
        {"role": "user", "content": "Is Rome in Italy?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": "And Paris?"}]},
    ]
    turns = [
        "system\nYou say yes or no.",
        "user\nIs Rome in Italy?",
        "assistant\nYes.",
        "user\nAnd Paris?",
    ]
    expected = "".join(f"<|im_start|>{turn}<|im_end|>\n" for turn in turns) + "<|im_start|>assistant\n"
    assert chat.rendered(said) == expected
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]
    with pytest.raises(InputError, match="not text"):
        chat.sample(image, 1)


def test_only_a_question_that_wants_few_words_is_asked_for_few(chat):
    brief, room = chat._asked(KNOWN)
    assert (brief[0], room) == ({"role": "system", "content": BRIEF}, 64)
    plain = [{"role": "user", "content": "Tell me about Paris."}]
    assert chat._asked("Tell me about Paris.") == (plain, 512)
    assert chat._asked(plain) == (plain, 512)


def test_the_form_is_the_files_own_unless_chosen(chat, smollm2, tmp_path):
    assert (chat.form, smollm2.form) == ("chat", "brief")
    plain = replace(chat.header, has_template=False)
    assert [_form(given, plain, chat.path) for given in (None, "brief")] == ["brief", "brief"]
    with pytest.raises(InputError, match="has no chat template: load it with form=brief"):
        _form("chat", plain, chat.path)
    with pytest.raises(InputError, match="form is 'raw': one of chat, brief"):
        load_model(f"gguf:{chat.path}", form="raw")


def test_few_shot_is_one_name_away_and_gives_the_numbers_of_the_built_in_model(smollm2):
    model = load_model(f"gguf-brief:{smollm2.path}", threads=smollm2.threads)
    assert model.name == f"gguf-brief:{smollm2.path}"
    asked = {"rng": np.random.default_rng(5)}, {"rng": np.random.default_rng(5)}
    assert model.sample(KNOWN, 2, **asked[0]) == smollm2.sample(KNOWN, 2, **asked[1])


def test_an_end_that_we_do_not_know_is_the_last_token_of_a_chat(smollm2):
    entries = [piece(7042, b"Paris", 0.8), piece(17, b"", 0.5, [(2, b"", 0.3), (17, b"", 0.5)])]
    for finish, ends, complete in (("stop", 0.8, True), ("length", 0.5, False)):
        sample = _sample(entries, finish, smollm2.header, 1.0, lines=False)
        assert (sample.text, sample.complete) == ("Paris", complete)
        assert sample.logprob == pytest.approx(math.log(0.8 * ends))


def test_thinking_aloud_is_no_part_of_the_answer(smollm2):
    pieces = [b"<think>", b"Hm.\n", b"</think>", b"\n\nParis"]
    entries = [piece(100 + k, text, 0.9) for k, text in enumerate(pieces)] + [piece(2, b"", 0.9)]
    sample = _sample(entries, "stop", smollm2.header, 1.0, lines=False)
    assert (sample.text, sample.logprob, sample.complete) == ("Paris", None, True)
    assert sample.token_count == 5


def test_a_template_that_cannot_be_applied_is_an_error(chat, monkeypatch):
    with pytest.raises(ModelError, match=r"llama\.cpp"):
        chat._post("/apply-template", {"messages": [{"role": 7}]})
    monkeypatch.setattr(chat, "_key", "wrong")
    with pytest.raises(ModelError, match="Invalid API Key"):
        chat.sample(KNOWN, 1)


def test_files_that_are_no_models_are_named(tmp_path):
    with pytest.raises(WeightsError, match="no such file"):
        load_model(f"gguf:{tmp_path / 'missing.gguf'}")
    wrong = tmp_path / "wrong.gguf"
    for content in (b"", b"hello", b"GGUF\x03\0\0\0", b"GGUF" + b"\xff" * 64):
        wrong.write_bytes(content)
        with pytest.raises(WeightsError, match="not a GGUF file"):
            load_model(f"gguf:{wrong}")


def test_a_header_without_weights_is_refused(smollm2, tmp_path):
    stub = tmp_path / "stub.gguf"
    with smollm2.path.open("rb") as file:
        stub.write_bytes(file.read(3_000_000))
    with pytest.raises(WeightsError, match="could not load"):
        load_model(f"gguf:{stub}")


def test_settings_are_checked(smollm2):
    with pytest.raises(InputError, match="max_tokens"):
        LlamaCpp(smollm2.path, max_tokens=0)


def test_small_models_run_on_one_thread_and_large_ones_leave_half(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr("os.getloadavg", lambda: (0.2, 0, 0), raising=False)
    assert threads_for(100_000_000) == 1
    assert threads_for(8_000_000_000) == 4
    monkeypatch.setattr("os.getloadavg", lambda: (6.5, 0, 0), raising=False)
    assert threads_for(8_000_000_000) == 1


INTERRUPTED = """
import os, signal, sys
import numpy as np
from semtropy.models import load_model

QUESTION = "Who was the mayor of Timisoara in 1911?"
model = load_model(f"gguf-brief:{sys.argv[1]}", max_tokens=6)
server, moments = model._server, {}


class Interrupting:
    '''llama.cpp, with a Ctrl-C at a chosen call or token.'''

    def handle_completions(self, request, *callback):
        moments["call"] -= 1
        if moments["call"] == 0:
            os.kill(os.getpid(), signal.SIGINT)
        if not callback:
            return server.handle_completions(request)

        def receive(chunk):
            moments["token"] -= 1
            if moments["token"] == 0:
                os.kill(os.getpid(), signal.SIGINT)
            return callback[0](chunk)

        return server.handle_completions(request, receive)


def draw(**at):
    moments.update({"call": 0, "token": 0} | at)
    model._ready = None
    return model.sample(QUESTION, 2, rng=np.random.default_rng(0))


expected = draw()
model._server = Interrupting()
for at in [*({"call": k} for k in range(1, 6)), *({"token": k} for k in (1, 2, 5, 11))]:
    try:
        draw(**at)
        print("lost", at)
    except KeyboardInterrupt:
        print("interrupted", at)
print("as before" if draw() == expected else "other draws")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C on Windows")
def test_ctrl_c_ends_it_every_time_and_leaves_it_usable(tiny_gguf):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tiny_gguf)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    *said, last = done.stdout.splitlines()
    assert len(said) == 9, done.stderr
    assert [line for line in said if not line.startswith("interrupted")] == []
    assert last == "as before"
    assert done.stderr == ""


def test_a_shared_head_is_read_once_and_forgotten_afterwards(tiny):
    head = "".join(f"Question: What is {n} plus {n}?\nAnswer: {2 * n}\n\n" for n in range(4))
    prompts = [f"{head}Question: What is {n} plus 1?\nAnswer:" for n in (3, 8)]

    def draw(prompt):
        return tiny.complete(prompt, 1, rng=np.random.default_rng(2))

    alone = draw(prompts[0])
    read = []
    ask = tiny._ask

    def counted(request, on_token=None):
        reply = ask(request, on_token)
        read.append((reply.get("timings") or {}).get("prompt_n", 0))
        return reply

    tiny._ask = counted
    try:
        tiny.share_head(head)
        tiny._ready = None
        first = [draw(prompt) for prompt in prompts]
        whole = sum(read)
        read.clear()
        assert [draw(prompt) for prompt in prompts] == first
        assert 0 < sum(read) < whole / 2
    finally:
        del tiny._ask
        tiny.share_head("")
    draw(prompts[1])
    assert draw(prompts[0]) == alone


def test_a_shared_prefix_is_read_once_and_changes_nothing_that_follows(tiny):
    """P(True): its twenty examples are the same for every question."""
    prefix = "".join(f"{n} + {n} = {2 * n}. True? A) yes B) no: A\n" for n in range(5))
    prompts = [f"{prefix}{n} + 1 = {n + 1}. True? A) yes B) no:" for n in (3, 8)]
    read = []
    ask = tiny._ask

    def counted(request, on_token=None):
        reply = ask(request, on_token)
        read.append((reply.get("timings") or {}).get("prompt_n", 0))
        return reply

    tiny._ask = counted
    try:
        tiny.share_prefix(prefix)
        first = tiny.continuation_logprobs([(prompts[0], " A")])
        whole = sum(read)
        tiny.sample(KNOWN, 1, rng=np.random.default_rng(1))  # draws go elsewhere
        read.clear()
        other = tiny.continuation_logprobs([(prompts[1], " A")])
        assert sum(read) < whole / 4
        assert tiny.continuation_logprobs([(prompts[0], " A")]) == first
        assert tiny.continuation_logprobs([(prompts[1], " A")]) == other
        tiny.share_prefix("")
        afresh = tiny.continuation_logprobs([(prompts[0], " A")])
        tiny.share_prefix(prefix)
        assert tiny.continuation_logprobs([(prompts[0], " A")]) == first
    finally:
        del tiny._ask
        tiny.share_prefix("")
    assert math.exp(first[0]) == pytest.approx(math.exp(afresh[0]), abs=0.1)  # but for quantisation noise
    assert tiny.continuation_logprobs([("Paris is the capital of", " zebra")])[0] < -5


def test_a_continuation_has_the_probability_of_its_token_whatever_white_space_is_before_it(tiny):
    prompt = "3 + 1 = 4. True? a) yes b) no:"
    afresh = tiny.continuation_logprobs([(prompt, " a"), (prompt, " b")])
    spread = next_token(tiny, prompt, tokens=BYTES)
    assert math.fsum(math.exp(logprob) for logprob, _ in spread.values()) == pytest.approx(1, abs=1e-3)
    for value, wanted in zip(afresh, (b"a", b"b"), strict=True):
        known = math.fsum(math.exp(p) for p, piece in spread.values() if piece.strip() == wanted)
        assert known > 0
        assert value == pytest.approx(math.log(known), abs=1e-3)
    assert tiny.continuation_logprobs([(prompt, " zebra")]) == [-math.inf]

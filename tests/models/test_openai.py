"""Endpoints: what is asked for, what is made of the answers, and every way in which they fail."""

from __future__ import annotations

import asyncio
import email.utils
import math
import time
from contextlib import closing

import numpy as np
import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy.errors import (
    BadKey,
    BadReply,
    InputError,
    ModelError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
    UnknownModel,
)
from semtropy.models import load_model
from semtropy.models.endpoint import Endpoint, Retry
from semtropy.models.replies import chat_sample, completion_sample

QUICK = Retry(times=3, base=0.001)
ASKED = [{"role": "user", "content": "Which side?"}]


def coin(prompt: str) -> dict[str, float]:
    return {"heads": 0.75, "tails": 0.25}


def ask(endpoint, n=1, *, model="openai:m", temperature=1.0, **options):
    with serving(endpoint) as url:
        asked = load_model(model, base_url=url, **({"retry": QUICK, "timeout": 5.0} | options))
        with closing(asked):
            return asked.sample("Which side?", n, temperature=temperature, rng=np.random.default_rng(1))


def failing(*failures):
    """Fail the first requests in these ways, then answer."""
    return ScriptedEndpoint(coin, lambda number, body: failures[number] if number < len(failures) else None)


@pytest.mark.parametrize("model", ["openai:m", "completions:m"])
def test_answers_carry_the_probability_of_the_whole_sequence(model):
    samples = ask(ScriptedEndpoint(coin), 20, model=model)
    assert len(samples) == 20
    for sample in samples:
        assert sample.logprob == pytest.approx(math.log(coin("")[sample.text]))
        assert sample.complete
    assert {sample.text for sample in samples} == {"heads", "tails"}


def test_one_request_draws_many_where_the_endpoint_can():
    endpoint = ScriptedEndpoint(coin)
    ask(endpoint, 5)
    (body,) = endpoint.requests
    assert body["n"] == 5
    assert (body["temperature"], body["top_p"], body["top_k"], body["min_p"]) == (1.0, 1.0, -1, 0.0)
    assert body["messages"][-1] == {"role": "user", "content": "Which side?"}


def test_an_endpoint_that_gives_fewer_is_asked_for_the_rest():
    endpoint = ScriptedEndpoint(coin)
    endpoint.many = False
    assert len(ask(endpoint, 5)) == 5
    assert len(endpoint.requests) == 5
    assert len({body["seed"] for body in endpoint.requests}) == 5


def test_without_the_end_token_there_is_no_probability():
    endpoint = ScriptedEndpoint(coin)
    endpoint.end_token = None
    (sample,) = ask(endpoint)
    assert sample.logprob is None
    assert sample.complete
    assert sample.token_logprobs is not None


def test_another_temperature_has_no_probability():
    (sample,) = ask(ScriptedEndpoint(coin), temperature=0.1)
    assert sample.logprob is None


@pytest.mark.parametrize(
    ("message", "param", "field"),
    [
        ("logprobs are not supported for this model", None, "logprobs"),
        ("You are not allowed to request this", "logprobs", "logprobs"),
        ("Unrecognized request argument supplied: top_k", None, "top_k"),
        ("n_cmpl cannot be greater than the number of slots", None, "n"),
        ("Only n = 1 is allowed", "n", "n"),
        ("Unsupported: seed", "seed", "seed"),
        ("Unsupported parameter: 'max_tokens', use 'max_completion_tokens'", "max_tokens", "max_tokens"),
    ],
)
def test_what_an_endpoint_refuses_is_left_out_from_then_on(message, param, field):
    def fail(number, body):
        return (400, {}, {"error": {"message": message, "param": param}}) if field in body else None

    endpoint = ScriptedEndpoint(coin, fail)
    with serving(endpoint) as url, closing(load_model("openai:m", base_url=url, retry=QUICK)) as model:
        assert len(model.sample("Which side?", 3)) == 3
        before = len(endpoint.requests)
        samples = model.sample("Which side?", 3)
    assert all(field not in body for body in endpoint.requests[before:])
    assert all((sample.logprob is None) == (field == "logprobs") for sample in samples)


@pytest.mark.parametrize("failure", [429, 500, 502, 503, 504, "broken", "cut"])
def test_what_passes_is_tried_again(failure):
    endpoint = failing(failure, failure)
    (sample,) = ask(endpoint)
    assert sample.text in coin("")
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("failure", "kind", "says"),
    [
        (429, RateLimited, "too many requests"),
        (500, ModelError, "failed \\(500\\): scripted 500"),
        ("broken", BadReply, "not JSON"),
        ("cut", ModelError, "cannot be reached"),
    ],
)
def test_what_does_not_pass_is_raised_as_what_it_is(failure, kind, says):
    endpoint = failing(*[failure] * 9)
    with pytest.raises(kind, match=says):
        ask(endpoint)
    assert len(endpoint.requests) == 4  # once, and three times again


def test_silence_is_a_time_out():
    endpoint = failing("hang")
    with pytest.raises(ModelTimeout, match=r"no reply in 0\.1 s"):
        ask(endpoint, timeout=0.1, retry=Retry(times=0))


def test_a_time_out_is_tried_again():
    endpoint = failing("hang")
    assert ask(endpoint, timeout=0.2)[0].text in coin("")


@pytest.mark.parametrize(
    ("failure", "kind", "says"),
    [
        (
            (401, {}, {"error": {"message": "Incorrect API key provided: sk-secret"}}),
            BadKey,
            r"provided: \*\*\*",
        ),
        ((403, {}, {"detail": "no"}), BadKey, "refused the key"),
        ((404, {}, {"error": {"message": "The model `m` does not exist"}}), UnknownModel, "does not exist"),
        (
            (400, {}, {"error": {"message": "This model's maximum context length is 8 tokens"}}),
            PromptTooLong,
            "too long",
        ),
        ((400, {}, {"error": {"message": "messages is malformed"}}), ModelError, "messages is malformed"),
        (
            (429, {}, {"error": {"message": "pay", "code": "insufficient_quota"}}),
            RateLimited,
            "quota is used up",
        ),
        ((418, {}, {"error": "teapot"}), ModelError, "418: teapot"),
    ],
)
def test_what_asking_again_cannot_help_is_raised_at_once(failure, kind, says):
    endpoint = failing(*[failure] * 9)
    with pytest.raises(kind, match=says) as caught:
        ask(endpoint, api_key="sk-secret")
    assert "sk-secret" not in str(caught.value)
    assert len(endpoint.requests) == 1
    assert endpoint.keys == ["Bearer sk-secret"]


def waits(value):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    ask(failing((429, {"Retry-After": value}, {})), sleep=sleep)
    return slept


def test_retry_after_is_honoured_in_seconds_and_as_a_date():
    assert waits("7") == [7.0]
    date = email.utils.formatdate(time.time() + 10, usegmt=True)
    (waited,) = waits(date)
    assert 8 < waited < 11
    (jittered,) = waits("soon")
    assert 0.0005 <= jittered <= 0.001


def test_a_longer_wait_than_allowed_is_an_error_at_once():
    endpoint = failing((429, {"Retry-After": "3600"}, {}))
    with pytest.raises(RateLimited):
        ask(endpoint)
    assert len(endpoint.requests) == 1


def test_back_off_doubles_with_jitter_up_to_a_limit():
    retry = Retry(base=1.0, longest=10.0)
    for attempt in range(8):
        low, high = (retry.wait(attempt, None, luck=luck) for luck in (0.0, 1.0))
        assert low == high / 2
        assert high == min(10.0, 2.0**attempt)


def test_the_concurrency_limit_holds():
    endpoint = ScriptedEndpoint(coin)
    endpoint.delay, endpoint.many = 0.02, False

    async def many(url):
        model = load_model("openai:m", base_url=url, concurrency=3)
        drawn = await asyncio.gather(*(model.asample("Which side?", 2) for _ in range(20)))
        await model.aclose()
        return drawn

    with serving(endpoint) as url:
        drawn = asyncio.run(many(url))
    assert [len(samples) for samples in drawn] == [2] * 20
    assert endpoint.peak == 3


def test_settings_come_from_the_environment(monkeypatch):
    endpoint = ScriptedEndpoint(coin)
    with serving(endpoint) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "from-env")
        with closing(load_model("openai:m")) as model:
            model.sample("Which side?", 1)
    assert endpoint.keys == ["Bearer from-env"]


def test_a_refused_request_is_not_repeated_for_what_does_not_change_it():
    """Another request may find out meanwhile that samples come without log-probabilities."""

    def refuse(number, body):
        asked.refused |= {"unweighed"}
        return 400, {}, {"error": {"message": "this model is not for you"}}

    endpoint = ScriptedEndpoint(coin, refuse)
    with serving(endpoint) as url:
        asked = load_model("openai:m", base_url=url, retry=QUICK)
        with closing(asked), pytest.raises(ModelError, match="not for you"):
            asked.sample("Which side?", 1)
    assert len(endpoint.requests) == 1


def test_senseless_settings_are_refused():
    with pytest.raises(InputError, match="base_url"):
        load_model("openai:m", base_url="localhost:8000")
    with pytest.raises(InputError, match="concurrency"):
        load_model("openai:m", concurrency=0)
    with pytest.raises(InputError, match="max_tokens"):
        load_model("openai:m", max_tokens=0)
    with pytest.raises(InputError, match="is incomplete"):
        load_model("openai:")


def test_an_endpoint_that_cannot_be_reached_says_so():
    model = load_model("openai:m", base_url="http://127.0.0.1:9/v1", retry=Retry(times=1, base=0.001))
    with closing(model), pytest.raises(ModelError, match="cannot be reached"):
        model.sample("Which side?", 1)


@pytest.mark.parametrize(("reached", "retries"), [(False, 2), (True, 5)])
def test_an_address_that_was_never_reached_is_not_tried_for_long(reached, retries):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    async def post(endpoint):
        async with endpoint:
            await endpoint.post("/chat/completions", {"model": "m", "messages": ASKED})

    with serving(ScriptedEndpoint(coin)) as url:
        endpoint = Endpoint(url, api_key="k", sleep=sleep)
        if reached:
            asyncio.run(
                post(endpoint.with_key("other"))
            )  # the copies of an endpoint share what they know of it
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        asyncio.run(post(endpoint))
    assert len(waits) == retries
    assert ("is the address right?" in str(caught.value)) is not reached


def entry(token, logprob=-0.5, raw=None):
    return {"token": token, "logprob": logprob, "bytes": raw}


def chat(content, entries, finish="stop"):
    return {"message": {"content": content}, "logprobs": {"content": entries}, "finish_reason": finish}


@pytest.mark.parametrize(
    ("choice", "logprob", "complete"),
    [
        (chat("Paris", [entry("Paris"), entry("<|eot_id|>")]), -1.0, True),
        (chat("Paris", [entry("Paris"), entry("", raw=[])]), -1.0, True),
        (chat("Paris", [entry(" Par"), entry("is"), entry("</s>")]), -1.5, True),
        (chat("Paris", [entry("Par"), entry("is")]), None, True),  # all text, no end
        (chat("Paris", [entry("Par"), entry("is"), entry(" ")]), None, True),  # trailing blank, no end
        (chat("Paris", [entry("Paris"), entry("<e>")], finish="length"), None, False),
        (chat("", [entry("<|im_end|>")]), -0.5, True),
        (chat("", [entry("Paris")]), None, True),  # text was lost, not ended
        (chat(None, []), None, True),
        (chat("é", [entry("?", raw=[0xC3]), entry("?", raw=[0xA9]), entry("", raw=[])]), -1.5, True),
        (chat("Paris", [entry("Paris", math.nan), entry("</s>")]), None, True),
    ],
)
def test_whether_the_end_was_counted_is_found_out(choice, logprob, complete):
    sample = chat_sample(choice)
    assert sample.logprob == (None if logprob is None else pytest.approx(logprob))
    assert sample.complete is complete
    assert chat_sample(choice, logprobs_of_sampling=False).logprob is None


def test_the_older_layout_of_completions():
    logprobs = {"tokens": [" Paris", "\n", "\n"], "token_logprobs": [-0.5, -0.25, -9.0]}
    sample = completion_sample({"text": " Paris\n\n", "logprobs": logprobs, "finish_reason": "length"})
    assert (sample.text, sample.logprob, sample.complete) == ("Paris", -0.75, True)
    assert sample.tokens == (" Paris", "\n")


def test_a_completion_that_was_cut_off_has_no_end():
    logprobs = {"tokens": [" Paris", " is"], "token_logprobs": [-0.5, -0.25]}
    sample = completion_sample({"text": " Paris is", "logprobs": logprobs, "finish_reason": "length"})
    assert (sample.logprob, sample.complete) == (None, False)


@pytest.mark.parametrize("reply", [{}, {"choices": "?"}, {"choices": [{"message": 3}]}, {"choices": [3]}])
def test_replies_that_break_the_protocol_are_named(reply):
    with pytest.raises(BadReply):
        ask(failing(*[(200, {}, reply)] * 9))


@pytest.mark.parametrize(
    "values", [(0.0, 0.0), (-9999.0, -9999.0), (-0.5, -9999.0), (-0.5, math.nan), (-0.5, 0.1)]
)
def test_placeholders_are_unknown_not_certain(values):
    """Some endpoints send 0.0 or -9999 for every token."""
    tokens = [
        {"token": text, "logprob": value} for text, value in zip(["Paris", "<|im_end|>"], values, strict=True)
    ]
    choice = {"message": {"content": "Paris"}, "logprobs": {"content": tokens}, "finish_reason": "stop"}
    sample = chat_sample(choice)
    assert (sample.text, sample.logprob, sample.token_logprobs) == ("Paris", None, None)


@pytest.mark.parametrize("raw", [1_500_000_000, "abc", [300], [1.5], {"a": 1}])
def test_bytes_that_are_none_leave_the_answer_without_its_probability(raw):
    entry = {"token": "Paris", "logprob": -0.5, "bytes": raw}
    choice = {"message": {"content": "Paris"}, "logprobs": {"content": [entry]}}
    sample = chat_sample(choice)
    assert (sample.text, sample.logprob, sample.prefix_logprob) == ("Paris", None, None)


@pytest.mark.parametrize("value", ["high", None, [], 10**400])
def test_log_probabilities_that_are_no_numbers_leave_the_answer(value):
    choice = {
        "message": {"content": "Paris"},
        "logprobs": {"content": [{"token": "Paris", "logprob": value}]},
    }
    sample = chat_sample(choice)
    assert (sample.text, sample.logprob, sample.prefix_logprob) == ("Paris", None, None)


@pytest.mark.parametrize("key", ["sk-se\ncret", "sk-se\u201ccret", "sk-\x00cret"])
def test_a_key_no_header_can_carry_is_refused_and_not_shown(key):
    with pytest.raises(InputError, match="characters that a header cannot carry") as caught:
        load_model("openai:m", base_url="http://127.0.0.1:1/v1", api_key=key)
    assert "cret" not in str(caught.value)


def test_white_space_around_a_key_is_left_out():
    endpoint = ScriptedEndpoint(coin)
    ask(endpoint, api_key=" sk-secret\n")
    assert endpoint.keys == ["Bearer sk-secret"]


def test_no_message_shows_the_key_or_a_password():
    def fail(number, body):
        return 401, {}, {"error": {"message": "wrong key sk-secret\nsee above\x1b[31m"}}

    with pytest.raises(BadKey) as caught:
        ask(ScriptedEndpoint(coin, fail), api_key="sk-secret")
    assert "secret" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value).splitlines()) == 1
    model = load_model("openai:m", base_url="http://me:hunter2@127.0.0.1:9/v1", retry=Retry(times=0))
    with (
        closing(model),
        pytest.raises(ModelError, match=r"^http://127\.0\.0\.1:9/v1: cannot be reached") as caught,
    ):
        model.sample("?", 1)
    assert "hunter2" not in str(caught.value)


def test_an_address_that_is_none_is_an_input_error():
    with pytest.raises(InputError, match=r"base_url .* expected http://HOST:PORT/PATH"):
        load_model("openai:m", base_url="http://[::1/v1")

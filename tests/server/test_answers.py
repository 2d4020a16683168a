"""The client's own answer as the gateway judges it: against the samples, by its log-probabilities, or as no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import Upstream, served  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

QUESTION = "What is the capital of France?"


class Answering(Upstream):
    """Answers the client with `text`, and samples with what `answers` says.

    The client's request is the one without `n`, which samples always have. Samples come without log-probabilities
    where `silent` is set.
    """

    def __init__(self, text: Any, spread: dict[str, float], *, silent: bool = False, **choice: Any) -> None:
        super().__init__(lambda prompt: spread)
        self.text, self.silent, self.choice = text, silent, choice

    def _choice(self, body: dict[str, Any], chat: bool, index: int, number: int) -> dict[str, Any]:
        made = super()._choice(body, chat, index, number)
        if "n" in body:
            return {**made, "logprobs": None} if self.silent else made
        said = {"message": {"role": "assistant", "content": self.text}} if chat else {"text": self.text}
        return {**made, **said, "logprobs": None, **self.choice}

    @property
    def samples(self) -> int:
        return sum(body.get("n", 0) for body in self.requests)


def logprobs(text: str, value: float) -> dict[str, Any]:
    entries = [(text, value), ("<|end|>", -0.001)]
    return {
        "content": [{"token": token, "logprob": p, "bytes": list(token.encode())} for token, p in entries]
    }


def ask(url: str, **fields: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], **fields}
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)


def verdict_of(reply: Any) -> dict[str, Any]:
    if reply.headers["content-type"].startswith("text/event-stream"):
        events = [
            line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: {")
        ]
        return dict(json.loads(events[-1])["semtropy"])
    return dict(reply.json()["semtropy"])


def gateway(app: Upstream, **settings: Any) -> Any:
    """Addresses of an upstream's gateway."""
    from contextlib import contextmanager

    @contextmanager
    def both() -> Any:
        with served(app) as base:
            made = create_app(Settings(upstream=f"{base}/v1", judge="exact", **settings))
            with served(made) as url:
                yield url

    return both()


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_berlin_among_samples_that_say_paris_is_flagged(mode: str, stream: bool, silent: bool) -> None:
    app = Answering("Berlin", {"Paris": 1.0}, silent=silent)
    with gateway(app, mode=mode) as url:
        for source in ("new", "cached"):
            reply = ask(url, stream=stream)
            found = verdict_of(reply)
            assert (found["outcome"], found["source"], found["blocked"]) == (
                "flagged",
                source,
                mode == "block",
            )
            assert ("Berlin" in reply.text) == (mode == "annotate")
        app.text = "Paris"
        found = verdict_of(ask(url, stream=stream))
        assert (found["outcome"], found["source"], found["answer"]) == ("steady", "cached", "Paris")


def test_samples_go_on_where_the_answer_reopens_the_question() -> None:
    """Samples without log-probabilities agree, and sampling stops; an answer that differs needs more of them."""
    app = Answering("Lyon", {"Paris": 1.0}, silent=True)
    with gateway(app) as url:
        other = verdict_of(ask(url))
        app.text = "Paris"
        same = verdict_of(ask(url))
    assert other["outcome"] == "flagged"
    assert other["samples"] >= same["samples"]
    assert "lift the suspicion" in other["reason"]
    assert "cast doubt on the answer" in same["reason"]


def test_an_answer_with_log_probabilities_needs_no_sample() -> None:
    app = Answering("Paris", {"Paris": 1.0}, logprobs=logprobs("Paris", -0.01))
    with gateway(app) as url:
        found = verdict_of(ask(url, temperature=1, logprobs=True))
        assert (found["outcome"], found["samples"], app.samples) == ("steady", 0, 0)
        app.choice["logprobs"] = logprobs("Paris", -9.0)
        found = verdict_of(ask(url, temperature=1, logprobs=True))
        assert found["samples"] > 0, (
            "an improbable one is not flagged for that alone: samples may say the same"
        )


def test_log_probabilities_at_another_temperature_are_not_those_of_samples() -> None:
    app = Answering("Paris", {"Paris": 1.0}, logprobs=logprobs("Paris", -0.01))
    with gateway(app) as url:
        for fields in ({"temperature": 0.2}, {}, {"temperature": 1, "top_p": 0.5}):
            assert verdict_of(ask(url, logprobs=True, semtropy={"cache": False}, **fields))["samples"] > 0


def test_log_probabilities_of_a_stream_count_too() -> None:
    """One half that samples split: the answer's own log-probability says which."""
    app = Answering("Paris", {"Paris": 1.0}, silent=True)
    with gateway(app, max_samples=1) as url:
        without = verdict_of(ask(url, stream=True, temperature=1))
        app.choice["logprobs"] = logprobs("Paris", -0.01)
        known = verdict_of(ask(url, stream=True, temperature=1, logprobs=True, semtropy={"cache": False}))
    assert known["agreement"]["mean"] > without["agreement"]["mean"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("text", "choice"),
    [("", {}), (None, {"finish_reason": "length"})]
    + [
        ("Par", {"finish_reason": reason})
        for reason in ("length", "max_tokens", "MAX_TOKENS", "model_length", "content_filter")
    ],
)
@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_silence_and_a_cut_are_no_answer(text: Any, choice: dict[str, Any], stream: bool, mode: str) -> None:
    app = Answering(text, {"Paris": 1.0}, **choice)
    with gateway(app, mode=mode) as url:
        reply = ask(url, stream=stream)
        found = verdict_of(reply)
        assert (found["outcome"], found["blocked"]) == ("no answer", False)
        if not stream:
            assert reply.headers["x-semtropy-verdict"] == "no answer"
            assert app.samples == 0, "nothing is drawn for an answer that is not there"
        count = 'semtropy_checks_total{outcome="no answer"} 1.0'
        assert count in httpx.get(f"{url}/metrics").text


def test_a_tool_call_is_not_silence() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    app = Answering(None, {"Paris": 1.0}, message=message, finish_reason="tool_calls")
    with gateway(app) as url:
        assert "nothing was checked" in verdict_of(ask(url))["skipped"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_budget_of_no_samples_judges_the_answer_alone(stream: bool) -> None:
    app = Answering("Paris", {"Paris": 1.0})
    with gateway(app) as url:
        found = verdict_of(ask(url, stream=stream, semtropy={"budget": {"samples": 0}}))
    assert (found["outcome"], found["samples"], app.samples) == ("undecided", 0, 0)


@pytest.mark.parametrize(("withhold", "blocked"), [("flagged", False), ("undecided", True)])
def test_an_undecided_answer_is_blocked_only_where_the_operator_says_so(withhold: str, blocked: bool) -> None:
    app = Answering("left", {"left": 1.0}, silent=True)
    with gateway(app, mode="block", max_samples=1, withhold=withhold) as url:
        reply = ask(url)
    found = verdict_of(reply)
    assert (found["outcome"], found["blocked"]) == ("undecided", blocked)
    assert ("left" in reply.text) == (not blocked)

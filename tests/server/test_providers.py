"""The gateway in front of every provider's emulator: the client has its answer, and the right verdict with it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.middleware import Caller  # noqa: E402
from semtropy.server.requests import read_completion_request  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402
from semtropy.testing import PROVIDERS, emulate  # noqa: E402

CONVERSATION = [
    {"role": "user", "content": "Who won the Nobel Prize in Physics in 1911?"},
    {"role": "assistant", "content": "Wilhelm Wien."},
    {"role": "user", "content": "And in 1912?"},
]
SURE = {"Gustaf Dalén": 1.0}
UNSURE = {f"{letter}. Physicist": 0.1 for letter in "ABCDEFGHIJ"}


def asked(provider: str, answers: dict[str, float], checks: int) -> list[dict[str, Any]]:
    """The replies to one conversation, passed through a gateway."""
    with emulate(provider, answers) as endpoint:
        app = create_app(Settings(upstream=endpoint.base_url, judge="exact", cache_size=0))
        with served(app) as url, httpx.Client(base_url=url, timeout=60) as client:
            body = {"model": endpoint.provider.example, "messages": CONVERSATION}
            replies = [client.post("/v1/chat/completions", json=body) for _ in range(checks)]
        assert all(reply.status_code == 200 for reply in replies), [reply.text for reply in replies]
        client_messages = [request["messages"] for request in endpoint.requests]
        assert all(messages == CONVERSATION for messages in client_messages)
        return [reply.json() for reply in replies]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_steady_answer(provider: str) -> None:
    for reply in asked(provider, SURE, 2):
        assert reply["choices"][0]["message"]["content"].endswith("Gustaf Dalén")
        verdict = reply["semtropy"]
        assert verdict["outcome"] == "steady"
        assert verdict["answer"] == "Gustaf Dalén"
        assert verdict["question"] == "And in 1912?"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_that_changes(provider: str) -> None:
    (reply,) = asked(provider, UNSURE, 1)
    assert reply["semtropy"]["outcome"] == "flagged"


class RecordingJudge:
    """Tells every two answers apart, and keeps the questions they were compared for."""

    name = "recording"

    def __init__(self) -> None:
        self.questions: set[str] = set()

    def entails(self, batch: Any) -> Any:
        self.questions |= {question for question, _, _ in batch}
        return np.zeros(len(batch))


def test_the_judge_reads_a_follow_up_with_its_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = RecordingJudge()
    monkeypatch.setattr("semtropy.server.policy.Policy.judge", lambda *arguments: judge)
    (reply,) = asked("anthropic", UNSURE, 1)
    assert reply["semtropy"]["question"] == "And in 1912?"
    assert judge.questions == {"Who won the Nobel Prize in Physics in 1911?\nAnd in 1912?"}


def test_a_conversation_that_ends_with_the_beginning_of_an_answer_is_judged_by_its_question() -> None:
    with emulate("vllm", SURE) as endpoint:
        app = create_app(Settings(upstream=endpoint.base_url, judge="exact"))
        begun = [*CONVERSATION, {"role": "assistant", "content": "It was"}]
        with served(app) as url, httpx.Client(base_url=url, timeout=60) as client:
            reply = client.post("/v1/chat/completions", json={"model": "m", "messages": begun}).json()
    assert reply["semtropy"]["question"] == "And in 1912?"


@pytest.mark.parametrize(
    "content", ["And in 1912?", [{"type": "input_text", "text": "And in 1912?"}]], ids=["text", "parts"]
)
def test_the_responses_api_is_read_as_a_conversation(content: Any) -> None:
    earlier = [
        {"role": "user", "content": "Who won the Nobel Prize in Physics in 1911?"},
        {"type": "reasoning", "summary": []},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Wilhelm Wien."}]},
    ]
    body = {
        "model": "m",
        "instructions": "Be exact.",
        "input": [*earlier, {"role": "user", "content": content}],
    }
    request = read_completion_request(
        "responses", json.dumps(body).encode(), caller=Caller(None, (), {}), header=None, max_prompt=1000
    )
    assert request.prompt == [{"role": "system", "content": "Be exact."}, *CONVERSATION]


def test_a_lone_question_is_text_for_models_that_take_no_messages() -> None:
    for kind, body in (
        ("chat", {"messages": [{"role": "user", "content": "Who?"}]}),
        ("responses", {"input": "Who?"}),
        ("completions", {"prompt": "Who?"}),
    ):
        raw = json.dumps({"model": "m", **body}).encode()
        request = read_completion_request(
            kind, raw, caller=Caller(None, (), {}), header=None, max_prompt=1000
        )
        assert request.prompt == "Who?"


@pytest.fixture
def checking() -> Any:
    """Posts to /v1/check of a gateway, and the requests that its upstream saw."""
    with emulate("anthropic", SURE) as endpoint:
        app = create_app(Settings(upstream=endpoint.base_url, upstream_model="m", judge="exact"))
        with served(app) as url, httpx.Client(base_url=url, timeout=60) as client:
            yield lambda **body: client.post("/v1/check", json=body), endpoint


def test_check_takes_messages_a_system_message_and_an_answer(checking: Any) -> None:
    post, endpoint = checking
    verdict = post(messages=CONVERSATION, system="Be exact.", answer="Max Planck").json()
    assert (verdict["question"], verdict["answer"]) == ("And in 1912?", "Max Planck")
    assert verdict["outcome"] == "flagged"
    sent = [{"role": "system", "content": "Be exact."}, *CONVERSATION]
    assert all(request["messages"] == sent for request in endpoint.requests)
    assert all(request.get("temperature", 1.0) == 1.0 for request in endpoint.requests), (
        "no other answer is drawn"
    )


def test_a_given_answer_is_weighed_through_the_gateway_too() -> None:
    with emulate("vllm", {"Gustaf Dalén": 0.7, "Max Planck": 0.3}) as endpoint:
        app = create_app(Settings(upstream=endpoint.base_url, upstream_model="m", judge="exact"))
        with served(app) as url, httpx.Client(base_url=url, timeout=60) as client:
            body = {"messages": CONVERSATION, "answer": "Gustaf Dalén", "seed": 1, "one_by_one": True}
            assert client.post("/v1/check", json=body).json()["answer"] == "Gustaf Dalén"
    assert sum("prompt_logprobs" in request for request in endpoint.requests) == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "give one of prompt, messages"),
        ({"prompt": "Who?", "messages": CONVERSATION}, "give one of prompt, messages"),
        ({"messages": CONVERSATION[:2]}, "the last message is the assistant's"),
        ({"messages": [{"role": "user"}]}, "messages[0].content is empty"),
        ({"messages": [{"content": "Who?"}]}, "messages[0].role is missing"),
    ],
)
def test_what_is_wrong_with_a_check_is_one_line(checking: Any, body: dict[str, Any], says: str) -> None:
    reply = checking[0](**body)
    assert reply.status_code in (400, 422)
    assert says in reply.text


def test_a_long_conversation_is_refused_as_a_long_prompt_is(checking: Any) -> None:
    post, _ = checking
    reply = post(messages=[{"role": "user", "content": "long " * 100_000}])
    assert reply.status_code == 413


def test_the_requests_that_the_docs_show(checking: Any) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")
    shown = [shlex.split(each) for each in re.findall(r"^curl .*?(?=^```)", page, re.DOTALL | re.MULTILINE)]
    bodies = [json.loads(words[words.index("-d") + 1]) for words in shown]
    verdicts = [checking[0](**body).json() for body in bodies]
    assert [verdict["outcome"] for verdict in verdicts] == ["steady", "flagged"]
    assert verdicts[1]["answer"] == "Max Planck"

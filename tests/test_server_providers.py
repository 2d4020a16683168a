"""The gateway in front of every provider's emulator: the client has its answer, and the right verdict with it."""

from __future__ import annotations

from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
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

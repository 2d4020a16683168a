"""The gateway in front of an endpoint that is sure of its answers and words them in different ways."""

from __future__ import annotations

from collections import Counter

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from semtropy.meaning import ScriptedJudge  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402
from semtropy.testing import SENTENCES, emulate  # noqa: E402


@pytest.mark.parametrize("provider", ["vllm", "openai-reasoning"])
def test_right_answers_in_different_wordings_are_not_flagged(provider, monkeypatch):
    judge = ScriptedJudge(lambda question, a, b: float(any({a, b} <= set(own) for own in SENTENCES.values())))
    monkeypatch.setattr("semtropy.server.instruments.load_judge", lambda name, **options: judge)
    outcomes: Counter[str] = Counter()
    with emulate(provider, SENTENCES.__getitem__) as endpoint:
        app = create_app(Settings(upstream=endpoint.base_url, cache_size=0, max_seconds=120.0))
        with served(app) as url, httpx.Client(base_url=url, timeout=60) as client:
            for question in SENTENCES:
                body = {
                    "model": endpoint.provider.example,
                    "messages": [{"role": "user", "content": question}],
                }
                for _ in range(10):
                    reply = client.post("/v1/chat/completions", json=body)
                    assert reply.status_code == 200, reply.text
                    outcomes[reply.json()["semtropy"]["outcome"]] += 1
    assert outcomes["flagged"] == 0, outcomes
    assert outcomes["undecided"] <= 4, outcomes
    assert outcomes.total() == 40

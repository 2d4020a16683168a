"""What the gateway remembers between requests is bounded in bytes, not only in number."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from raw_upstream import completion, http_reply, raw_upstream  # noqa: E402
from semtropy.models.openai import TemperatureProbe  # noqa: E402
from semtropy.nouns import Sample  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.checks import RunCache  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402


def test_long_answers_do_not_fill_the_cache() -> None:
    async def run(cache: RunCache, name: str, samples: list[Sample]) -> str:
        async def steps() -> AsyncIterator[Any]:
            yield SimpleNamespace(samples=samples, reason="enough")

        found, source = cache.get(name, steps)
        await found.last()
        await asyncio.wait({found._task})  # the run is filed after its last step
        return source

    async def fill() -> None:
        cache = RunCache(size=1000, seconds=60, most_bytes=1_000_000)
        long = [Sample("x" * 300_000)]
        many = [Sample("x", tokens=("x",) * 2000, token_logprobs=(-0.1,) * 2000)] * 2
        for number in range(20):
            await run(cache, f"long {number}", long)
            await run(cache, f"many {number}", many)
        assert len(cache) < 6
        assert await run(cache, "many 19", many) == "cached"
        assert await run(cache, "long 1", long) == "new"
        await run(cache, "larger than all", [Sample("x" * 2_000_000)])
        assert len(cache) == 0
        for number in range(500):
            await run(cache, f"short {number}", [Sample("Paris")])
        assert len(cache) == 500

    asyncio.run(fill())


def test_what_is_found_out_about_log_probabilities_has_a_size() -> None:
    """Clients choose the prompts, and may repeat one for ever."""
    certain = Sample("Paris", tokens=("Paris",) * 5000, token_logprobs=(-0.001,) * 5000)
    probe = TemperatureProbe()
    for number in range(200):
        fields = {"messages": "Who?" * 10_000, "user": number % 3}
        probe.observe(fields, 0.5, [certain])
        probe.observe(fields, 1.0, [certain] * 10)
    assert probe.before_temperature is None
    assert len(pickle.dumps(probe)) < 100_000
    probe.observe({"messages": "Who?"}, 0.5, [Sample("a", tokens=("a",), token_logprobs=(-1.0,))])
    probe.observe({"messages": "Who?"}, 1.0, [Sample("a", tokens=("a",), token_logprobs=(-1.01,))])
    assert probe.before_temperature is True


def test_an_answer_with_a_thousand_fields_does_not_stop_other_requests() -> None:
    def fields(body: dict[str, Any], number: int) -> bytes:
        made = ", ".join(f'"k{k}": "v{k} {number if k % 3 else 0}"' for k in range(1000))
        return http_reply(completion(f"{{{made}}}"))

    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    body["response_format"] = {"type": "json_object"}
    replies: list[Any] = []

    def ask(url: str) -> None:
        replies.append(httpx.post(f"{url}/v1/chat/completions", json=body, timeout=120))

    with raw_upstream(fields) as upstream:
        app = create_app(Settings(upstream=upstream.url, judge="exact", max_seconds=2.0))
        with served(app) as url, httpx.Client(timeout=120) as client:
            asking, start, longest = threading.Thread(target=ask, args=(url,)), time.monotonic(), 0.0
            asking.start()
            while asking.is_alive():
                before = time.monotonic()
                assert client.get(f"{url}/healthz").status_code == 200
                longest = max(longest, time.monotonic() - before)
                asking.join(0.1)  # to ask again at once would be most of the work
            took = time.monotonic() - start
    assert replies[0].status_code == 200
    assert "k999" in replies[0].json()["choices"][0]["message"]["content"]
    assert longest < min(4.0, took / 2)
    assert took < 30.0

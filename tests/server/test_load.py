"""Many clients at once against an upstream with faults; and every request OpenAPI allows."""

from __future__ import annotations

import asyncio
import gc
import os
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


from benchmarks.gateway import TURNED_AWAY, answers, fair, load  # noqa: E402

from openai_upstream import Upstream, served  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.checks import CheckRun  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

SECONDS = 1.0


def test_64_clients_and_faults() -> None:
    """Nothing lost, nothing mixed up, 429 beyond the limit, and counters that agree with what clients saw."""
    faults: dict[int, int | str] = {39: 500, 65: "cut", 91: 429, 143: "gzip", 26: "surrogate"}

    def fault(number: int) -> int | str | None:
        return next((kind for every, kind in faults.items() if number % every == 0), None)

    upstream = Upstream(answers, fault=fault, keep=False)
    with served(upstream) as base:
        limits = Settings(upstream=f"{base}/v1", judge="exact", concurrency=16, queue=16)
        with served(create_app(limits)) as url:
            outcome: Counter[str] = Counter()
            for _ in range(20):  # on a busy machine few requests are answered in the seconds of one load
                found = asyncio.run(load(url, os.getpid(), clients=64, seconds=SECONDS))
                outcome += Counter(found["outcome"])
                if outcome["verdict"] > 20 and any("upstream" in kind for kind in outcome):
                    break
    assert not fair({**found, "outcome": dict(outcome), "memory_mb": []}, crowded=True)
    assert outcome["verdict"] > 20
    assert outcome[TURNED_AWAY] > 0
    assert any("upstream" in kind for kind in outcome)


def test_a_load_that_is_not_fair_is_seen() -> None:
    outcome = {"verdict": 5, "429 from the upstream": 2}
    sound = {"outcome": outcome, "counted": {"200": 5, "429": 2}, "memory_mb": [90] * 8}
    assert not fair(sound)
    assert fair({**sound, "outcome": {**outcome, "verdict": 4, "mixed up": 1}})
    turned_away = {**sound, "outcome": {"verdict": 5, "429 from the upstream": 1, TURNED_AWAY: 1}}
    assert fair(turned_away)
    assert not fair(turned_away, crowded=True)
    assert fair({**sound, "outcome": {**outcome, "verdict": 4, "lost: 500 from the gateway": 1}})
    assert fair({**sound, "counted": {"200": 4, "429": 2}})
    assert fair({**sound, "counted": {"200": 6, "429": 1}})
    assert fair({**sound, "memory_mb": [90, 90, 100, 110]})
    assert not fair({**sound, "memory_mb": [90, 108, 110, 112]})


def test_what_is_kept_does_not_grow() -> None:
    """After any number of questions there are as many runs in memory as the cache holds, whatever became of them."""
    faults: dict[int, int | str] = {7: 500, 11: "cut", 13: 429}
    upstream = Upstream(
        answers,
        keep=False,
        fault=lambda number: next((kind for every, kind in faults.items() if number % every == 0), None),
    )
    alive, room = [], 5
    with served(upstream) as base:
        settings = Settings(upstream=f"{base}/v1", judge="exact", cache_size=room)
        with served(create_app(settings)) as url, httpx.Client(timeout=60) as client:
            for turn in range(3):
                for number in range(20):
                    messages = [{"role": "user", "content": f"{turn}-{number}"}]
                    body = {"model": "m", "messages": messages, "stream": number % 2 == 0}
                    client.post(f"{url}/v1/chat/completions", json=body)
                client.post(f"{url}/v1/check", json={"prompt": f"{turn}", "model": "m", "stream": True})
                gc.collect()
                # `type`, not isinstance: that asks each object for its class, and some libraries' warn.
                alive.append(sum(type(held) is CheckRun for held in gc.get_objects()))
    assert alive[0] > 0
    assert max(alive) <= room + 1, alive


def test_schemathesis_finds_no_server_error() -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")
    model = ScriptedModel(default={"yes": 0.6, "no": 0.4})
    tried: Counter[str] = Counter()
    with served(create_app(Settings(judge="exact"), model=model)) as url:
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        for operation in (found.ok() for found in schema.get_all_operations()):
            for mode in schemathesis.GenerationMode:
                few = 12 if operation.method == "post" else 5

                @settings(max_examples=few, suppress_health_check=list(HealthCheck))
                @given(case=operation.as_strategy(generation_mode=mode))
                def every_case(case: Any) -> None:
                    reply = case.call()
                    assert reply.status_code < 500, case.as_curl_command()
                    tried[f"{case.method} {case.path}"] += 1

                with suppress(Unsatisfiable):  # a route without parameters cannot be asked wrongly
                    every_case()
    assert tried["POST /v1/check"] >= 20
    assert tried["POST /v1/chat/completions"] >= 20
    assert tried["POST /api/replay"] >= 20

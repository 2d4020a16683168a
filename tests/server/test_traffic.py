"""The traffic view: what the gateway counts, who may see the latest verdicts, and that texts stay out of them."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import Upstream, served  # noqa: E402
from semtropy.errors import InputError  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402
from semtropy.server.telemetry import Metrics  # noqa: E402
from semtropy.server.traffic import LATEST, MINUTES, Traffic, latency  # noqa: E402

SECRET, OTHER = "a-very-secret-question", "a-very-secret-answer"
EVEN = {f"{OTHER} {k}": 0.125 for k in "abcdefgh"}
KNOWN = {"Paris": 1.0}


def gateway(answers: dict[str, float] = EVEN, **settings: Any) -> Any:
    given: dict[str, Any] = {"judge": "exact", "prior": "default", **settings}
    return served(create_app(Settings(**given), model=ScriptedModel(default=answers)))


def seen(url: str, key: str | None = None) -> Any:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.get(f"{url}/api/traffic", headers=headers).json()


def ask(url: str, question: str = SECRET, key: str | None = None, **body: Any) -> Any:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/v1/check", json={"prompt": question, **body}, headers=headers)


def test_counts_share_and_the_latest_verdicts_without_texts() -> None:
    with gateway() as url:
        assert seen(url)["totals"]["flagged_share"] is None
        verdict = ask(url).json()
        ask(url, stream=True)
        chat = {"model": "m", "messages": [{"role": "user", "content": SECRET}]}
        httpx.post(f"{url}/v1/chat/completions", json=chat)
        found = seen(url)
    totals, latest = found["totals"], found["latest"]
    assert totals["verdicts"] == sum(totals["checks"].values()) == 3
    assert totals["flagged_share"] == totals["checks"]["flagged"] / 3 > 0
    assert totals["requests"] == 3
    assert totals["samples"] > 0
    assert totals["tokens"] > 0
    assert sum(minute.get("flagged", 0) for minute in found["hour"]) == totals["checks"]["flagged"]
    assert [row["route"] for row in latest] == ["chat", "check", "check"]
    first = latest[-1]
    assert (first["outcome"], first["samples"]) == (verdict["outcome"], verdict["samples"])
    assert first["agreement"] == verdict["agreement"]["mean"]
    assert first["tokens"] == verdict["cost"]["tokens"]
    assert time.time() - 60 < first["time"] <= time.time()
    assert found["latency"]["check"]["count"] >= 1
    assert 0 < found["latency"]["check"]["median"] <= found["latency"]["check"]["p95"]
    assert SECRET not in json.dumps(found)
    assert OTHER not in json.dumps(found)


def test_texts_are_shown_where_the_operator_allows_them() -> None:
    with gateway(traffic="texts") as url:
        ask(url)
        found = seen(url)
    assert found["latest"][0]["question"] == SECRET
    assert found["latest"][0]["answer"].startswith(OTHER)


def test_withheld_answers_are_not_in_the_traffic_either() -> None:
    with gateway(traffic="texts", mode="block") as url:
        ask(url)
        found = seen(url)
    row = found["latest"][0]
    assert (row["outcome"], row["blocked"], row["answer"]) == ("flagged", True, None)


def test_a_check_that_fails_is_an_error_with_its_kind() -> None:
    upstream = Upstream(lambda prompt: KNOWN, fault=lambda number: 500 if number > 1 else None)
    with served(upstream) as behind:
        settings = Settings(judge="exact", upstream=f"{behind}/v1", upstream_model="m", max_seconds=5)
        with served(create_app(settings)) as url:
            body = {"model": "m", "messages": [{"role": "user", "content": "Capital?"}]}
            reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30).json()
            assert "error" in reply["semtropy"]
            row = seen(url)["latest"][0]
    assert (row["outcome"], row["model"]) == ("error", "m")
    assert row["error"] == reply["semtropy"]["error"]["kind"]
    assert row["agreement"] is None


def test_without_an_operators_key_clients_see_figures_alone() -> None:
    with gateway(keys=("tenant",)) as url:
        ask(url, key="tenant")
        assert httpx.get(f"{url}/api/traffic").status_code == 401
        found = seen(url, "tenant")
        assert found["latest"] is None
        assert found["totals"]["verdicts"] == 1
    assert SECRET not in json.dumps(found)


def test_the_operators_key_opens_the_latest_verdicts_and_the_rest() -> None:
    with gateway(keys=("tenant",), operator_keys=("mine",), traffic="texts") as url:
        ask(url, key="tenant")
        assert seen(url, "tenant")["latest"] is None
        assert seen(url, "mine")["latest"][0]["question"] == SECRET
        assert ask(url, key="mine").status_code == 200
    with gateway(operator_keys=("mine",)) as url:
        assert ask(url).status_code == 200
        assert seen(url)["latest"] is None
        assert seen(url, "wrong")["latest"] is None
        assert len(seen(url, "mine")["latest"]) == 1


def test_the_operators_key_never_reaches_the_upstream() -> None:
    upstream = Upstream(lambda prompt: KNOWN)
    with served(upstream) as behind:
        settings = Settings(judge="exact", upstream=f"{behind}/v1", operator_keys=("mine",))
        with served(create_app(settings)) as url:
            body = {"model": "m", "messages": [{"role": "user", "content": "Capital?"}]}
            for key in ("mine", "theirs"):
                headers = {"Authorization": f"Bearer {key}"}
                httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    assert "Bearer theirs" in upstream.keys
    assert "Bearer mine" not in upstream.keys


@pytest.mark.parametrize(
    ("settings", "private"),
    [
        ({}, True),
        ({"host": "0.0.0.0"}, False),
        ({"hosts": ("gateway.lan",)}, False),
        ({"hosts": ("*",)}, False),
        ({"keys": ("k",)}, False),
        ({"host": "::1", "hosts": ("localhost",)}, True),
    ],
)
def test_texts_need_an_operators_key_unless_the_gateway_is_private(
    settings: dict[str, Any], private: bool
) -> None:
    assert Settings(**settings).is_private == private
    assert Settings(**settings, traffic="texts", operator_keys=("mine",)).traffic == "texts"
    if not private:
        with pytest.raises(InputError, match="set operator_keys"):
            Settings(**settings, traffic="texts")


def test_none_shows_nothing_and_keeps_nothing() -> None:
    with gateway(traffic="none") as url:
        ask(url)
        assert httpx.get(f"{url}/api/traffic").status_code == 404


def test_what_is_kept_is_bounded_and_old_minutes_go() -> None:
    now = [0.0]
    traffic = Traffic(Settings(traffic="texts"), Metrics(), clock=lambda: now[0])
    for k in range(3 * LATEST):
        now[0] = 60.0 * k
        payload = {"outcome": "steady", "answer": "a" * 10_000}
        traffic.add(payload, route="chat", model="m" * 1000, question="q" * 10_000)
    found = traffic.to_dict(operator=True)
    assert len(found["latest"]) == LATEST
    assert len(found["hour"]) == MINUTES
    assert [minute["steady"] for minute in found["hour"]] == [1] * MINUTES
    assert found["hour"][-1]["minute"] == now[0]
    assert len(json.dumps(found["latest"][0])) < 5000
    now[0] += 3600 * 2
    assert not any("steady" in minute for minute in traffic.to_dict(operator=True)["hour"])


def test_the_metrics_count_tokens_too() -> None:
    with gateway(KNOWN) as url:
        verdict = ask(url, rule={"samples": 3}).json()
        lines = httpx.get(f"{url}/metrics").text.splitlines()
    counted = next(line for line in lines if line.startswith("semtropy_tokens_total "))
    assert float(counted.split()[1]) == verdict["cost"]["tokens"] > 0


def test_latencies_of_one_bucket_and_beyond_the_last() -> None:
    assert latency([(1.0, 0), (2.0, 4), (math.inf, 8)]) == {"count": 8, "median": 2.0, "p95": 2.0}
    assert latency([]) == {"count": 0, "median": None, "p95": None}

"""Long answers through the gateway, claim by claim, in every mode, whole and as a stream, and on every route."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from raw_upstream import completion, http_reply, raw_upstream, stream_reply  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

NAMES = ("Janos Geml", "Carol Telbisz", "Stan Vidrighin", "Ion Doboseanu", "Emil Tieranu", "Anna Weiss")
KNOWN = "Springfield is the capital of Illinois."
ALSO = "Abraham Lincoln lived there for many years."
LONG = f"{KNOWN} Its mayor in 1911 was NAME, who held office for six years. {ALSO}"
INVENTED = "Its mayor in 1911 was NAME. His deputy was called NEXT."
ROUTES = {
    "chat": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "Tell me about Springfield."}]},
    ),
    "responses": ("/v1/responses", {"input": "Tell me about Springfield."}),
    "check": ("/v1/check", {"prompt": "Tell me about Springfield."}),
}


def telling(body: dict[str, Any], number: int) -> bytes:
    text = INVENTED if "invented" in body["model"] else LONG
    text = text.replace("NAME", NAMES[number % 6]).replace("NEXT", NAMES[(number + 3) % 6])
    if "input" in body:
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": "m", "type": "message", "role": "assistant", "content": [part]}
        made = {"id": "r", "status": "completed", "output": [item]}
        if body.get("stream"):
            return stream_reply({"type": "response.completed", "response": made}, end=b"")
        return http_reply(made)
    if body.get("stream"):
        pieces = [
            {"index": 0, "delta": {"content": text}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        ]
        return stream_reply(*({"id": "c", "choices": [piece]} for piece in pieces))
    return http_reply(completion(text))


@pytest.fixture(scope="module")
def gateways() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        upstream = stack.enter_context(raw_upstream(telling))
        yield {
            mode: stack.enter_context(
                served(create_app(Settings(upstream=upstream.url, mode=mode, judge="builtin")))
            )
            for mode in ("annotate", "block", "trim")
        }


def ask(url: str, route: str, *, stream: bool, model: str = "m") -> tuple[str, dict[str, Any]]:
    """The text of the reply without the verdict, and the verdict."""
    path, body = ROUTES[route]
    reply = httpx.post(url + path, json={**body, "model": model, "stream": stream}, timeout=60)
    assert reply.status_code == 200, reply.text
    data = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
    data = data if stream else [reply.json()]
    if route == "check":
        return json.dumps(data[:-1]), data[-1]
    holding = [each.get("response", each) for each in data]
    verdict = next(each.pop("semtropy") for each in reversed(holding) if "semtropy" in each)
    return json.dumps(data), verdict


def named(text: str) -> list[str]:
    return [name for name in NAMES if name in text]


each_route = pytest.mark.parametrize("route", ROUTES)
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@each_route
@both
def test_annotated(gateways: dict[str, str], route: str, stream: bool) -> None:
    text, verdict = ask(gateways["annotate"], route, stream=stream)
    assert [claim["outcome"] for claim in verdict["claims"]] == ["steady", "flagged", "steady"]
    assert verdict["outcome"] == "flagged"
    assert verdict["claims"][0]["text"] == KNOWN
    assert route == "check" or named(text)


@each_route
@both
def test_blocked(gateways: dict[str, str], route: str, stream: bool) -> None:
    text, verdict = ask(gateways["block"], route, stream=stream)
    assert verdict["blocked"] is True
    assert [claim["outcome"] for claim in verdict["claims"]] == ["steady", "flagged", "steady"]
    assert not named(text + json.dumps(verdict))
    assert KNOWN not in text + json.dumps(verdict)


@each_route
@both
def test_trimmed_to_the_steady_claims(gateways: dict[str, str], route: str, stream: bool) -> None:
    text, verdict = ask(gateways["trim"], route, stream=stream)
    assert not named(text + json.dumps(verdict))
    assert verdict["answer"] == f"{KNOWN} {ALSO}"
    assert [claim["text"] for claim in verdict["claims"]] == [KNOWN, None, ALSO]
    if route != "check":
        assert f"{KNOWN} {ALSO}" in text
        assert (verdict["blocked"], verdict["trimmed"]) == (False, True)


@each_route
@both
def test_where_no_claim_is_steady_nothing_passes(gateways: dict[str, str], route: str, stream: bool) -> None:
    text, verdict = ask(gateways["trim"], route, stream=stream, model="invented")
    assert verdict["blocked"] is True
    assert not named(text + json.dumps(verdict))
    assert "mayor" not in text + json.dumps(verdict)


def test_without_samples_no_claim_is_steady(gateways: dict[str, str]) -> None:
    path, body = ROUTES["chat"]
    asked = {**body, "model": "m", "semtropy": {"budget": {"samples": 0}}}
    verdict = httpx.post(gateways["annotate"] + path, json=asked, timeout=60).json()["semtropy"]
    assert {claim["outcome"] for claim in verdict["claims"]} == {"undecided"}


def test_a_stricter_mode_may_be_asked_for_and_a_looser_one_not(gateways: dict[str, str]) -> None:
    path, body = ROUTES["chat"]

    def status(setting: str, asked: str) -> int:
        sent = {**body, "model": "m", "semtropy": {"mode": asked}}
        return int(httpx.post(gateways[setting] + path, json=sent, timeout=60).status_code)

    assert [status("trim", mode) for mode in ("block", "annotate", "off")] == [200, 403, 403]
    assert [status("block", mode) for mode in ("trim", "annotate")] == [403, 403]


@pytest.mark.parametrize("options", [{}, {"budget": {"samples": 10}}], ids=["", "budget"])
def test_a_long_answer_takes_five_samples_unless_the_request_says_otherwise(options: dict[str, Any]) -> None:
    """Half of the answers have a claim and half have not, so that it stays open."""

    def torn(body: dict[str, Any], number: int) -> bytes:
        return http_reply(completion(f"{KNOWN} {ALSO}" if number % 2 else f"{KNOWN} It has a large zoo."))

    with raw_upstream(torn) as upstream, served(create_app(Settings(upstream=upstream.url))) as url:
        asked = {"prompt": "Tell me about Springfield.", "model": "m", **options}
        verdict = httpx.post(f"{url}/v1/check", json=asked, timeout=60).json()
    assert ("the limit on samples was reached" in verdict["reason"]) == (not options)
    assert options or verdict["samples"] == 5

"""Every promise of the gateway on every route that gives answers: a route that forgets one fails here.

A new route must be entered in ROUTES, or in EXEMPT with the reason why it needs no promise.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from raw_upstream import RawUpstream, completion, http_reply, raw_upstream, stream_reply  # noqa: E402
from semtropy.models import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import CHANGEABLE, Settings  # noqa: E402

QUESTION = "Who was the mayor of Springfield in 1911?"
ROUTES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}),
    "completions": ("/v1/completions", {"prompt": QUESTION}),
    "responses": ("/v1/responses", {"input": QUESTION}),
    "check": ("/v1/check", {"prompt": QUESTION}),
}
EXEMPT = {
    "/v1/models": "lists names",
    "/v1/{path:path}": "passes to the upstream unread, as far as other_routes allows",
    "/api/about": "the settings that the page shows",
    "/api/traffic": "shows the operator at most what clients got",
    "/api/replay": "computes with the client's own samples",
}
LOOSER: list[dict[str, Any]] = [
    {"mode": "off"},
    {"mode": "annotate"},
    {"threshold": 100},
    {"rule": {"samples": 1}},
    {"rule": {"confidence": 0.6}},
    {"rule": {"variance": 9.0}},
    {"budget": {"samples": 0}},
    {"budget": {"seconds": 0.1}},
    {"budget": {"tokens": 1}},
    {"estimator": "histogram"},
    {"judge": "normalised"},
    {"choices": ["Dr A", "Dr B"]},
    {"required": []},
]
LOCKED: dict[str, dict[str, Any]] = {
    "mode": {"mode": "block"},
    "threshold": {"threshold": 0.1},
    "rule": {"rule": {"confidence": 0.99}},
    "budget": {"budget": {"samples": 10}},
    "estimator": {"estimator": "bayes"},
    "judge": {"judge": "exact"},
    "fields": {"choices": ["A", "B"]},
}
NAMES = ("Janos Geml", "Carol Telbisz", "Stan Vidrighin", "Ion Doboseanu", "Emil Tieranu", "Anna Weiss")


def written(text: str) -> Any:
    """An upstream that writes `text` with another name for NAME each time, in the form of the route."""

    def reply(body: dict[str, Any], number: int) -> bytes:
        said = text.replace("NAME", NAMES[number % len(NAMES)])
        if "input" in body:
            part = {"type": "output_text", "text": said, "annotations": []}
            item = {"id": "m", "type": "message", "role": "assistant", "content": [part]}
            made = {"id": "r", "status": "completed", "output": [item]}
            if body.get("stream"):
                return stream_reply({"type": "response.completed", "response": made}, end=b"")
            return http_reply(made)
        if "messages" in body and not body.get("stream"):
            return http_reply(completion(said))
        choice: dict[str, Any] = {"index": 0, "text": said, "finish_reason": "stop"}
        if body.get("stream"):
            choice |= {"delta": {"content": said}} if "messages" in body else {}
            return stream_reply({"id": "c", "choices": [choice]})
        return http_reply({"id": "c", "choices": [choice]})

    return reply


@pytest.fixture(scope="module")
def upstream() -> Iterator[RawUpstream]:
    with raw_upstream(written("It was NAME.")) as made:
        yield made


@pytest.fixture(scope="module")
def gateways(upstream: RawUpstream) -> Iterator[Any]:
    """A gateway with these settings, started once for all tests that ask for the same."""
    running: dict[str, str] = {}
    with ExitStack() as stack:

        def start(**settings: Any) -> str:
            chosen = {"upstream": upstream.url, "upstream_model": "m", "judge": "exact", **settings}
            if str(chosen) not in running:
                running[str(chosen)] = stack.enter_context(served(create_app(Settings(**chosen))))
            return running[str(chosen)]

        yield start


def ask(
    url: str, route: str, options: dict[str, Any] | None = None, *, stream: bool = False, **sent: Any
) -> Any:
    path, body = ROUTES[route]
    body = {**body, "model": "m", "stream": stream}
    body |= (options or {}) if route == "check" else {"semtropy": options} if options else {}
    return httpx.post(url + path, timeout=60, **{"json": body, **sent})


every_route = pytest.mark.parametrize("route", ROUTES)
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def test_no_route_is_forgotten() -> None:
    routes = create_app(Settings(upstream="http://localhost/v1")).openapi()["paths"]
    paths = {path for path in routes if path.startswith(("/v1/", "/api/"))} | {"/v1/{path:path}"}
    assert paths == {path for path, _ in ROUTES.values()} | set(EXEMPT)


@every_route
@both
def test_nothing_withheld_is_shown(gateways: Any, route: str, stream: bool) -> None:
    reply = ask(gateways(mode="block"), route, stream=stream)
    assert reply.status_code == 200
    assert '"blocked": true' in reply.text or '"blocked":true' in reply.text
    assert not [name for name in NAMES if name in reply.text + str(reply.headers)]


@every_route
@both
def test_in_mode_block_nothing_can_be_loosened(gateways: Any, route: str, stream: bool) -> None:
    for options in LOOSER:
        reply = ask(gateways(mode="block"), route, options, stream=stream)
        error = reply.json()["error"]
        assert (reply.status_code, error["type"]) == (403, "permission_error"), options
        assert error["message"].startswith("semtropy: ")


def test_in_mode_annotate_everything_can_be_by_default(gateways: Any) -> None:
    for options in LOOSER:
        assert ask(gateways(), "chat", options).status_code == 200, options


@every_route
def test_bounds_hold_even_where_options_may_be_loosened(gateways: Any, route: str) -> None:
    url = gateways(loosen="all", max_threshold=2.0, min_samples=2, min_confidence=0.8)
    refused = [
        {"threshold": 3.0},
        {"budget": {"samples": 1}},
        {"rule": {"samples": 1}},
        {"rule": {"confidence": 0.7}},
    ]
    for options in refused:
        assert ask(url, route, options).status_code == 403, options
    assert ask(url, route, {"threshold": 1.5, "budget": {"samples": 3}}).status_code == 200


@every_route
def test_what_is_locked_cannot_be_set(gateways: Any, route: str) -> None:
    assert set(LOCKED) == set(CHANGEABLE)
    url = gateways(locked=CHANGEABLE)
    for name, options in LOCKED.items():
        reply = ask(url, route, options)
        assert reply.status_code == 403
        told = f"semtropy: {name} is locked by the operator: leave it out"
        assert reply.json()["error"]["message"] == told
    assert ask(url, route).status_code == 200


@every_route
def test_who_may_ask_and_what(gateways: Any, route: str) -> None:
    url = gateways(keys=("a-key",), max_prompt=100)
    key = {"Authorization": "Bearer a-key"}
    path, body = ROUTES[route]
    assert ask(url, route).status_code == 401
    assert ask(url, route, headers=key).status_code == 200
    assert ask(url, route, headers={**key, "Host": "evil.example"}).status_code == 421
    long = json.loads(json.dumps({**body, "model": "m"}).replace(QUESTION, "x" * 101))
    assert ask(url, route, headers=key, json=long).status_code == 413
    as_form = {"headers": {**key, "Content-Type": "text/plain"}, "content": json.dumps(body)}
    assert httpx.post(url + path, **as_form).status_code == 415


THOUGHTS = "It was NAME.</think>ok"


@every_route
@both
def test_what_is_judged_is_what_the_client_gets(route: str, stream: bool) -> None:
    """The end is the same each time and is judged; what stands before it is another name each time."""
    with raw_upstream(written(THOUGHTS)) as thinking:
        made = create_app(Settings(upstream=thinking.url, upstream_model="m", judge="exact", mode="block"))
        with served(made) as url:
            reply = ask(url, route, stream=stream)
    assert '"outcome": "steady"' in reply.text or '"outcome":"steady"' in reply.text
    assert "ok" in reply.text
    assert not [name for name in NAMES if name in reply.text]


@pytest.mark.parametrize("padding", [" yes" * 100, " ok" * 100, " [MASK]" * 30, " yes it is" * 40], ids=len)
def test_words_in_common_do_not_hide_that_the_names_differ(padding: str) -> None:
    with raw_upstream(written("NAME" + padding)) as talkative:
        made = create_app(Settings(upstream=talkative.url, upstream_model="m", mode="block"))
        with served(made) as url:
            for route in ROUTES:
                reply = ask(url, route)
                assert not [name for name in NAMES if name in reply.text], route


class Slow:
    """A model that takes as long to load as the test lets it."""

    def __init__(self) -> None:
        self.loads, self.loading, self.go = 0, threading.Event(), threading.Event()

    def __call__(self, name: str) -> Any:
        self.loads += 1
        self.loading.set()
        self.go.wait(20)
        return ScriptedModel(default={"Springfield": 1.0})


def test_until_the_gateway_is_ready_everything_else_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr("semtropy.server.backends.local.load_model", slow)
    app = create_app(Settings(judge="exact"))
    with served(app, wait=False) as url:
        assert slow.loading.wait(60)
        for route in ROUTES:
            reply = ask(url, route)
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "1"), route
            assert reply.json()["error"]["message"] == "the gateway is getting ready"
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
        assert httpx.get(f"{url}/readyz").status_code == 503
        assert httpx.get(f"{url}/api/about").status_code == 200
        slow.go.set()
        while httpx.get(f"{url}/readyz").status_code == 503:
            pass
        for route in ROUTES:
            body = {"json": {**ROUTES[route][1], "budget": {"samples": 2}}} if route == "check" else {}
            assert ask(url, route, **body).status_code == 200, route
    assert slow.loads == 1


def test_a_gateway_that_cannot_get_ready_says_why() -> None:
    with served(create_app(Settings(judge="exact", prior="/nowhere/prior.json")), wait=False) as url:
        while "getting ready" in (message := ask(url, "chat").json()["error"]["message"]):
            pass
    assert message.startswith("the gateway cannot get ready: /nowhere/prior.json")


def test_what_one_tenant_is_refused_is_sent_for_another() -> None:
    """The same name may be two models behind two keys."""

    def reply(body: dict[str, Any], number: int) -> bytes:
        if body.get("seed") is not None and body["messages"][0]["content"] == "strict":
            return http_reply({"error": {"message": "seed is not supported"}}, status="400 Bad Request")
        return written("NAME")(body, number)

    with raw_upstream(reply) as upstream:
        app = create_app(Settings(upstream=upstream.url, judge="exact"))
        with served(app) as url:
            for key, prompt in (("first", "strict"), ("second", "lenient"), ("first", "lenient")):
                body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
                before = upstream.count
                headers = {"Authorization": f"Bearer {key}"}
                httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=30)
                drawn = [asked for _, asked in upstream.requests[before:] if "top_p" in asked]
                assert ("seed" in drawn[-1]) == (key == "second")

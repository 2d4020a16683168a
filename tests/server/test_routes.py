"""Routes that are not the gateway's own: passed to the upstream as they are, as far as the operator allows."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai", reason="needs the openai client: pip install openai")

from openai_upstream import served  # noqa: E402
from responses_upstream import ResponsesUpstream  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

KEY = {"Authorization": "Bearer sk-client"}


@pytest.fixture
def upstream() -> Iterator[tuple[ResponsesUpstream, str]]:
    app = ResponsesUpstream(lambda question: {"Paris": 1.0})
    with served(app) as url:
        yield app, f"{url}/v1"


def gateway(url: str, **settings: Any) -> Any:
    return served(create_app(Settings(upstream=url, judge="exact", **settings)))


def test_other_routes_pass_with_their_method_query_key_and_body(upstream: Any) -> None:
    app, address = upstream
    with gateway(address) as url:
        sent = {"input": "a", "model": "e"}
        posted = httpx.post(f"{url}/v1/embeddings?x=1&y=a%20b", json=sent, headers=KEY)
        fetched = httpx.get(f"{url}/v1/files/file-1/content", headers=KEY)
        deleted = httpx.delete(f"{url}/v1/files/file-1", headers=KEY)
    assert posted.status_code == fetched.status_code == deleted.status_code == 201
    assert posted.json() == {"seen": "/v1/embeddings"}
    assert posted.headers["x-upstream"] == "scripted"
    assert "x-semtropy-verdict" not in posted.headers
    methods = [(method, path, query) for method, path, query, _, _ in app.others]
    assert methods == [
        ("POST", "/v1/embeddings", "x=1&y=a%20b"),
        ("GET", "/v1/files/file-1/content", ""),
        ("DELETE", "/v1/files/file-1", ""),
    ]
    assert app.others[0][3]["authorization"] == "Bearer sk-client"
    assert app.others[0][4] == posted.request.content


def test_the_client_s_other_calls_work(upstream: Any) -> None:
    app, address = upstream
    with (
        gateway(address) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="sk-client", max_retries=0) as client,
    ):
        client.embeddings.with_raw_response.create(model="e", input="a")
        client.files.with_raw_response.create(file=("a.jsonl", b"{}"), purpose="batch")
    assert [path for _, path, *_ in app.others] == ["/v1/embeddings", "/v1/files"]
    assert app.others[1][3]["content-type"].startswith("multipart/form-data; boundary=")
    assert b"a.jsonl" in app.others[1][4]


def test_a_form_without_a_key_is_refused(upstream: Any) -> None:
    """What a page of another site could send."""
    with gateway(upstream[1]) as url:
        assert httpx.post(f"{url}/v1/files", data={"purpose": "batch"}).status_code == 415
        assert httpx.post(f"{url}/v1/responses", data={"input": "a"}, headers=KEY).status_code == 415
    assert upstream[0].others == []


@pytest.mark.parametrize("settings", [{"mode": "block"}, {"upstream_key": "sk-operator"}])
def test_where_answers_or_a_key_are_guarded_only_harmless_routes_pass(upstream: Any, settings: Any) -> None:
    app, address = upstream
    with gateway(address, **settings) as url:
        assert httpx.post(f"{url}/v1/embeddings", json={}, headers=KEY).status_code == 201
        for refused in ("files", "responses/resp_1", "messages", "fine_tuning/jobs"):
            reply = httpx.get(f"{url}/v1/{refused}", headers=KEY)
            assert reply.status_code == 403
            assert "other_routes = all" in reply.json()["error"]["message"]
    assert len(app.others) == 1
    with gateway(address, other_routes="all", **settings) as url:
        assert httpx.get(f"{url}/v1/files", headers=KEY).status_code == 201


@pytest.mark.parametrize("settings", [{"mode": "block"}, {"upstream_key": "sk-operator"}])
def test_a_harmless_route_passes_only_as_far_as_it_is_harmless(upstream: Any, settings: Any) -> None:
    """A model can be deleted, and at some providers asked, under the route that lists it."""
    app, address = upstream
    with gateway(address, **settings) as url:
        for method, path in (
            ("DELETE", "models/ft-1"),
            ("POST", "models/m:generateContent"),
            ("PUT", "models/m"),
            ("POST", "embeddings/other"),
            ("DELETE", "embeddings"),
            ("GET", "tokenize"),
        ):
            assert httpx.request(method, f"{url}/v1/{path}", headers=KEY).status_code in (403, 415)
            reply = httpx.request(method, f"{url}/v1/{path}", json={}, headers=KEY)
            assert reply.status_code == 403, (method, path)
        assert app.others == []
        assert httpx.get(f"{url}/v1/models/org/m", headers=KEY).status_code == 201


def test_a_get_is_answered_before_a_body_that_does_not_belong_to_it(upstream: Any) -> None:
    """Its size is not limited, so it must not be collected."""
    with gateway(upstream[1]) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as to:
            head = b"GET /v1/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            to.sendall(head + b"5\r\nhello\r\n")  # and more to come
            assert to.recv(100).startswith(b"HTTP/1.1 201")
    assert upstream[0].others[0][4] == b""


def test_none_pass_where_none_may(upstream: Any) -> None:
    with gateway(upstream[1], other_routes="none") as url:
        assert httpx.post(f"{url}/v1/embeddings", json={}, headers=KEY).status_code == 404
    app = create_app(Settings(judge="exact"), model=ScriptedModel(default={"a": 1.0}))
    with served(app) as url:
        assert httpx.post(f"{url}/v1/embeddings", json={}, headers=KEY).status_code == 404
    assert upstream[0].others == []


@pytest.mark.parametrize(
    "path", ["embeddings/../files", "embeddings/%2e%2e/files", "embeddings//files", "./files"]
)
def test_a_path_that_is_another_route_for_the_upstream_does_not_pass(upstream: Any, path: str) -> None:
    with gateway(upstream[1], mode="block") as url:
        host = url.removeprefix("http://")
        with httpx.Client() as client:
            request = client.build_request("GET", url, headers=KEY)
            request.url = httpx.URL(scheme="http", netloc=host.encode(), raw_path=f"/v1/{path}".encode())
            assert client.send(request).status_code in (403, 404)
    assert upstream[0].others == []


def test_a_body_is_limited_whatever_the_method(upstream: Any) -> None:
    with gateway(upstream[1], max_body=100) as url:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            reply = httpx.request(method, f"{url}/v1/files", content=b"x" * 200, headers=KEY)
            assert reply.status_code == 413
    assert upstream[0].others == []


def test_keys_of_the_gateway_hold_for_every_route(upstream: Any) -> None:
    with gateway(upstream[1], keys=("gate",)) as url:
        assert httpx.get(f"{url}/v1/files", headers=KEY).status_code == 401
        passed = httpx.get(f"{url}/v1/files", headers={**KEY, "X-Semtropy-Key": "gate"})
    assert passed.status_code == 201
    assert "x-semtropy-key" not in upstream[0].others[0][3]


def test_an_unknown_path_and_a_wrong_method_are_named(upstream: Any) -> None:
    with gateway(upstream[1]) as url:
        unknown, wrong = httpx.get(f"{url}/nowhere"), httpx.post(f"{url}/healthz", json={})
    assert unknown.status_code == 404
    assert unknown.json()["error"]["message"] == (
        "there is no route /nowhere here; the model's are under /v1, and the page is at /"
    )
    assert wrong.status_code == 405
    assert wrong.json()["error"]["message"] == "/healthz does not take POST"

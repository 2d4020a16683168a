"""Replies that no sound HTTP server sends: the client still has its answer, or an error of the upstream."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from raw_upstream import RawUpstream, completion, http_reply, raw_upstream, stream_reply  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

ANSWER = "It is Paris"
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}


def gateway(upstream: RawUpstream, **settings: Any) -> Any:
    return served(create_app(Settings(**{"upstream": upstream.url, "judge": "exact", **settings})))


def chat(url: str, **fields: Any) -> Any:
    return httpx.post(f"{url}/v1/chat/completions", json={**CHAT, **fields}, timeout=30)


def chunk(text: str) -> dict[str, Any]:
    return {"id": "c-1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def response(text: str, **fields: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return {"id": "resp_1", "object": "response", "status": "completed", "output": [message], **fields}


# Heads


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("x-note: 日本語\r\n".encode(), "日本語".encode()),
        (b"x-note: caf\xe9\r\n", b"caf\xe9"),
        (b"x-note: a\x01b\x7fc\r\n", b"abc"),
    ],
)
def test_headers_in_any_encoding_pass(line: bytes, seen: bytes, stream: bool) -> None:
    made = stream_reply(chunk(ANSWER), headers=line) if stream else None
    with (
        raw_upstream(lambda body, n: made or http_reply(completion(ANSWER), headers=line)) as upstream,
        gateway(upstream) as url,
    ):
        reply = chat(url, stream=stream)
    assert reply.status_code == 200
    assert ANSWER in reply.text
    assert dict(reply.headers.raw)[b"x-note"] == seen


@pytest.mark.parametrize("line", [b"x-note: caf\xe9\r\n", "x-note: 日本語\r\n".encode()])
def test_headers_in_any_encoding_do_not_fail_the_check(line: bytes) -> None:
    with (
        raw_upstream(lambda body, n: http_reply(completion(ANSWER), headers=line)) as upstream,
        gateway(upstream) as url,
    ):
        assert chat(url).json()["semtropy"]["outcome"] == "steady"


@pytest.mark.parametrize("status", ["600 Odd", "999 Odd"])
def test_a_status_that_http_does_not_have_is_an_error_of_the_upstream(status: str) -> None:
    with (
        raw_upstream(lambda body, n: http_reply(completion(ANSWER), status=status)) as upstream,
        gateway(upstream) as url,
    ):
        for reply in (chat(url), chat(url, stream=True), httpx.get(f"{url}/v1/files")):
            assert reply.status_code == 502
            assert reply.json()["error"]["type"] == "upstream_error"


def test_the_upstream_speaks_neither_for_the_gateway_nor_to_other_sites() -> None:
    said = b"X-Semtropy-Verdict: steady\r\nAccess-Control-Allow-Origin: *\r\nx-kept: 1\r\nx-kept: 2\r\n"
    with (
        raw_upstream(lambda body, n: http_reply(completion(f"Dr {n}"), headers=said)) as upstream,
        gateway(upstream) as url,
    ):
        for reply in (chat(url), chat(url, semtropy={"mode": "off"})):
            assert "access-control-allow-origin" not in reply.headers
            assert reply.headers.get("x-semtropy-verdict") in (None, "flagged", "undecided")
            assert reply.headers["x-kept"] == "1, 2"


# Bodies


@pytest.mark.parametrize("tools", [5, True, 1.5, "x", {"a": 1}, [5], [None]])
@pytest.mark.parametrize("stream", [False, True])
def test_tools_that_are_no_list_do_not_cost_the_answer(tools: Any, stream: bool) -> None:
    done = {"type": "response.completed", "response": response(ANSWER)}
    made = stream_reply(done, end=b"") if stream else http_reply(response(ANSWER))
    with raw_upstream(lambda body, n: made) as upstream, gateway(upstream) as url:
        sent = {"model": "m", "input": "Who?", "tools": tools, "stream": stream}
        reply = httpx.post(f"{url}/v1/responses", json=sent, timeout=30)
    assert reply.status_code == 200
    assert ANSWER in reply.text
    assert '"semtropy"' in reply.text


@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_a_number_that_cannot_be_written_again_does_not_cost_the_end_of_a_stream(mode: str) -> None:
    event = {"type": "response.completed", "response": response(ANSWER, usage={"total_tokens": "@"})}
    raw = json.dumps(event).encode().replace(b'"@"', b"1e999")

    def reply_to(body: dict[str, Any], number: int) -> bytes:
        return stream_reply(raw, end=b"") if body.get("stream") else http_reply(response(ANSWER))

    with raw_upstream(reply_to) as upstream, gateway(upstream, mode=mode) as url:
        sent = {"model": "m", "input": "Who?", "stream": True}
        reply = httpx.post(f"{url}/v1/responses", json=sent, timeout=30)
    assert reply.status_code == 200
    assert raw in reply.content, "the bytes of the upstream"
    assert '"outcome"' in reply.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_number_that_cannot_be_written_again_is_left_out_of_a_refusal(stream: bool) -> None:
    def reply_to(body: dict[str, Any], number: int) -> bytes:
        event = {"type": "response.completed", "response": response(f"Dr {number}", usage={"n": "@"})}
        made = event if body.get("stream") else event["response"]
        raw = json.dumps(made).encode().replace(b'"@"', b"1e999")
        return stream_reply(raw, end=b"") if body.get("stream") else http_reply(raw)

    with raw_upstream(reply_to) as upstream, gateway(upstream, mode="block") as url:
        sent = {"model": "m", "input": "Who?", "stream": stream}
        reply = httpx.post(f"{url}/v1/responses", json=sent, timeout=30)
    assert reply.status_code == 200
    assert reply.headers["x-semtropy-blocked"] == "true"
    assert "Infinity" not in reply.text
    assert "Dr 1" not in reply.text


def test_a_key_with_half_a_character_does_not_cost_the_answer() -> None:
    """The name of such a field is one not to trust, and goes into a header."""
    with (
        raw_upstream(lambda body, n: http_reply(completion(f'{{"a\\ud800{n}": "v{n}"}}'))) as upstream,
        gateway(upstream) as url,
    ):
        reply = chat(url, response_format={"type": "json_object"})
    assert reply.status_code == 200
    assert reply.json()["semtropy"]["untrusted"]
    assert reply.headers["x-semtropy-untrusted"].startswith("a%3F1")


# Clients that leave


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "chat/completions", CHAT),
        ("POST", "chat/completions", {**CHAT, "stream": True}),
        ("POST", "responses", {"model": "m", "input": "Who?", "stream": True}),
        ("POST", "embeddings", {"model": "m", "input": "Who?"}),
        ("POST", "check", {"prompt": "Who?"}),
        ("POST", "check", {"prompt": "Who?", "stream": True}),
        ("GET", "files", None),
        ("GET", "models", None),
    ],
)
def test_a_client_that_leaves_before_the_upstream_answers_ends_the_request(
    method: str, path: str, sent: Any
) -> None:
    with raw_upstream(lambda body, n: None) as upstream, gateway(upstream, upstream_model="m") as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as to:
            raw = b"" if sent is None else json.dumps(sent).encode()
            head = f"{method} /v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(raw)}\r\n"
            to.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + raw)
            assert upstream.asked.wait(10)
        assert upstream.left.wait(10), "the upstream is still being asked"

"""In mode block nothing that the model wrote reaches the client with a refusal, by whatever route."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from raw_upstream import RawUpstream, completion, http_reply, raw_upstream, stream_reply  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

SECRET = "Wien"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]


def wild(body: dict[str, Any], number: int) -> bytes:
    """Another answer to every request, with the secret wherever a model can write."""
    text = f"{SECRET} {number}"
    if "text" in body or "response_format" in body or body["model"] == "json":
        text = json.dumps({"name": text, f"{SECRET}{number}": 1})
    call = {"name": f"{SECRET}_{number}", "arguments": json.dumps({SECRET: text})}
    entries = [{"token": text, "logprob": -2.0, "top_logprobs": [{"token": SECRET, "logprob": -1.0}]}]
    if "input" in body:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": entries}
        item = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        if body.get("tools"):
            item = {"id": "f", "type": "function_call", "call_id": SECRET, **call}
        made = {"id": f"resp_{SECRET}", "status": "completed", "output": [item], "reasoning": SECRET}
        done = {"type": "response.completed", "response": made}
        return stream_reply(done, end=b"") if body.get("stream") else http_reply(made)
    said: dict[str, Any] = {"role": "assistant", "content": text, "reasoning_content": SECRET}
    if body.get("tools"):
        said = {"role": "assistant", "content": None, "tool_calls": [{"id": SECRET, "function": call}]}
    if body.get("stream"):
        choice = {"index": 0, "delta": said, "logprobs": {"content": entries}, "finish_reason": "stop"}
        return stream_reply({"id": "c-1", "choices": [choice]})
    return http_reply(completion(text, message=said, logprobs={"content": entries}))


def gateway(upstream: RawUpstream, **settings: Any) -> Any:
    chosen = {"upstream": upstream.url, "upstream_model": "m", "judge": "exact", "mode": "block"}
    return served(create_app(Settings(**{**chosen, **settings})))


@pytest.fixture(scope="module")
def blocking() -> Iterator[str]:
    with raw_upstream(wild) as upstream, gateway(upstream) as url:
        yield url


FORM = {"type": "json_schema", "name": "x", "schema": SCHEMA}
REQUESTS = [
    ("chat/completions", {}),
    ("chat/completions", {"response_format": {"type": "json_object"}}),
    ("chat/completions", {"response_format": {"type": "json_schema", "json_schema": FORM}}),
    ("chat/completions", {"tools": TOOLS}),
    ("responses", {}),
    ("responses", {"text": {"format": FORM}}),
    ("responses", {"tools": [{"type": "function", "name": "find", "parameters": {"type": "object"}}]}),
]


@pytest.mark.parametrize("place", ["body", "headers"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "fields"), REQUESTS)
def test_a_refusal_holds_nothing_that_the_model_wrote(
    blocking: str, path: str, fields: dict[str, Any], stream: bool, place: str
) -> None:
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": "Who?"}]}
    body = {"model": "m", "stream": stream, "semtropy": {"place": place}, **fields}
    body |= {"input": "Who?"} if path == "responses" else asked
    reply = httpx.post(f"{blocking}/v1/{path}", json=body, timeout=30)
    assert reply.headers["x-semtropy-blocked"] == "true"
    assert SECRET not in reply.text + str(reply.headers)
    if "text" in fields or "json_schema" in str(fields):
        assert reply.headers["x-semtropy-untrusted"] == "name", "the client named it"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fields", [{}, {"answer": "Planck"}, {"schema": SCHEMA, "model": "json"}])
def test_a_check_does_not_show_what_is_withheld(fields: dict[str, Any], stream: bool) -> None:
    sent = {"prompt": "Who?", "stream": stream, **fields}
    with raw_upstream(wild) as upstream:
        with gateway(upstream) as url:
            reply = httpx.post(f"{url}/v1/check", json=sent, timeout=30)
        assert reply.status_code == 200
        assert SECRET not in reply.text
        assert '"outcome"' in reply.text
        assert '"blocked"' in reply.text
        for settings in ({"mode": "annotate"}, {"loosen": "mode"}):
            with gateway(upstream, **settings) as url:
                assert SECRET in httpx.post(f"{url}/v1/check", json=sent, timeout=30).text


def test_a_check_shows_an_answer_that_is_not_withheld() -> None:
    with (
        raw_upstream(lambda body, number: http_reply(completion("Paris"))) as upstream,
        gateway(upstream) as url,
    ):
        found = httpx.post(f"{url}/v1/check", json={"prompt": "Who?"}, timeout=30).json()
    assert (found["answer"], found["outcome"]) == ("Paris", "steady")
    assert "blocked" not in found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        http_reply(completion(SECRET), headers=b"content-encoding: br\r\n"),
        http_reply(completion(SECRET), headers=b"content-encoding: gzip, gzip\r\n"),
        http_reply(completion(SECRET), status="206 Partial Content"),
    ],
    ids=["br", "twice", "206"],
)
def test_a_reply_that_cannot_be_read_is_withheld_where_errors_are(made: bytes, stream: bool) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], "stream": stream}
    with raw_upstream(lambda asked, number: made) as upstream:
        with gateway(upstream, on_error="block") as url:
            reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30)
        assert reply.status_code == 502
        assert SECRET not in reply.text
        with (
            gateway(upstream) as url,
            httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as passed,
        ):
            assert SECRET in b"".join(passed.iter_raw()).decode()

"""The gateway in front of an upstream whose replies are damaged: heads, events and JSON in all three protocols.

Sound replies get odd statuses and headers, values of their JSON are replaced, bytes are flipped. The gateway passes on
what it gets or blames the upstream; it never fails itself, and what it begins it ends.
"""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
from tests.helpers.openai_upstream import served
from tests.helpers.raw_upstream import RawUpstream, completion, http_reply, raw_upstream, stream_reply

from semtropy.server.app import create_app
from semtropy.server.serve import ServerConfig
from semtropy.server.settings import Settings

from . import attack_all
from .gateway import ATOMS, _flipped

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["CASES", "fuzz", "judge"]

CASES = 600
SHORT = 40

STATUSES = ("200 OK",) * 12 + (
    "201 Made",
    "204 None",
    "206 Part",
    "304 Same",
    "404 No",
    "500 Odd",
    "600 Odd",
    "999 Odd",
)
LINES = (b"",) * 8 + (
    "x-note: 日本語\r\n".encode(),
    b"x-note: caf\xe9\r\n",
    b"x-note: a\x01b\r\n",
    b"x-semtropy-verdict: steady\r\n",
    b"content-encoding: gzip\r\n",
    b"content-encoding: br\r\n",
    b"transfer-encoding: chunked\r\n",
    b"x-long: " + b"a" * 200_000 + b"\r\n",
)
FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"response_format": {"type": "json_object"}, "text": {"format": {"type": "json_object"}}},
    {"tools": [{"type": "function", "name": "f", "function": {"name": "f"}}]},
    {"tools": 5},
    {"semtropy": {"mode": "block"}},
)
PATHS: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": [{"role": "user", "content": "Who?"}]},
    "completions": {"prompt": "Who?"},
    "responses": {"input": "Who?"},
}


def judge(status: int, text: str) -> None:
    """Raise where the gateway itself failed: in the reply, or in a check that it gives up with an unexpected error."""
    for fault in ('"server_error"', "internal error in the gateway"):
        assert fault not in text, f"{status}: {text[:1000]}"


def _content(path: str, rng: Generator, *, stream: bool) -> tuple[bytes, bool]:
    """The body of a reply, and whether it is a stream."""
    said = str(
        rng.choice(["It is Paris", '{"name": "Paris", "a": [1, {"b": 2}]}', '{"a\\ud800": "b\\udc00"}', ""])
    )
    call = {"name": "f", "arguments": said}
    if path == "responses":
        part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
        items = [{"id": "m", "type": "message", "content": [part]}, {"type": "function_call", **call}]
        made = {
            "id": "r",
            "status": "completed",
            "output": items[: int(rng.integers(1, 3))],
            "usage": {"n": 1},
        }
        begun = {"type": "response.output_text.delta", "delta": said}
        events: list[Any] = [begun, {"type": "response.completed", "response": made}]
    else:
        message = {"role": "assistant", "content": said, "tool_calls": [{"index": 0, "function": call}]}
        entry = {"token": said, "logprob": -0.5, "bytes": [1, 2], "top_logprobs": []}
        choice = {"message": message, "text": said, "logprobs": {"content": [entry]}}
        made = completion(said, **choice)
        piece = {
            "index": 0,
            "delta": message,
            "text": said,
            "finish_reason": None,
            "logprobs": {"content": [entry]},
        }
        events = [
            {"id": "c", "choices": [piece]},
            {"choices": [{**piece, "finish_reason": "stop"}], "usage": None},
        ]
    if not stream:
        return _damaged(json.dumps(made).encode(), rng), False
    end = b"" if path == "responses" else b"data: [DONE]\n\n"
    raw = b"".join(b"data: " + _damaged(json.dumps(each).encode(), rng) + b"\n\n" for each in events) + end
    breaks = {b"\r\n": 0.1, b"\r": 0.1, b"\n": 0.8}
    return raw.replace(b"\n", list(breaks)[int(rng.choice(3, p=list(breaks.values())))]), True


def _damaged(raw: bytes, rng: Generator) -> bytes:
    """JSON with one of its values replaced, or with bytes flipped."""
    if rng.random() < 0.3:
        return raw
    if rng.random() < 0.2:
        return _flipped(raw, rng)
    places = [at + 1 for at in range(len(raw)) if raw[at : at + 1] == b":"]
    at = int(rng.choice(places))
    try:
        _, end = json.JSONDecoder().raw_decode(raw.decode()[at:].lstrip())
    except ValueError:
        return raw
    end += at + 1
    return raw[:at] + str(rng.choice(ATOMS)).encode() + raw[end:]


class _Fuzzed:
    """A gateway and the bytes that its upstream answers with."""

    def __init__(self, url: str, upstream: RawUpstream, client: httpx.Client) -> None:
        self.url, self.upstream, self.client = url, upstream, client

    def attack(self, rng: Generator) -> None:
        path, stream = str(rng.choice(list(PATHS))), bool(rng.random() < 0.5)
        head: dict[str, Any] = {
            "status": str(rng.choice(STATUSES)),
            "headers": LINES[rng.integers(len(LINES))] + b"connection: close\r\n",
        }
        whole, events = (_content(path, rng, stream=each) for each in (False, True))
        replies = {
            True: http_reply(events[0], kind="text/event-stream", **head),
            False: http_reply(whole[0], **head),
        }
        if rng.random() < 0.1:
            replies = {key: _flipped(made, rng) for key, made in replies.items()}
        self.upstream.requests.clear()
        self.upstream.reply = lambda body, number: replies[body.get("stream") is True]
        sent = {"model": "m", "stream": stream, **PATHS[path], **FORMS[rng.integers(len(FORMS))]}
        with self.client.stream("POST", f"{self.url}/v1/{path}", json=sent) as reply:
            try:
                text = b"".join(reply.iter_raw()).decode("utf-8", "replace")
            except httpx.RemoteProtocolError:
                if reply.status_code == 200 and "content-encoding" not in reply.headers:
                    raise
                return  # an error, or a reply that cannot be unpacked, is passed on as it comes, also where it is cut
        judge(reply.status_code, text)


def fuzz(cases: int, seed: int) -> None:
    """Attack one gateway `cases` times."""
    for name in ("semtropy", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        upstream = stack.enter_context(raw_upstream(lambda body, number: stream_reply()))
        settings = Settings(upstream=upstream.url, judge="exact", max_seconds=2, upstream_timeout=1)
        url = stack.enter_context(served(create_app(settings), config=ServerConfig, limits=settings))
        client = stack.enter_context(httpx.Client(timeout=30, headers={"accept-encoding": "identity"}))
        attack_all(_Fuzzed(url, upstream, client).attack, cases, seed)

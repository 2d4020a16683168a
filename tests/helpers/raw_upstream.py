"""An upstream that is a plain socket: its replies are bytes, so that they need not be sound HTTP."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["RawUpstream", "completion", "http_reply", "provider", "raw_upstream", "stream_reply"]

Reply = Callable[[dict[str, Any], int], bytes | None]
"""The reply to a request, from its body and number; None sends nothing and waits for the gateway to hang up."""


class RawUpstream:
    """Answers each request with `reply(body, number)`; `left` is set once the gateway hangs up on one without reply."""

    def __init__(self, reply: Reply) -> None:
        self.reply, self.count = reply, 0
        self.asked, self.left = threading.Event(), threading.Event()
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/v1"

    def serve(self) -> None:
        with suppress(OSError):  # the socket is closed at the end
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            while line := stream.readline():
                length = 0
                while (header := stream.readline()) not in (b"\r\n", b""):
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                raw = stream.read(length)
                body = json.loads(raw) if raw else {}
                self.count += 1
                self.requests.append((" ".join(line.decode("latin-1").split()[:2]), body))
                made = self.reply(body, self.count)
                self.asked.set()
                if made is None:
                    connection.recv(1)
                    self.left.set()
                    return
                connection.sendall(made)


@contextmanager
def raw_upstream(reply: Reply) -> Iterator[RawUpstream]:
    """The upstream while it is served from a thread."""
    upstream = RawUpstream(reply)
    thread = threading.Thread(target=upstream.serve, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        with suppress(OSError):  # wakes a thread that accepts; not every system does so on close
            upstream.listening.shutdown(socket.SHUT_RDWR)
        upstream.listening.close()
        thread.join(5)


def http_reply(
    content: Any, *, status: str = "200 OK", kind: str = "application/json", headers: bytes = b""
) -> bytes:
    """A whole HTTP reply; `headers` are further lines, written as they are."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    start = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(raw)}\r\n"
    return start.encode() + headers + b"\r\n" + raw


def completion(text: Any, /, **choice: Any) -> dict[str, Any]:
    """A chat completion with one choice."""
    said = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    frame = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**frame, "choices": [{**said, **choice}], "usage": {"completion_tokens": 2}}


def stream_reply(*events: Any, headers: bytes = b"", end: bytes = b"data: [DONE]\n\n") -> bytes:
    """A reply whose events have these data."""
    parts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in events]
    content = b"".join(b"data: " + part + b"\n\n" for part in parts) + end
    return http_reply(content, kind="text/event-stream", headers=headers)


_CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
_FRAME = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    return {**_FRAME, "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def provider(body: dict[str, Any], number: int) -> bytes:
    """A reply as providers send it: text, JSON, a call of the tool `weather`, several choices; in pieces on request."""
    n, usage = body.get("n") or 1, {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    text = '{"sky": "blue"}' if "response_format" in body else "It is sunny"
    said: dict[str, Any] = {"role": "assistant", "content": text}
    finish = "stop"
    if body.get("tools"):
        said, finish = {"role": "assistant", "content": None, "tool_calls": [_CALL]}, "tool_calls"
    if not body.get("stream"):
        choices = [{"index": k, "message": said, "finish_reason": finish} for k in range(n)]
        return http_reply({**completion(""), "choices": choices, "usage": usage})
    events: list[Any] = []
    for k in range(n):
        if body.get("tools"):
            begun = {"index": 0, **_CALL, "function": {"name": "weather", "arguments": ""}}
            rest = {"index": 0, "function": {"arguments": '{"city": "Paris"}'}}
            events += [_chunk({"tool_calls": [begun]}, index=k), _chunk({"tool_calls": [rest]}, index=k)]
        else:
            events += [_chunk({"role": "assistant", "content": ""}, index=k)]
            events += [_chunk({"content": part}, index=k) for part in (text[:5], text[5:])]
        events.append(_chunk({}, finish, index=k))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append({**_FRAME, "choices": [], "usage": usage})
    return stream_reply(*events)

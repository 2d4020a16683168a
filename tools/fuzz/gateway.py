"""The gateway under odd requests and odd upstreams: no failure of ours, no lost answer, no hang, bounded memory.

Requests are valid ones with parts replaced, bytes flipped, odd headers, or no HTTP at all. The upstream breaks gzip,
sends halves of characters, content that is no text, deep JSON, statuses, and cuts its replies.
"""

from __future__ import annotations

import json
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx
from tests.helpers.openai_upstream import ODD, Upstream, served

from semtropy.server.app import create_app
from semtropy.server.serve import ServerConfig
from semtropy.server.settings import Settings

from . import attack_all

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["CASES", "fuzz", "judge"]

CASES = 3000
SHORT = 150
GROWTH = 300_000_000
"""Bytes that the process may grow by over all cases."""

ANSWER = "the answer is this"
FAULTS: list[int | str | None] = [None, None, None, *sorted(ODD), "cut", 400, 401, 404, 429, 500, 503]
ATOMS = (
    *(
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e999",
        "-1e999",
        "9" * 400,
        "9" * 5000,
        '""',
        '"a"',
        '"\\ud800"',
        '"\\u0000"',
    ),
    *(
        '"\\ud83d\\ude00"',
        "[]",
        "{}",
        "[[[[1]]]]",
        '{"a": {"a": 1}}',
        '{"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"$ref": "#"}}}}}',
        '{"format": {"type": "json_object"}}',
        '[{"type": "function", "function": {"name": "f", "parameters": {"required": "a"}}}]',
        "NaN",
        "[" * 600 + "]" * 600,
        '"' + "x" * 3000 + '"',
    ),
)
FIELDS = {
    "/v1/chat/completions": (
        "model",
        "messages",
        "stream",
        "n",
        "temperature",
        "seed",
        "max_tokens",
        "semtropy",
        "user",
        "response_format",
        "tools",
    ),
    "/v1/responses": ("model", "input", "stream", "temperature", "text", "tools", "conversation", "semtropy"),
    "/v1/completions": (
        "model",
        "prompt",
        "stream",
        "n",
        "temperature",
        "logprobs",
        "semtropy",
        "echo",
        "stop",
    ),
    "/v1/check": (
        "prompt",
        "model",
        "stream",
        "seed",
        "rule",
        "budget",
        "estimator",
        "judge",
        "threshold",
        "cache",
    ),
    "/api/replay": ("prompt", "answer", "samples", "rule", "budget", "estimator", "threshold", "one_by_one"),
}
OPTIONS = (
    '{"mode": "off"}', '{"mode": "block"}', '{"place": "headers"}', '{"rule": {"samples": 3}}', '{"cache": false}',
    '{"estimator": "histogram"}', '{"estimator": "rescaled"}', '{"budget": {"seconds": 0.5}}', "[]", "3", '{"x": 1}',
)  # fmt: skip
HEADERS = (
    ("Range", "bytes=" + "9" * 5000 + "-"), ("Range", "bytes=5-1"), ("If-Modified-Since", "Sun, 99 Nov 9999 0:0 GMT"),
    ("X-Semtropy", "{"), ("X-Semtropy", '{"mode": "off"}'), ("X-Semtropy", "[1]"), ("X-Semtropy", "\xff"),
    ("Authorization", "Bearer \xff"), ("Authorization", "Bearer " + "k" * 3000), ("Content-Type", "text/plain"),
    ("Content-Type", "application/json; charset=utf-16"), ("OpenAI-Organization", "a\tb"), ("User-Agent", "\xe9" * 200),
    ("Accept-Encoding", "gzip;q=x"), ("Expect", "100-continue"), ("Origin", "null"), ("Cookie", "a" * 3000),
)  # fmt: skip
PATHS = (
    "/",
    "/healthz",
    "/metrics",
    "/api/about",
    "/v1/models",
    "/v1/files",
    "/v1/%2e%2e/x",
    "/page/main.js",
    "/page/%00",
    "/page/..%2f..%2fapp.py",
)
RAW = (
    b"", b"\r\n" * 50, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00", b"POST /v1/check HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000,
)  # fmt: skip


class _Fuzzed:
    """A gateway and its upstream, and what the upstream does to each request of the case."""

    def __init__(self, url: str, upstream: Upstream, client: httpx.Client) -> None:
        self.url, self.upstream, self.client = url, upstream, client

    def attack(self, rng: Generator) -> None:
        if rng.random() < 0.05:
            self._raw(rng)
            return
        faults = [FAULTS[k] for k in rng.integers(len(FAULTS), size=8)]
        if rng.random() < 0.5:
            faults[0] = None  # the answer itself is sound: it must arrive
        first = self.upstream.count + 1
        self.upstream.fault = lambda number: faults[min(number - first, 7)]
        if rng.random() < 0.1:
            path, method = (
                str(rng.choice(PATHS)),
                str(rng.choice(["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE"])),
            )
            content, plain = b"", False
        else:
            path, method = str(rng.choice(list(FIELDS))), "POST"
            content, plain = _body(path, rng)
        headers = {"Content-Type": "application/json"}
        if rng.random() < 0.2:
            name, value = HEADERS[rng.integers(len(HEADERS))]
            headers[name], plain = value, False
        sent = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        try:
            with self.client.stream(method, self.url + path, content=content, headers=sent) as reply:
                text = b"".join(reply.iter_raw()).decode("utf-8", "replace")
        except httpx.RemoteProtocolError:
            if faults[0] != "cut":  # in mode off a client sees what the upstream did
                raise
        else:
            judge(reply, text, plain=plain, sound=faults[0] is None, path=path)

    def _raw(self, rng: Generator) -> None:
        host, _, port = self.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as to:
            to.sendall(_flipped(RAW[rng.integers(len(RAW))], rng))
            to.shutdown(socket.SHUT_WR)
            try:
                while to.recv(65536):
                    pass
            except ConnectionResetError:
                pass


def judge(reply: httpx.Response, text: str, *, plain: bool, sound: bool, path: str) -> None:
    """Raise where the gateway failed, or an answer that the upstream gave did not arrive."""
    if reply.status_code >= 500:
        assert "upstream_error" in text or "scripted" in text or path == "/readyz", (
            f"{reply.status_code}: {text[:300]}"
        )
    if not (plain and sound and path in ("/v1/chat/completions", "/v1/completions")):
        return
    assert reply.status_code == 200, f"{reply.status_code}: {text[:300]}"
    if "event-stream" in reply.headers["content-type"]:
        assert text.endswith("data: [DONE]\n\n"), text[-300:]
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        choices = [each for line in lines for each in json.loads(line)["choices"]]
        text = "".join(str(_text(choice) or "") for choice in choices)
    else:
        text = str(_text(json.loads(text)["choices"][0]))
    assert ANSWER in text or "not sure enough" in text, text[:300]


def _text(choice: dict[str, Any]) -> Any:
    said = choice.get("message") or choice.get("delta")
    return choice.get("text") if said is None else said.get("content")


def _body(path: str, rng: Generator) -> tuple[bytes, bool]:
    """A body for the route, and whether it is a sound one."""
    sound = {
        "model": '"m"', "input": '"Who?"', "messages": '[{"role": "user", "content": "Who?"}]', "prompt": '"Who?"',
        "stream": str(rng.choice(["true", "false"])), "semtropy": str(rng.choice(OPTIONS[:8])),
        "answer": '{"text": "a"}', "samples": '[{"text": "a", "meaning": 0}, {"text": "b", "meaning": 1}]',
    }  # fmt: skip
    needed = {
        "/v1/check": ("prompt",),
        "/v1/completions": ("model", "prompt"),
        "/v1/responses": ("model", "input"),
        "/api/replay": ("prompt", "answer", "samples"),
    }
    names = set(needed.get(path, ("model", "messages")))
    names |= {name for name in ("stream", "semtropy") if name in FIELDS[path] and rng.random() < 0.5}
    body, plain = {name: sound[name] for name in names}, True
    if rng.random() < 0.6:
        plain = False
        for name in rng.choice(FIELDS[path], size=rng.integers(1, 3)):
            value = str(rng.choice(ATOMS))
            body[str(name)] = str(rng.choice(OPTIONS)) if name == "semtropy" and rng.random() < 0.5 else value
    raw = ("{" + ", ".join(f'"{name}": {value}' for name, value in body.items()) + "}").encode()
    if rng.random() < 0.2:
        return _flipped(raw, rng), False
    return raw, plain


def _flipped(raw: bytes, rng: Generator) -> bytes:
    """Some bytes changed, doubled or taken away."""
    data = bytearray(raw)
    for _ in range(rng.integers(0, 4)):
        if data:
            at = int(rng.integers(len(data)))
            data[at : at + int(rng.integers(0, 3))] = rng.bytes(int(rng.integers(0, 3)))
    return bytes(data)


@contextmanager
def _gateway() -> Iterator[_Fuzzed]:
    logging.getLogger("semtropy").setLevel(logging.CRITICAL)
    logging.getLogger("uvicorn.error").setLevel(
        logging.CRITICAL
    )  # it would name every connection cut on purpose
    upstream = Upstream(lambda prompt: {ANSWER: 0.7, f"perhaps {ANSWER} or not": 0.3}, keep=False)
    with ExitStack() as stack:
        base = stack.enter_context(served(upstream))
        settings = Settings(
            upstream=f"{base}/v1",
            upstream_model="m",
            judge="exact",
            max_seconds=3,
            client_timeout=5,
        )
        url = stack.enter_context(served(create_app(settings), config=ServerConfig, limits=settings))
        yield _Fuzzed(url, upstream, stack.enter_context(httpx.Client(timeout=30)))


def fuzz(cases: int, seed: int) -> None:
    """Attack one gateway `cases` times; at its end the process has not grown by more than GROWTH."""
    with _gateway() as fuzzed:
        warm = min(100, cases)
        attack_all(fuzzed.attack, warm, seed)
        before = _resident()
        attack_all(fuzzed.attack, cases - warm, seed, first=warm)
        grown = _resident() - before
        assert fuzzed.client.get(f"{fuzzed.url}/healthz").status_code == 200
    assert grown < GROWTH, f"memory grew by {grown / 1e6:.0f} MB over {cases} cases of seed {seed}"


def _resident() -> int:
    """The most memory this process has held, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

"""A loopback upstream of the OpenAI kind that streams, draws from known answers and fails on demand."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
import uvicorn.server

Answers = dict[str, float]


class Upstream:
    """An ASGI application. `answers(prompt)` is a distribution; `fault(number)` may name a failure for a request.

    Faults: an int is a status, "cut" ends the connection in the middle of the answer, and those of ODD give replies as
    no server should. Answers are made of the words of the text; what was asked, by whom, is kept in `requests`,
    `keys` and `headers` (only counted where `keep` is False).
    """

    def __init__(
        self,
        answers: Callable[[str], Answers],
        *,
        fault: Callable[[int], int | str | None] = lambda number: None,
        first: float = 0.0,
        between: float = 0.0,
        keep: bool = True,
    ) -> None:
        self.answers, self.fault, self.first, self.between, self.keep = answers, fault, first, between, keep
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return None
        raw = b""
        while True:
            message = await receive()
            raw += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.count += 1
        number = self.count
        headers = dict(scope["headers"])
        if scope["path"] == "/v1/models":
            return await self._json(send, 200, {"object": "list", "data": [{"id": "m", "object": "model"}]})
        try:
            body = json.loads(raw)
        except ValueError:
            return await self._json(send, 400, {"error": {"message": "scripted: no JSON"}})
        if self.keep:
            self.requests.append(body)
            self.keys.append(headers.get(b"authorization", b"").decode("latin-1"))
            self.headers.append({name.decode(): value.decode("latin-1") for name, value in scope["headers"]})
        fault = self.fault(number)
        await asyncio.sleep(self.first)
        if isinstance(fault, int):
            return await self._json(
                send, fault, {"error": {"message": f"scripted {fault}", "type": "scripted"}}
            )
        if headers.get(b"authorization") == b"Bearer wrong":
            return await self._json(send, 401, {"error": {"message": "Incorrect API key", "type": "auth"}})
        chat = scope["path"] == "/v1/chat/completions"
        n = body.get("n")
        asked = n if isinstance(n, int) and 0 < n < 100 else 1
        try:
            choices = [self._choice(body, chat, k, number) for k in range(asked)]
            model = body["model"]
        except (KeyError, IndexError, TypeError, AttributeError):
            return await self._json(send, 400, {"error": {"message": "scripted: an odd request"}})
        odd = fault if isinstance(fault, str) and fault in ODD else None
        if odd == "gzip":
            return await self._broken_gzip(send, stream=bool(body.get("stream")))
        for choice in choices if odd else []:
            ODD[odd or ""](choice)
        if body.get("stream"):
            return await self._stream(send, choices[0], chat, cut=fault == "cut")
        frame = {"id": f"id-{number}", "object": "chat.completion", "created": 1, "model": model}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return await self._json(send, 200, {**frame, "choices": choices, "usage": usage}, cut=fault == "cut")

    def _choice(self, body: dict[str, Any], chat: bool, index: int, number: int) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"] if chat else body["prompt"]
        spread = self.answers(prompt if isinstance(prompt, str) else json.dumps(prompt))
        asked, seed = body.get("temperature"), body.get("seed")
        temperature = (
            asked if isinstance(asked, int | float) and 0 < asked <= 2 else 1.0 if asked != 0 else 0.0
        )
        weights = [p ** (1 / max(0.01, temperature)) for p in spread.values()]
        rng = random.Random(1000 * (seed if isinstance(seed, int) else number) + index)
        (text,) = rng.choices(list(spread), weights)
        said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        # Not quite certain of the end: a log-probability of exactly 0 is taken as unknown.
        entries = [(text, math.log(spread[text])), ("<|end|>", -1e-4)]
        content = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in entries]
        logprobs = {"content": content} if body.get("logprobs") else None
        return {"index": index, **said, "finish_reason": "stop", "logprobs": logprobs}

    async def _stream(self, send: Any, choice: dict[str, Any], chat: bool, *, cut: bool) -> None:
        await send(_start(200, b"text/event-stream"))
        text = choice["message"]["content"] if chat else choice["text"]
        pieces: list[Any] = [text]
        if isinstance(text, str):  # also between the halves of a character beyond the first 65,536
            halves = re.sub(r"[\ud800-\udbff](?=[\udc00-\udfff])", lambda half: half[0] + "\0", text)
            pieces = re.split(r"\0|(?<! )(?= )", halves)
        for k, piece in enumerate(pieces):
            if cut and k == 1:
                raise ConnectionError("scripted cut")
            part = {"delta": {"role": "assistant", "content": piece}} if chat else {"text": piece}
            await self._event(send, part, None)
            await asyncio.sleep(self.between)
        end: dict[str, Any] = {"delta": {}} if chat else {"text": ""}
        if choice["logprobs"]:
            end["logprobs"] = choice["logprobs"]
        await self._event(send, end, choice["finish_reason"])
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})

    async def _event(self, send: Any, part: dict[str, Any], finish: str | None) -> None:
        choice = {"index": 0, **part, "finish_reason": finish}
        chunk = {
            "id": "id-s",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }
        data = f"data: {json.dumps(chunk)}\n\n".encode()
        await send({"type": "http.response.body", "body": data, "more_body": True})

    async def _broken_gzip(self, send: Any, *, stream: bool) -> None:
        kind = b"text/event-stream" if stream else b"application/json"
        start = _start(200, kind)
        start["headers"].append((b"content-encoding", b"gzip"))
        await send(start)
        await send({"type": "http.response.body", "body": b"\x1f\x8b\x08\0 this is not gzip"})

    async def _json(self, send: Any, status: int, content: Any, *, cut: bool = False) -> None:
        data = json.dumps(content).encode().replace(b'"@deep@"', b"[" * 100_000 + b"]" * 100_000)
        await send(_start(status, b"application/json", len(data)))
        if cut:
            await send({"type": "http.response.body", "body": data[:9], "more_body": True})
            raise ConnectionError("scripted cut")
        await send({"type": "http.response.body", "body": data})


def _set_text(choice: dict[str, Any], text: Any) -> None:
    if "message" in choice:
        choice["message"]["content"] = text
    else:
        choice["text"] = text


def _text_of(choice: dict[str, Any]) -> str:
    return str(choice["message"]["content"] if "message" in choice else choice["text"])


def _deep(choice: dict[str, Any]) -> None:
    choice["deep"] = "@deep@"  # becomes brackets, deeper than any reader goes, once it is text


def _reserve(choice: dict[str, Any]) -> None:
    for entry in (choice["logprobs"] or {}).get("content", []):
        entry["bytes"] = 1_500_000_000


ODD: dict[str, Callable[[dict[str, Any]], None]] = {
    "gzip": lambda choice: None,  # the whole reply, broken
    "surrogate": lambda choice: _set_text(choice, _text_of(choice) + " \ud800"),
    "split": lambda choice: _set_text(choice, _text_of(choice) + " \ud83d\ude00"),
    "list": lambda choice: _set_text(choice, [{"type": "text", "text": _text_of(choice)}]),
    "number": lambda choice: _set_text(choice, 5),
    "deep": _deep,
    "bytes": _reserve,
}


def _start(status: int, content_type: bytes, length: int | None = None) -> dict[str, Any]:
    headers = [(b"content-type", content_type), (b"x-upstream", b"scripted")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": status, "headers": headers}


class _Impatient:
    """asyncio as uvicorn sees it: what it does every tenth of a second, also while it stops, it does sooner."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


uvicorn.server.asyncio = _Impatient()  # type: ignore[assignment, attr-defined]


@contextmanager
def served(
    app: Any, *, config: Callable[..., uvicorn.Config] = uvicorn.Config, wait: bool = True, **options: Any
) -> Iterator[str]:
    """The address of an application while it is served from a thread; `wait` until a gateway is ready."""
    # Known to be TCP, or asyncio would let small packets wait for each other.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(512)
        made = config(
            app,
            log_config=None,
            timeout_graceful_shutdown=2,
            timeout_keep_alive=75,
            access_log=False,
            **options,
        )
        server = uvicorn.Server(made)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        gateway = getattr(getattr(app, "state", None), "gateway", None) if wait else None
        while not server.started or (gateway and not (gateway.ready or gateway.load_error)):
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)

"""A loopback endpoint that speaks OpenAI's protocol, answers from a script and fails on demand."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Answers = dict[str, float]


class ScriptedEndpoint:
    """`answers` maps prompts to distributions; `fail(number, body)` may name a failure for a request.

    Failures: an int is a status, (status, headers, body) is sent as it is, "hang", "broken" (JSON), "bare" (no
    log-probabilities), "cut" (the connection), "empty" (no choices) are what they say.
    """

    def __init__(
        self, answers: Callable[[str], Answers], fail: Callable[[int, dict], Any] | None = None
    ) -> None:
        self.answers, self.fail = answers, fail or (lambda number, body: None)
        self.end_token: str | None = "<|im_end|>"
        self.many = True
        self.delay = 0.0
        self.closed = threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.busy = self.peak = 0
        self.lock = threading.Lock()

    def choice(self, body: dict[str, Any], rng: random.Random, *, bare: bool) -> dict[str, Any]:
        chat = "messages" in body
        prompt = body["messages"][-1]["content"] if chat else body["prompt"].split("Question:")[-1]
        if not chat:
            prompt = prompt.removesuffix("\nAnswer:").strip()
        spread = self.answers(prompt)
        weights = [p ** (1 / max(0.01, body.get("temperature", 1.0))) for p in spread.values()]
        (text,) = rng.choices(list(spread), weights)
        entries = [{"token": text, "logprob": math.log(spread[text]), "bytes": list(text.encode())}]
        if not chat:
            entries.append({"token": "\n", "logprob": 0.0, "bytes": [10]})
        elif self.end_token is not None:
            entries.append({"token": self.end_token, "logprob": 0.0, "bytes": list(self.end_token.encode())})
        made = {"message": {"role": "assistant", "content": text}} if chat else {"text": text + "\n\n"}
        logprobs = {"content": entries} if body.get("logprobs") and not bare else None
        return {"index": 0, "finish_reason": "stop", "logprobs": logprobs, **made}

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes] | str:
        with self.lock:
            number = len(self.requests)
            self.requests.append(body)
        failure = self.fail(number, body)
        if isinstance(failure, int):
            return failure, {}, json.dumps({"error": {"message": f"scripted {failure}"}}).encode()
        if isinstance(failure, tuple):
            status, headers, content = failure
            return status, headers, content if isinstance(content, bytes) else json.dumps(content).encode()
        if failure == "hang":  # until the server closes; a client that has given up asks no more
            with self.lock:
                self.busy -= 1
            self.closed.wait(60)
            with self.lock:
                self.busy += 1
        if failure == "broken":
            return 200, {}, b'{"choices": [{"mess'
        if failure == "cut":
            return "cut"
        if failure == "empty":
            return 200, {}, b'{"choices": []}'
        rng = random.Random(body.get("seed", number))
        n = body.get("n", 1) if self.many else 1
        choices = [self.choice(body, rng, bare=failure == "bare") for _ in range(n)]
        return 200, {}, json.dumps({"object": "completion", "choices": choices}).encode()


def _handler(endpoint: ScriptedEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # the body goes out at once, not when the headers are acknowledged

        def do_POST(self) -> None:
            with endpoint.lock:
                endpoint.busy += 1
                endpoint.peak = max(endpoint.peak, endpoint.busy)
                endpoint.keys.append(self.headers.get("authorization"))
            try:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                time.sleep(endpoint.delay)
                reply = endpoint.reply(body)
            finally:
                with endpoint.lock:
                    endpoint.busy -= 1
            self._send(reply)

        def _send(self, reply: tuple[int, dict[str, str], bytes] | str) -> None:
            if isinstance(reply, str):
                self.close_connection = True
                return
            status, headers, content = reply
            try:
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # the client gave up waiting
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


@contextmanager
def serving(endpoint: ScriptedEndpoint):
    """The base URL while it serves."""
    with _Server(("127.0.0.1", 0), _handler(endpoint)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            endpoint.closed.set()
            server.shutdown()
            thread.join()

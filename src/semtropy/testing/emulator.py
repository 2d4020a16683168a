"""A loopback server that behaves like one of the `PROVIDERS`."""

from __future__ import annotations

import json
import math
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import InputError
from .providers import BY_NAME, Provider, Refusal

# A distribution over answers as a model over tokens: the next token given those before it, the end among them.


END = "<|im_end|>"
Drawn = list[tuple[str, float]]


def tokens_of(text: str) -> list[str]:
    """Words with the space before them.

    >>> tokens_of("New York")
    ['New', ' York']
    """
    return re.findall(r"\s*\S+", text)


class TokenModel:
    """Draws answers token by token, so that any temperature and any given answer have exact probabilities.

    >>> model = TokenModel({"New York": 0.6, "New Orleans": 0.2, "Paris": 0.2})
    >>> [(token, round(math.exp(logprob), 2)) for token, logprob in model.weighed(["New", " York"])]
    [('New', 0.8), (' York', 0.75), ('<|im_end|>', 1.0)]
    """

    def __init__(self, answers: Mapping[str, float]) -> None:
        total = math.fsum(answers.values())
        self._next: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for text, weight in answers.items():
            tokens = [*tokens_of(text), END]
            for place, token in enumerate(tokens):
                self._next[tuple(tokens[:place])][token] += weight / total

    def draw(self, temperature: float, rng: random.Random, limit: int) -> Drawn:
        """Tokens with their log-probabilities before the temperature; the last is the end unless the limit cut it."""
        drawn: Drawn = []
        while len(drawn) < limit and not (drawn and drawn[-1][0] == END):
            shares = self._shares(tuple(token for token, _ in drawn))
            weights = [share ** (1 / max(temperature, 0.01)) for share in shares.values()]
            (token,) = rng.choices(list(shares), weights)
            drawn.append((token, math.log(shares[token])))
        return drawn

    def weighed(self, tokens: Sequence[str]) -> Drawn:
        """Given tokens and the end after them, with their log-probabilities; -20 for what is never said."""
        whole = [*tokens, END]
        found: Drawn = []
        for place, token in enumerate(whole):
            share = self._shares(tuple(whole[:place])).get(token, 0.0)
            found.append((token, math.log(share) if share else -20.0))
        return found

    def _shares(self, before: tuple[str, ...]) -> dict[str, float]:
        if before not in self._next:
            return {END: 1.0}
        found = self._next[before]
        total = math.fsum(found.values())
        return {token: share / total for token, share in found.items()}


# Tool calls in the replies of emulated endpoints.


def with_calls(choice: dict[str, Any], body: Mapping[str, Any], provider: Provider) -> dict[str, Any]:
    """The choice of a chat completion, with its text as tool calls where it is some and the request has tools.

    The text of a call is `{"tool_calls": [{"name": ..., "arguments": {...}}]}`.
    """
    text = choice["message"]["content"]
    thought, aloud, said = text.rpartition("</think>\n\n")
    if not body.get("tools") or not said.startswith('{"tool_calls"') or choice["finish_reason"] != "stop":
        return choice
    calls = [
        {
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for place, call in enumerate(json.loads(said)["tool_calls"])
    ]
    content = f"{thought}{aloud}" or provider.beside_calls
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    return {**choice, "message": message, "finish_reason": provider.calls_finish}


Answers = Mapping[str, float] | Callable[[str], Mapping[str, float]]
THOUGHT = " hmm"


@dataclass
class EmulatedEndpoint:
    """An emulated endpoint while it is served.

    provider  what it behaves like
    answers   the distribution of its answers, or a function from the last message to one
    delay     seconds that a request takes unless it is refused
    base_url  its address
    requests  the bodies of all requests so far, refused ones included

    >>> from semtropy import Budget, check
    >>> with emulate("ollama", {"Paris": 1.0}) as endpoint:
    ...     verdict = check("Capital of France?", model=endpoint.model(), judge="exact", budget=Budget(samples=2))
    >>> verdict.answer
    'Paris'
    """

    provider: Provider
    answers: Answers
    delay: float = 0.0
    base_url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def model(self, kind: str = "openai", **options: Any) -> Any:
        """A model that asks this endpoint: `openai` for chat, `completions` for plain completions."""
        from ..models import load_model

        return load_model(f"{kind}:{self.provider.example}", base_url=self.base_url, **options)

    @property
    def drawn(self) -> int:
        """How many answers were drawn: those of all requests that were not refused, and weigh no given answer."""
        drawing = [body for body in self.requests if not {"prompt_logprobs", "echo"} & set(body)]
        return sum(self._count(body) for body in drawing if self.provider.refusal(body) is None)

    def _count(self, body: Mapping[str, Any]) -> int:
        return min(int(body.get("n", 1)), self.provider.choices)

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """The status and the body of the reply to one request."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
        chat = path.endswith("/chat/completions")
        if not chat and not (path.endswith("/completions") and self.provider.completions):
            return 404, {"error": {"message": f"Not Found: {path}"}}
        refusal = self.provider.refusal(body)
        if refusal is not None:
            return refusal.status, self._error(refusal)
        seed = body.get("seed") if self.provider.seeds else None
        rng = random.Random(number if seed is None else seed)
        answered = _Answered(self, body, chat)
        choices = [answered.choice(index, rng) for index in range(self._count(body))]
        usage = {"prompt_tokens": 20, "completion_tokens": answered.tokens}
        usage["total_tokens"] = sum(usage.values())
        if self.provider.thinking and not self.provider.thinks_aloud:
            usage["completion_tokens_details"] = {"reasoning_tokens": answered.thought}  # type: ignore[assignment]
        kind = "chat.completion" if chat else "text_completion"
        frame = {"id": f"emulated-{number}", "object": kind, "created": 1, "model": body.get("model")}
        if self.provider.fingerprint is not None:
            frame["system_fingerprint"] = self.provider.fingerprint
        weighed = answered.prompt_logprobs()
        return 200, {**frame, "choices": choices, "usage": usage, **weighed}

    def _error(self, refusal: Refusal) -> Any:
        if self.provider.errors == "google":
            error = {"code": refusal.status, "message": refusal.message, "status": "INVALID_ARGUMENT"}
            return [{"error": error}]
        kind = "invalid_request_error"
        error = {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}
        return {"error": error}


class _Answered:
    """The answers to one request."""

    def __init__(self, endpoint: EmulatedEndpoint, body: Mapping[str, Any], chat: bool) -> None:
        self.provider, self.body, self.chat = endpoint.provider, body, chat
        messages: list[Mapping[str, Any]] = body.get("messages") or []
        answered = bool(messages) and messages[-1]["role"] == "assistant"
        self.given = str(messages[-1]["content"]) if answered else None
        question = _question(body, chat)
        answers = endpoint.answers(question) if callable(endpoint.answers) else endpoint.answers
        self.model = TokenModel(answers)
        self.tokens = self.thought = 0

    def choice(self, index: int, rng: random.Random) -> dict[str, Any]:
        provider, body = self.provider, self.body
        if body.get("echo") and provider.weighs_prompts and not self.chat:
            return self._echo(" next")
        limit = body.get("max_completion_tokens", body.get("max_tokens")) or 10_000
        thought = min(provider.thinking, limit)
        temperature = body.get("temperature", 1.0)
        drawn = self.model.draw(temperature, rng, limit - thought)
        self.tokens += thought + len(drawn)
        self.thought += thought
        ended = bool(drawn) and drawn[-1][0] == END
        text = "".join(token for token, _ in drawn if token != END)
        if provider.thinks_aloud:
            text = f"<think>{THOUGHT * thought}" + (f"</think>\n\n{text}" if thought < limit else "")
        said: dict[str, Any] = {"text": text}
        if self.chat:
            said = {"message": {"role": "assistant", "content": text}}
        finish = "stop" if ended else "length"
        made = {"index": index, **said, "finish_reason": finish, "logprobs": self._logprobs(drawn)}
        return with_calls(made, body, provider) if self.chat else made

    def _logprobs(self, drawn: list[tuple[str, float]]) -> dict[str, Any] | None:
        kind = self.provider.logprobs
        if not self.body.get("logprobs") or kind in ("ignored", "refused"):
            return None
        if kind == "no end":
            drawn = [(token, logprob) for token, logprob in drawn if token != END]
        replaced = {"zeros": 0.0, "-9999": -9999.0}
        pairs = [(token, replaced.get(kind, logprob)) for token, logprob in drawn]
        if not self.chat:
            return {"tokens": [token for token, _ in pairs], "token_logprobs": [value for _, value in pairs]}
        return {"content": [_entry(token, value) for token, value in pairs]}

    def prompt_logprobs(self) -> dict[str, Any]:
        """The log-probabilities of the prompt's tokens, as vLLM returns them, where they are asked for."""
        if not self.provider.weighs_prompts or self.body.get("prompt_logprobs") is None or self.given is None:
            return {}
        head = [_prompt_entry(token, -3.0, rank=9) for token in ("<|im_start|>", "assistant", "\n")]
        tail = [_prompt_entry("\n", -1e-4, rank=1)]
        given = [
            _prompt_entry(token, value, rank=1) for token, value in self.model.weighed(tokens_of(self.given))
        ]
        for entry in given:  # the likeliest token stands beside the prompt's own where that is another one
            token = next(iter(entry.values()))
            if token["logprob"] < -1.0:
                token["rank"] = 2
                entry["3"] = {"logprob": -0.5, "rank": 1, "decoded_token": " the"}
        return {"prompt_logprobs": [None, *head, *given, *tail]}

    def _echo(self, text: str) -> dict[str, Any]:
        """An echoed prompt: its tokens with their log-probabilities, and one more."""
        prompt = str(self.body["prompt"])
        question, _, given = prompt.rpartition("Answer:")
        pieces: list[tuple[str, float | None]] = [(token, -2.0) for token in tokens_of(f"{question}Answer:")]
        pieces[0] = (pieces[0][0], None)
        weighed = self.model.weighed(tokens_of(given.strip()))
        answer = [(token if place else f" {token}", value) for place, (token, value) in enumerate(weighed)]
        pieces += [*answer[:-1], ("\n\n", answer[-1][1]), (" next", -1.0)]
        logprobs = {
            "tokens": [token for token, _ in pieces],
            "token_logprobs": [value for _, value in pieces],
        }
        return {"index": 0, "text": f"{prompt}{text}", "finish_reason": "length", "logprobs": logprobs}


def _prompt_entry(token: str, logprob: float, *, rank: int) -> dict[str, Any]:
    return {"7": {"logprob": logprob, "rank": rank, "decoded_token": token}}


def _entry(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": []}


def _question(body: Mapping[str, Any], chat: bool) -> str:
    if not chat:
        return str(body.get("prompt", "")).rsplit("Question:", 1)[-1].removesuffix("\nAnswer:").strip()
    asked = [message["content"] for message in body.get("messages", ()) if message["role"] == "user"]
    return asked[-1] if asked and isinstance(asked[-1], str) else json.dumps(asked[-1:])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    endpoint: EmulatedEndpoint


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body goes out at once, not when the headers are acknowledged
    server: _Server

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, reply = endpoint.reply(self.path, body)
        if status == 200:  # a request is refused before anything is generated
            time.sleep(endpoint.delay)
        content = json.dumps(reply).encode()
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:  # the client gave up waiting
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Nothing is logged."""


@contextmanager
def emulate(provider: str, answers: Answers, *, delay: float = 0.0) -> Iterator[EmulatedEndpoint]:
    """Serve an emulated endpoint on loopback while the context lasts.

    provider  one of `PROVIDERS`
    answers   texts with their probabilities, or a function from the last message to such a distribution; the text
              `{"tool_calls": [{"name": ..., "arguments": {...}}]}` is sent as tool calls if the request has tools
    delay     seconds that a request takes unless it is refused

    >>> with emulate("openai", {"Paris": 0.9, "Lyon": 0.1}) as endpoint:
    ...     sample = endpoint.model().sample("Capital of France?", 1)[0]
    >>> sample.text in ("Paris", "Lyon"), sample.logprob
    (True, None)
    """
    if provider not in BY_NAME:
        raise InputError(f"unknown provider {provider!r}: choose from {', '.join(BY_NAME)}")
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.endpoint = EmulatedEndpoint(BY_NAME[provider], answers, delay)
        server.endpoint.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.endpoint
        finally:
            server.shutdown()
            thread.join()

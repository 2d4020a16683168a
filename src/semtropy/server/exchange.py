"""A completion request, and the reply that is passed on: read, never changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from .failures import Problem
from .options import Choices

__all__ = ["Incoming", "Reply", "first_fault", "loads", "read_request"]

Kind = Literal["chat", "completions"]
# What the samples of a check decide for themselves; all else goes to the upstream as the client wrote it.
_OURS = {
    "model",
    "stream",
    "stream_options",
    "n",
    "best_of",
    "echo",
    "suffix",
    "temperature",
    "top_p",
    "seed",
}
_OURS |= {"logprobs", "top_logprobs", "max_tokens", "max_completion_tokens", "semtropy", "store", "metadata"}


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as the client sent it (`raw`, without our own key), and what is read from it."""

    kind: Kind
    raw: bytes
    body: Mapping[str, Any]
    choices: Choices
    key: str | None = None

    @property
    def path(self) -> str:
        """The path under the upstream's base URL."""
        return "/chat/completions" if self.kind == "chat" else "/completions"

    @property
    def streaming(self) -> bool:
        return self.body.get("stream") is True

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "")

    @property
    def question(self) -> str | None:
        """What is asked: the last user message, or the prompt; None where it is not one text."""
        if self.kind == "completions":
            prompt = self.body.get("prompt")
            if isinstance(prompt, list) and len(prompt) == 1:
                prompt = prompt[0]
            return prompt if isinstance(prompt, str) and prompt.strip() else None
        messages = self.body.get("messages")
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") == "user":
                return _text(message.get("content"))
        return None

    @property
    def about(self) -> dict[str, Any]:
        """All of the request that shapes an answer, for the samples to be drawn with."""
        return {name: value for name, value in self.body.items() if name not in _OURS}

    @property
    def max_tokens(self) -> int | None:
        for name in ("max_completion_tokens", "max_tokens"):
            value = self.body.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None


@dataclass(slots=True)
class Reply:
    """What the answering side said: status, headers, and the body as it comes."""

    status: int
    headers: dict[str, str]
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[object]]
    notes: dict[str, Any] = field(default_factory=dict)


def read_request(
    kind: Kind, raw: bytes, *, key: str | None, options: str | None, max_prompt: int
) -> Incoming:
    """Read a request; `options` are those of the header, for clients that cannot add a key to the body."""
    body = loads(raw)
    if not isinstance(body, dict):
        raise Problem(400, "the body must be a JSON object")
    field_name = "messages" if kind == "chat" else "prompt"
    if not body.get(field_name) or not isinstance(body[field_name], (list, str) if kind != "chat" else list):
        raise Problem(400, f"{field_name} is missing or empty")
    chosen = body.pop("semtropy", None)
    if chosen is not None:  # the upstream must not see our key; else it gets the very bytes the client sent
        raw = json.dumps(body, ensure_ascii=True).encode()
    if options is not None:
        chosen = {**(chosen or {}), **_object(loads(options.encode("latin-1", "replace")), "X-Semtropy")}
    try:
        choices = Choices.model_validate({} if chosen is None else _object(chosen, "semtropy"))
    except ValidationError as error:
        raise Problem(400, f"semtropy: {first_fault(error)}") from None
    size = sum(len(text) for text in _texts(body[field_name]))
    if size > max_prompt:
        raise Problem(413, f"the prompt has {size} characters: at most {max_prompt} are allowed")
    return Incoming(kind, raw, body, choices, key)


def loads(raw: bytes) -> Any:
    """JSON, without the constants and halves of characters that Python would let pass."""
    try:
        held = json.loads(raw, parse_constant=_no_constant)
        json.dumps(held, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {type(error).__name__}") from None
    return held


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def first_fault(error: ValidationError) -> str:
    """The first thing wrong, with its place; what was given is not repeated."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Problem(400, f"{name} must be an object")
    return value


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) and content.strip() else None


def _texts(value: Any) -> list[str]:
    """Every text inside, image addresses and all."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    return []

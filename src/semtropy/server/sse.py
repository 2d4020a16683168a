"""Server-sent events: splitting a stream into events, reading the answer from them, writing events."""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import BadReply
from ..models.replies import chat_sample, content_text, well_formed
from ..nouns import Sample

__all__ = ["AnswerReader", "EventSplitter", "answer_of", "event", "is_done"]

_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r")
# Parts of a message that stand in place of text.
_NOT_TEXT = ("tool_calls", "function_call", "audio")
_TOKENS = 10_000
"""Tokens of a stream whose log-probabilities are kept; of longer answers none are."""


class EventSplitter:
    """Splits bytes into whole events, blank lines included; no byte is lost or changed.

    Takes time linear in the bytes, however small the pieces: what was searched is not searched again. A part of
    `limit` bytes without a blank line is given out as it is, so that memory is bounded.

    >>> splitter = EventSplitter()
    >>> splitter.feed(b"data: 1\\n"), splitter.feed(b"\\ndata: 2\\n\\nda"), splitter.take()
    ([], [b'data: 1\\n\\n', b'data: 2\\n\\n'], b'da')
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        self._held, self._searched, self._limit = bytearray(), 0, limit

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that `chunk` completes."""
        held, start, found = self._held, 0, []
        held += chunk
        for blank in _BLANK.finditer(held, self._searched):
            found.append(bytes(held[start : blank.end()]))
            start = blank.end()
        del held[:start]
        self._searched = max(0, len(held) - 3)  # a blank line may have begun
        if len(held) > self._limit:
            found.append(self.take())
        return found

    def take(self) -> bytes:
        """What came after the last event."""
        rest = bytes(self._held)
        self._held.clear()
        self._searched = 0
        return rest


def _data(raw: bytes) -> bytes:
    lines = raw.splitlines()
    return b"\n".join(line[5:].lstrip() for line in lines if line.startswith(b"data:"))


def is_done(raw: bytes) -> bool:
    """Whether this is the event that ends a stream.

    >>> is_done(b"data: [DONE]\\n\\n"), is_done(b'data: {"choices": []}\\n\\n')
    (True, False)
    """
    return len(raw) < 100 and _data(raw).strip() == b"[DONE]"


def answer_of(body: Any, *, sampled: bool = False) -> Sample | None:
    """The answer in the first choice of a completion, or None where it is not text (a tool call, say).

    `sampled` says that it was drawn as samples are, so that its log-probabilities count.

    >>> answer_of({"choices": [{"message": {"content": "Paris"}}]}).text
    'Paris'
    >>> answer_of({"choices": [{"text": " Rom", "finish_reason": "length"}]}).complete
    False
    """
    try:
        choice = body["choices"][0]
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        if any(message.get(name) for name in _NOT_TEXT):
            return None
        text = content_text(message.get("content"))
        return _answer(text, choice.get("logprobs"), choice.get("finish_reason"), sampled=sampled)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def _answer(text: str, logprobs: Any, finish: Any, *, sampled: bool) -> Sample:
    whole = finish != "length"
    if sampled and whole:
        choice = {"message": {"content": text}, "logprobs": logprobs, "finish_reason": "stop"}
        try:
            drawn = chat_sample(choice, logprobs_of_sampling=True)
        except BadReply:  # log-probabilities in another form: the text is what matters
            return Sample(text.strip())
        return Sample(drawn.text, tokens=drawn.tokens, sampling_logprob=drawn.logprob)
    return Sample(text.strip(), complete=whole)


class AnswerReader:
    """Collects the first choice from the events of a stream: its text, up to `limit` characters, and its end."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self._parts: list[str] = []
        self._left = limit
        self._tokens: list[Any] = []
        self._finish: Any = None
        self._chosen, self._other = False, False
        self.first: dict[str, Any] = {}

    def feed(self, raw: bytes) -> None:
        """Read one event; events that are not completion chunks are ignored."""
        try:
            data = json.loads(_data(raw))
            choices = [choice for choice in data["choices"] if choice.get("index", 0) == 0]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if not self.first:
            named = {name: data[name] for name in ("id", "object", "created", "model") if name in data}
            self.first = {name: value for name, value in named.items() if isinstance(value, str | int)}
        for choice in choices:
            self._read(choice)

    def _read(self, choice: dict[str, Any]) -> None:
        delta, self._chosen = choice.get("delta"), True
        text = delta.get("content") if isinstance(delta, dict) else choice.get("text")
        if isinstance(text, str):
            self._parts.append(text[: self._left])
            self._left -= len(self._parts[-1])
        elif text is not None or (isinstance(delta, dict) and any(delta.get(name) for name in _NOT_TEXT)):
            self._other = True
        self._finish = choice.get("finish_reason") or self._finish
        logprobs = choice.get("logprobs")
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        if isinstance(tokens, list) and len(self._tokens) <= _TOKENS:
            self._tokens += tokens

    def answer(self, *, sampled: bool = False) -> Sample | None:
        """The answer so far. Characters that were cut in two by the chunks are whole again."""
        text = well_formed("".join(self._parts))
        if not self._chosen or (self._other and not text.strip()):
            return None
        logprobs = {"content": self._tokens} if 0 < len(self._tokens) <= _TOKENS else None
        return _answer(text, logprobs, self._finish, sampled=sampled)


def event(data: Any, name: str | None = None) -> bytes:
    """One event with JSON as its data.

    >>> event({"a": 1}, "step")
    b'event: step\\ndata: {"a": 1}\\n\\n'
    """
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {json.dumps(data, allow_nan=False)}\n\n".encode()

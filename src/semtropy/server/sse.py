"""Server-sent events: splitting a stream into events, reading the answer from them, writing events."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["AnswerReader", "EventSplitter", "answer_of", "event", "is_done"]

_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class EventSplitter:
    """Splits bytes into whole events, blank lines included; no byte is lost or changed.

    >>> splitter = EventSplitter()
    >>> splitter.feed(b"data: 1\\n"), splitter.feed(b"\\ndata: 2\\n\\nda"), splitter.rest
    ([], [b'data: 1\\n\\n', b'data: 2\\n\\n'], b'da')
    """

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that `chunk` completes."""
        data, start, found = self.rest + chunk, 0, []
        for blank in _BLANK.finditer(data):
            found.append(data[start : blank.end()])
            start = blank.end()
        self.rest = data[start:]
        return found


def _data(raw: bytes) -> bytes:
    lines = raw.splitlines()
    return b"\n".join(line[5:].lstrip() for line in lines if line.startswith(b"data:"))


def is_done(raw: bytes) -> bool:
    """Whether this is the event that ends a stream.

    >>> is_done(b"data: [DONE]\\n\\n"), is_done(b'data: {"choices": []}\\n\\n')
    (True, False)
    """
    return _data(raw).strip() == b"[DONE]"


def answer_of(body: Any) -> str | None:
    """The text of the first choice of a completion, or None (a tool call, say).

    >>> answer_of({"choices": [{"message": {"content": "Paris"}}]}), answer_of({"choices": [{"text": " Rome"}]})
    ('Paris', 'Rome')
    """
    try:
        choice = body["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
    except (KeyError, IndexError, TypeError):
        return None
    return text.strip() if isinstance(text, str) and text.strip() else None


class AnswerReader:
    """Collects the text of the first choice from the events of a stream."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.first: dict[str, Any] = {}

    def feed(self, raw: bytes) -> None:
        """Read one event; events that are not completion chunks are ignored."""
        try:
            data = json.loads(_data(raw))
            choices = [choice for choice in data["choices"] if choice.get("index", 0) == 0]
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        if not self.first:
            self.first = {name: data[name] for name in ("id", "object", "created", "model") if name in data}
        for choice in choices:
            delta = choice.get("delta")
            text = delta.get("content") if isinstance(delta, dict) else choice.get("text")
            if isinstance(text, str):
                self._parts.append(text)

    @property
    def answer(self) -> str | None:
        """The answer so far."""
        return "".join(self._parts).strip() or None


def event(data: Any, name: str | None = None) -> bytes:
    """One event with JSON in it.

    >>> event({"a": 1}, "step")
    b'event: step\\ndata: {"a": 1}\\n\\n'
    """
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n".encode()

"""Server-sent events: splitting a stream into events, and writing events."""

from __future__ import annotations

import json
import re
from typing import Any

_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")


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


def event_data(raw: bytes) -> bytes:
    """The data of an event, its lines joined."""
    lines = raw.splitlines()
    return b"\n".join(line[5:].lstrip() for line in lines if line.startswith(b"data:"))


def is_done(raw: bytes) -> bool:
    """Whether this is the event that ends a stream.

    >>> is_done(b"data: [DONE]\\n\\n"), is_done(b'data: {"choices": []}\\n\\n')
    (True, False)
    """
    return len(raw) < 100 and event_data(raw).strip() == b"[DONE]"


def spliced(raw: bytes, name: str, value: Any) -> bytes:
    """The bytes of a JSON object with a field appended; all other bytes stay the same.

    >>> spliced(b'{"a": 1e999 }', "b", 2)
    b'{"a": 1e999,"b":2}'
    """
    head = raw.rstrip()[:-1].rstrip()
    comma = "" if head.lstrip() == b"{" else ","
    return head + f"{comma}{json.dumps(name)}:{json.dumps(value, allow_nan=False)}}}".encode()


def with_field(raw: bytes, name: str, value: Any) -> bytes:
    """An event whose data is a JSON object, with a field appended to that.

    >>> with_field(b"id: 7\\ndata: {}\\n\\n", "a", 1)
    b'id: 7\\ndata: {"a":1}\\n\\n'
    """
    other = [line for line in raw.splitlines() if line and not line.startswith(b"data:")]
    data = [b"data: " + line for line in spliced(event_data(raw), name, value).splitlines()]
    return b"\n".join((*other, *data)) + b"\n\n"


def event(data: Any, name: str | None = None) -> bytes:
    """One event with JSON as its data.

    >>> event({"a": 1}, "step")
    b'event: step\\ndata: {"a": 1}\\n\\n'
    """
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {json.dumps(data, allow_nan=False)}\n\n".encode()

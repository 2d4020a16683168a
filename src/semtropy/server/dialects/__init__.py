"""The protocols of an upstream: reading an answer from a reply or a stream, and refusing in the same form."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...nouns import Sample

__all__ = ["Dialect", "ReadAnswer", "StreamReader", "kept_fields"]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer that a client gets: its text with what log-probabilities came, and why the upstream ended it."""

    sample: Sample
    finish: str | None


class StreamReader(Protocol):
    """Collects an answer from the events of a stream."""

    def feed(self, raw: bytes) -> None:
        """Read one event."""
        ...

    def answer(self) -> ReadAnswer | None:
        """The answer so far, None where it is not text (and no call of a tool)."""
        ...


class Dialect(Protocol):
    """One protocol. `calls` in its constructors says whether tool calls are answers."""

    def reader(self) -> StreamReader:
        """A reader for one stream."""
        ...

    def answer(self, body: Any) -> ReadAnswer | None:
        """The answer in a reply, None where it is not text (and no call of a tool)."""
        ...

    def ends(self, raw: bytes) -> bool:
        """Whether this event ends a stream: it is held back until the verdict is known."""
        ...

    def ending(self, reader: StreamReader, last: bytes, payload: dict[str, Any]) -> bytes:
        """The end of a stream with the verdict in it; `last` is the event held back, empty where none came."""
        ...

    def refusal(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        """The reply with `text` as its only answer."""
        ...

    def refusal_events(self, reader: StreamReader, text: str) -> tuple[list[bytes], bytes]:
        """A stream with `text` as its only answer: its events, and the one that ends it."""
        ...


def kept_fields(body: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The fields of a reply that a refusal keeps, without those that JSON cannot hold (a number read from 1e999).

    >>> kept_fields({"id": "a", "usage": {"n": float("inf")}, "choices": []}, ("id", "usage"))
    {'id': 'a'}
    """
    return {name: value for name, value in body.items() if name in names and _is_writable(value)}


def _is_writable(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True

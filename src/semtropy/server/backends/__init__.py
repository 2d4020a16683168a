"""Backends answer completion requests: an upstream endpoint, or a model in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

__all__ = ["BackendReply"]


@dataclass(slots=True)
class BackendReply:
    """A reply to a completion request: status, headers, and the body in chunks as they arrive."""

    status: int
    headers: dict[str, str]
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[object]]

"""Backends answer completion requests: an upstream endpoint, or a model in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from ...models.endpoint import CODINGS, BrokenCoding, unpacked
from ..errors import Problem


@dataclass(slots=True)
class BackendReply:
    """A reply to a completion request: status, headers, and the body in chunks as they arrive.

    `encoding` is the reply's Content-Encoding, which `headers` do not have: chunks may be passed on as they are
    (`passed_headers`) or unpacked first (`unpacked`).
    """

    status: int
    headers: dict[str, str]
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[object]]
    encoding: str | None = None

    @property
    def passed_headers(self) -> dict[str, str]:
        """The headers that fit the chunks as they are."""
        return self.headers if self.encoding is None else {**self.headers, "content-encoding": self.encoding}

    @property
    def readable(self) -> bool:
        """Whether the body can be unpacked."""
        return self.encoding in CODINGS

    async def relayed(self) -> AsyncIterator[bytes]:
        """The body as it comes; closed at the end, however that comes about."""
        try:
            async for chunk in self.chunks:
                yield chunk
        finally:
            await self.close()

    async def unpacked(self) -> AsyncIterator[bytes]:
        """The body without its Content-Encoding, in pieces of bounded size; a body that is broken is an error."""
        try:
            async for piece in unpacked(self.chunks, self.encoding):
                yield piece
        except BrokenCoding as error:
            raise Problem(502, f"the upstream's reply cannot be read: {error}", "upstream_error") from None

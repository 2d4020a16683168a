"""Backends answer completion requests: an upstream endpoint, or a model in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...models.endpoint import CODINGS, BrokenCoding, unpacked
from ..errors import Problem

if TYPE_CHECKING:
    from ...nouns import Model, Sample
    from ..middleware import Caller
    from ..requests import CompletionRequest


class Backend(Protocol):
    """Answers completion requests, and draws further answers to them."""

    name: str

    def load(self) -> None:
        """Load what it needs to answer."""
        ...

    async def open(self, request: CompletionRequest, headers: Mapping[str, str]) -> BackendReply:
        """Answer a request; the reply's body is read as it comes."""
        ...

    def sampler(self, request: CompletionRequest) -> Model:
        """A model that draws further answers to the request."""
        ...

    def weighed(self, request: CompletionRequest, answer: Sample) -> Sample:
        """The client's answer as evidence: its log-probability is that under the distribution of the samples."""
        ...

    def model(self, name: str | None, caller: Caller) -> Model:
        """The model that /v1/check asks."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...


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

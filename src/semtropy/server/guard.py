"""What stands before every route: keys, size limits, the queue, one log line and one count a request."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any

from .failures import Problem, failure, kind_of
from .logs import log

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .metrics import Metrics
    from .settings import Settings

__all__ = ["FACTS", "Guard", "bearer"]

FACTS = "semtropy.facts"
"""Where a route leaves what the log line should say, in the request's scope."""

UPLOADS = ("/api/study",)


class Gate:
    """At most `room` inside and `queue` waiting; whoever comes beyond that is told to come back."""

    def __init__(self, room: int, queue: int, metrics: Metrics) -> None:
        self._slots = asyncio.Semaphore(room)
        self._queue, self._waiting, self._metrics = queue, 0, metrics

    async def __aenter__(self) -> None:
        if self._slots.locked():
            if self._waiting >= self._queue:
                raise Problem(429, "too many requests are waiting: try again in a moment", "rate_limit_error")
            self._waiting += 1
            self._metrics.waiting.inc()
            try:
                await self._slots.acquire()
            finally:
                self._waiting -= 1
                self._metrics.waiting.dec()
        else:
            await self._slots.acquire()
        self._metrics.busy.inc()

    async def __aexit__(self, *trouble: object) -> None:
        self._metrics.busy.dec()
        self._slots.release()


class Guard:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, *, settings: Settings, metrics: Metrics, routes: frozenset[str]) -> None:
        self.app, self.settings, self.metrics, self.routes = app, settings, metrics, routes
        self._keys = [key.encode() for key in settings.keys]
        self._gate: Gate | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, route = time.perf_counter(), [500], self._route(scope)
        scope[FACTS] = facts = {"id": secrets.token_hex(6)}

        counted = False

        def count() -> None:
            nonlocal counted
            if not counted:
                counted = True
                self.metrics.requests.labels(route, str(status[0])).inc()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", facts["id"].encode())]
            elif not message.get("more_body"):
                count()  # before the client can have the end of it, so that no one sees a reply not yet counted
            await send(message)

        try:
            await self._guarded(scope, receive, watched)
        except asyncio.CancelledError:
            status[0] = 499  # the client went away
            raise
        finally:
            count()
            seconds = round(time.perf_counter() - start, 4)
            told = {"route": route, "status": status[0], "seconds": seconds, **facts}
            log.info("request", extra={"facts": told})

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["path"].startswith(("/v1/", "/api/")):
                self._admit(scope)
                if scope["method"] == "POST":
                    receive = await self._whole_body(scope, receive)
                if self._gate is None:
                    self._gate = Gate(self.settings.concurrency, self.settings.queue, self.metrics)
                async with self._gate:
                    await self.app(scope, receive, noting)
            else:
                await self.app(scope, receive, noting)
        except Exception as error:
            self.metrics.errors.labels(kind_of(error)).inc()
            if not isinstance(error, Problem):
                log.error("failure", exc_info=error, extra={"facts": scope[FACTS]})
            if started:
                raise
            await failure(error)(scope, receive, send)

    def _route(self, scope: Scope) -> str:
        """The path where it is one of ours, so that strange paths cannot fill the table of counters."""
        path = str(scope["path"])
        return path if path in self.routes else "page" if path.startswith("/page/") else "other"

    def _admit(self, scope: Scope) -> None:
        if not self._keys:
            return
        shown = [value for value in (_header(scope, b"x-semtropy-key"), bearer(scope)) if value]
        # Every key is compared, whole, so that the time taken tells nothing.
        matches = [hmac.compare_digest(value.encode(), key) for value in shown for key in self._keys]
        if not any(matches):
            raise Problem(401, "this gateway wants a key: Authorization: Bearer KEY", "authentication_error")

    async def _whole_body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body within its limit; the application then gets it in one piece."""
        upload = scope["path"] in UPLOADS
        limit = self.settings.max_upload if upload else self.settings.max_body
        too_large = Problem(413, f"the request is larger than the {limit} bytes allowed")
        declared = _header(scope, b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > limit:
            raise too_large
        wanted = "application/octet-stream" if upload else "application/json"
        if (_header(scope, b"content-type") or "").partition(";")[0].strip().lower() != wanted:
            # A page of another site can send forms and plain text here unasked, but not this.
            raise Problem(415, f"the content type must be {wanted}")
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "the client went away")
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large
            more = message.get("more_body", False)
        return _replayed(b"".join(parts), receive)


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> dict[str, Any]:
        nonlocal given
        if given:
            return dict(await receive())
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def bearer(scope: Scope) -> str | None:
    """The key in the Authorization header."""
    scheme, _, key = (_header(scope, b"authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None

"""ASGI middleware before every route: keys, size limits, the queue, a log line and a count per request."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any

from .errors import Problem, error_kind, error_response
from .telemetry import LOG_FIELDS, log

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .settings import Settings
    from .telemetry import Metrics

__all__ = ["RequestGuard", "bearer"]

UPLOADS = ("/api/study",)


class ConcurrencyLimit:
    """Lets `room` requests run and `queue` wait; more are refused with 429."""

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


class RequestGuard:
    """Admits requests, reads their bodies within limits, and turns errors into replies."""

    def __init__(self, app: ASGIApp, *, settings: Settings, metrics: Metrics, routes: frozenset[str]) -> None:
        self.app, self.settings, self.metrics, self.routes = app, settings, metrics, routes
        self._keys = [key.encode() for key in settings.keys]
        self._limit: ConcurrencyLimit | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, route = time.perf_counter(), [500], self._route(scope)
        scope[LOG_FIELDS] = fields = {"id": secrets.token_hex(6)}

        counted = False

        def count() -> None:
            nonlocal counted
            if not counted:
                counted = True
                self.metrics.requests.labels(route, str(status[0])).inc()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", fields["id"].encode())]
            elif not message.get("more_body"):
                count()  # before the client has the end of the reply, so that /metrics never lags behind
            await send(message)

        try:
            await self._guarded(scope, receive, watched)
        except asyncio.CancelledError:
            status[0] = 499  # the client went away
            raise
        finally:
            count()
            seconds = round(time.perf_counter() - start, 4)
            line = {"route": route, "status": status[0], "seconds": seconds, **fields}
            log.info("request", extra={"fields": line})

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
                if self._limit is None:
                    self._limit = ConcurrencyLimit(
                        self.settings.concurrency, self.settings.queue, self.metrics
                    )
                async with self._limit:
                    await self.app(scope, receive, noting)
            else:
                await self.app(scope, receive, noting)
        except Exception as error:
            self.metrics.errors.labels(error_kind(error)).inc()
            if not isinstance(error, Problem):
                log.error("failure", exc_info=error, extra={"fields": scope[LOG_FIELDS]})
            if started:
                raise
            await error_response(error)(scope, receive, send)

    def _route(self, scope: Scope) -> str:
        """The label for counters: unknown paths share one, so that they cannot fill the table."""
        path = str(scope["path"])
        return path if path in self.routes else "page" if path.startswith("/page/") else "other"

    def _admit(self, scope: Scope) -> None:
        if not self._keys:
            return
        sent = [value for value in (_header(scope, b"x-semtropy-key"), bearer(scope)) if value]
        # Every key is compared in full, so that the time taken reveals nothing.
        matches = [hmac.compare_digest(value.encode(), key) for value in sent for key in self._keys]
        if not any(matches):
            raise Problem(401, "this gateway needs a key: Authorization: Bearer KEY", "authentication_error")

    async def _whole_body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body within its limit; the application then receives it in one piece."""
        upload = scope["path"] in UPLOADS
        limit = self.settings.max_upload if upload else self.settings.max_body
        too_large = Problem(413, f"the request is larger than the {limit} bytes allowed")
        declared = _header(scope, b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > limit:
            raise too_large
        wanted = "application/octet-stream" if upload else "application/json"
        if (_header(scope, b"content-type") or "").partition(";")[0].strip().lower() != wanted:
            # A page of another site can send forms and plain text without asking, but not these types.
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
        return _receive_once(b"".join(parts), receive)


def _receive_once(body: bytes, receive: Receive) -> Receive:
    sent_already = False

    async def again() -> dict[str, Any]:
        nonlocal sent_already
        if sent_already:
            return dict(await receive())
        sent_already = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def bearer(scope: Scope) -> str | None:
    """The key in the Authorization header."""
    scheme, _, key = (_header(scope, b"authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None

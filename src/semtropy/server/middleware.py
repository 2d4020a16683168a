"""ASGI middleware before every route: host names, keys, size and time limits, the queue, a log line and a count."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ..tracing import TRACE_HEADERS, incoming_trace
from .errors import Problem, error_kind, error_response
from .settings import allowed_hosts
from .telemetry import LOG_FIELDS, log

if TYPE_CHECKING:
    from fastapi import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .settings import Settings
    from .telemetry import Metrics


LOADING = ("/api/about", "/api/traffic")
"""Routes that need nothing that is loaded: the page asks for them first."""

TENANT_HEADERS = ("openai-organization", "openai-project", "openai-beta")
"""Headers that decide on whose behalf and how the upstream answers: sent with the answer and with every sample."""

DRAIN_BYTES, DRAIN_SECONDS = 65_536, 1.0
"""How much of the body of a refused request is read before the reply."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a request is made.

    key       the client's own key for the upstream; a key of the gateway is never passed on
    identity  everything that distinguishes this client from others; part of the cache key
    headers   the tenant headers that the client sent
    """

    key: str | None
    identity: tuple[str | None, ...]
    headers: dict[str, str]


def caller_of(scope: Scope, settings: Settings) -> Caller:
    """Read the caller from the headers of a request."""
    bearer = _bearer(scope)
    own = bearer is not None and _has_key([bearer], (*settings.keys, *settings.operator_keys))
    headers = _headers(scope, TENANT_HEADERS)
    identity = (bearer, _header(scope, b"x-semtropy-key"), *map(headers.get, TENANT_HEADERS))
    return Caller(None if own else bearer, identity, headers)


def is_operator(scope: Scope, settings: Settings) -> bool:
    """Whether a request comes from the operator: with one of `operator_keys`; without such keys, on this machine."""
    if not settings.operator_keys:
        return settings.is_private
    return _has_key(_sent_keys(scope), settings.operator_keys)


class ConcurrencyLimit:
    """Lets `room` requests run and `queue` wait; more are refused with 429."""

    def __init__(self, room: int, queue: int, metrics: Metrics) -> None:
        self._slots = asyncio.Semaphore(room)
        self._queue, self._waiting, self._metrics = queue, 0, metrics

    async def __aenter__(self) -> None:
        if self._slots.locked():
            if self._waiting >= self._queue:
                raise _too_many()
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

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        metrics: Metrics,
        routes: frozenset[str],
        check_ready: Callable[[], None],
    ) -> None:
        self.app, self.settings, self.metrics, self.routes = app, settings, metrics, routes
        self._keys = (*settings.keys, *settings.operator_keys) if settings.keys else ()
        self._hosts, self._check_ready = allowed_hosts(settings), check_ready
        self._limit: ConcurrencyLimit | None = None
        self._reading = 0  # bodies that are being received

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
        started, asked, whole, body = False, False, scope["method"] in ("GET", "HEAD"), receive

        async def noting(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start" and not whole:
                # The rest of the body is not wanted: without this the client could go on sending it.
                message["headers"] = [*message.get("headers", []), (b"connection", b"close")]
            started = True
            await send(message)

        async def receiving() -> Message:
            nonlocal asked, whole
            asked = True
            message = await receive()
            whole = whole or not message.get("more_body", False)
            return message

        try:
            self._check_host(scope)
            if scope["path"].startswith(("/v1/", "/api/")):
                self._check_key(scope)
                if scope["path"] not in LOADING:
                    self._check_ready()
                if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
                    body = await self._checked_body(scope, receiving)
                if self._limit is None:
                    self._limit = ConcurrencyLimit(
                        self.settings.concurrency, self.settings.queue, self.metrics
                    )
                async with self._limit:
                    with incoming_trace(_headers(scope, TRACE_HEADERS)):
                        await self.app(scope, body, noting)
            else:
                await self.app(scope, body, noting)
        except Exception as error:
            self.metrics.errors.labels(error_kind(error)).inc()
            if not isinstance(error, Problem):
                log.error("failure", exc_info=error, extra={"fields": scope[LOG_FIELDS]})
            if started:
                raise
            if not (asked or whole):
                await _drain(receiving)
            await error_response(error)(scope, receive, noting)

    def _route(self, scope: Scope) -> str:
        """The label for counters: unknown paths share one, so that they cannot fill the table."""
        path = str(scope["path"])
        return path if path in self.routes else "page" if path.startswith("/page/") else "other"

    def _check_host(self, scope: Scope) -> None:
        if self._hosts is None:
            return
        host = (_header(scope, b"host") or "").strip().lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in self._hosts:
            raise Problem(421, "this host name is not served here: add it to the setting hosts")

    def _check_key(self, scope: Scope) -> None:
        if self._keys and not _has_key(_sent_keys(scope), self._keys):
            raise Problem(401, "this gateway needs a key: Authorization: Bearer KEY", "authentication_error")

    async def _checked_body(self, scope: Scope, receive: Receive) -> Receive:
        """Check type and declared size; read the body, which the application then receives in one piece."""
        limit = self.settings.max_body
        declared = _header(scope, b"content-length") or ""
        if declared.isascii() and declared.isdigit() and (len(declared) > 15 or int(declared) > limit):
            raise too_large(limit)
        sent = (_header(scope, b"content-type") or "").partition(";")[0].strip().lower()
        if sent != "application/json" and not self._passes_unread(scope):
            # A page of another site can send forms and plain text without asking, but not this type.
            raise Problem(415, "the content type must be application/json")
        if self._reading >= self.settings.concurrency + self.settings.queue:
            raise _too_many()
        self._reading += 1
        try:
            async with asyncio.timeout(self.settings.client_timeout):
                return _receive_once(await _read_body(receive, limit), receive)
        except TimeoutError:
            raise Problem(408, "the request did not arrive in time") from None
        finally:
            self._reading -= 1

    def _passes_unread(self, scope: Scope) -> bool:
        """Whether a body of another type is for the upstream alone: no route of ours, and sent with a key.

        A page of another site can send a form, but no header with a key; a DELETE it cannot send at all.
        """
        if not scope["path"].startswith("/v1/") or scope["path"] in self.routes:
            return False
        return scope["method"] == "DELETE" or bool(_bearer(scope) or _header(scope, b"x-semtropy-key"))


async def _drain(receive: Receive) -> None:
    """Read what is left of the body of a refused request, so that the client sees why it was refused.

    Closing a connection with bytes unread resets it, and the reply may be lost. A large or slow body is not waited for.
    """
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while size < DRAIN_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


async def _read_body(receive: Receive, limit: int) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the client went away")
        body += message.get("body", b"")
        if len(body) > limit:
            raise too_large(limit)
        more = message.get("more_body", False)
    return bytes(body)


def _receive_once(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body first, and then what comes after it."""
    sent = False

    async def again() -> dict[str, Any]:
        nonlocal sent
        if sent:
            return dict(await receive())
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """The result of `work`, which is cancelled when the client disconnects first."""
    task = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Problem(499, "the client went away")
        return task.result()
    finally:
        watching.cancel()
        if not task.done():
            task.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def too_large(limit: int) -> Problem:
    """The refusal of a body above its limit."""
    return Problem(413, f"the request is larger than the {limit} bytes allowed")


def _too_many() -> Problem:
    return Problem(429, "too many requests are waiting: try again in a moment", "rate_limit_error")


def _has_key(sent: Sequence[str], keys: Sequence[str]) -> bool:
    """Whether one of the keys was sent. Each is compared in full, so that the time taken reveals nothing."""
    matches = [hmac.compare_digest(value.encode(), key.encode()) for value in sent for key in keys]
    return any(matches)


def _sent_keys(scope: Scope) -> list[str]:
    return [value for value in (_header(scope, b"x-semtropy-key"), _bearer(scope)) if value]


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def _headers(scope: Scope, names: Sequence[str]) -> dict[str, str]:
    """Those of the headers that were sent."""
    return {name: value for name in names if (value := _header(scope, name.encode())) is not None}


def _bearer(scope: Scope) -> str | None:
    """The key in the Authorization header."""
    scheme, _, key = (_header(scope, b"authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None

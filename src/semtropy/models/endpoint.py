"""A JSON client for HTTP endpoints: bounded concurrency, timeouts, retries with back-off, typed errors."""

from __future__ import annotations

import asyncio
import copy
import email.utils
import json
import logging
import random
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from ..errors import (
    BadKey,
    BadReply,
    InputError,
    MissingExtra,
    ModelError,
    ModelTimeout,
    RateLimited,
    UnknownModel,
)
from .address import authorization, checked_address, checked_key, masked, passwords

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    _Clients = WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, asyncio.Semaphore]]

__all__ = ["Endpoint", "Refused", "Retry", "error_said"]

MAX_REPLY = 64_000_000
"""The longest reply that is read, in bytes after unpacking."""

LONGEST = 10.0
"""How long a reply that keeps coming in small pieces may take, in multiples of `timeout`, which is that of a pause."""

PATIENCE = 2.0
"""Seconds after which retries are logged as warnings, which Python prints unless logging is set up otherwise."""

UNREACHED = 2
"""Retries of an address that never accepted a connection: it is probably mistyped, or nothing is running there."""

log = logging.getLogger(__name__)

_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}


class Refused(ModelError):
    """The endpoint refused the request itself (400, 413, 422); `message` and `param` say why."""

    def __init__(self, status: int, message: str, param: str | None = None) -> None:
        self.status, self.message, self.param = status, message, param
        super().__init__(f"the endpoint refused the request ({status}): {message}")


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a request that failed for a moment is repeated, and after what wait.

    times    the number of retries
    base     seconds before the first retry, doubled for each further one; a random part of up to one half is left out
    longest  the longest wait in seconds

    A wait that the endpoint asks for (`Retry-After`) is kept instead.

    >>> [Retry(base=1.0).wait(attempt, None, luck=1.0) for attempt in range(4)]
    [1.0, 2.0, 4.0, 8.0]
    >>> Retry().wait(0, 7.5, luck=0.0)
    7.5
    """

    times: int = 5
    base: float = 0.5
    longest: float = 30.0

    def wait(self, attempt: int, asked: float | None, *, luck: float) -> float:
        """Seconds before the next try: what the endpoint asked for (`Retry-After`), or the back-off with jitter."""
        if asked is not None:
            return asked
        return min(self.longest, self.base * 2.0**attempt) * (0.5 + 0.5 * luck)


class Endpoint:
    """POSTs JSON to paths under a base URL, with at most `concurrency` requests at once per event loop."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        retry: Retry | None = None,
        concurrency: int = 8,
        headers: dict[str, str] | None = None,
        label: str | None = None,
        max_reply: int = MAX_REPLY,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        if concurrency < 1 or not timeout > 0:
            raise InputError(f"concurrency is {concurrency}, timeout is {timeout}: both must be above 0")
        self.base_url, self._user = checked_address(base_url)
        self.timeout, self.retry, self.concurrency = timeout, retry or Retry(), concurrency
        self.label, self.max_reply = label or self.base_url, max_reply  # `label` names the endpoint in errors
        self._hidden = label is not None
        self._key, self._headers, self._sleep = checked_key(api_key), headers or {}, sleep
        self._extra_headers: dict[str, str] = {}
        self._reached = threading.Event()  # whether this address ever accepted a connection
        self._open: _Clients = WeakKeyDictionary()
        self._users: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
        weakref.finalize(self, _close_all, self._open).atexit = False

    def with_key(self, api_key: str | None, headers: dict[str, str] | None = None) -> Endpoint:
        """The same endpoint, connections and limits with another key and further headers."""
        other = copy.copy(self)
        other._key, other._extra_headers = checked_key(api_key), headers or {}
        return other

    def _request_headers(self) -> dict[str, bytes]:
        headers = dict(self._extra_headers)
        if self._key or self._user:
            headers["Authorization"] = authorization(self._user) if self._user else f"Bearer {self._key}"
        headers["Content-Type"] = "application/json"
        return {name: value.encode("latin-1", "replace") for name, value in headers.items()}

    async def post(self, path: str, body: dict[str, Any], *, retries: int | None = None) -> dict[str, Any]:
        """Post `body` and return the JSON object of the reply; transient failures are retried, others raised."""
        attempt, start = 0, time.monotonic()
        times = self.retry.times if retries is None else retries
        while True:
            try:
                return await self._once(path, body)
            except _Transient as trouble:
                asked = trouble.asked
                if trouble.refused and not self._reached.is_set():
                    times = min(times, UNREACHED)
                if attempt >= times or (asked is not None and asked > self.retry.longest):
                    raise trouble.error from trouble.__cause__
                wait = self.retry.wait(attempt, asked, luck=random.random())
                what = trouble.what
            attempt += 1
            # Someone who waits for seconds should know why; what the endpoint said may hold a prompt, and is left out.
            level = logging.WARNING if time.monotonic() + wait - start >= PATIENCE else logging.INFO
            log.log(
                level, "%s: %s, trying again in %.1f s (%d of %d)", self.label, what, wait, attempt, times
            )
            await self._sleep(wait)

    async def _once(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        import httpx

        client, slots = self._client()
        try:
            async with slots, asyncio.timeout(LONGEST * self.timeout):
                reply = await self._posted(client, path, body)
            self._reached.set()
        except TimeoutError as error:
            raise ModelTimeout(
                f"{self.label}: the reply did not end within {LONGEST * self.timeout:g} s"
            ) from error
        except httpx.TimeoutException as error:
            late = f"no reply in {self.timeout:g} s"
            raise _Transient(ModelTimeout(f"{self.label}: {late}"), what=late) from error
        except httpx.DecodingError as error:
            raise _Transient(
                BadReply(f"{self.label}: the reply cannot be unpacked"), what="a broken reply"
            ) from error
        except httpx.TransportError as error:
            # The system's message may name the host, which `label` hides.
            detail = type(error).__name__ if self._hidden else self.masked(str(error) or repr(error))
            refused = isinstance(error, httpx.ConnectError)
            advice = (
                ". Is it running, and is the address right?" if refused and not self._reached.is_set() else ""
            )
            lost = ModelError(f"{self.label}: cannot be reached: {detail}{advice}")
            raise _Transient(lost, what="it cannot be reached", refused=refused) from error
        except (httpx.InvalidURL, httpx.RequestError, UnicodeError, ExceptionGroup) as error:
            detail = self.masked(str(error))
            raise InputError(f"{self.label}: not an address that can be asked: {detail}") from error
        if reply.status_code != 200:
            raise self._failure(reply)
        try:
            data = reply.json()
        except (ValueError, RecursionError) as error:
            broken = BadReply(f"{self.label}: the reply is not JSON: {error}")
            raise _Transient(broken, what="a broken reply") from error
        if not isinstance(data, dict):
            raise _Transient(BadReply(f"{self.label}: the reply is not a JSON object"), what="a broken reply")
        return data

    async def _posted(self, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> httpx.Response:
        """The reply with its body read, up to `max_reply` bytes."""
        import httpx

        try:
            content = json.dumps(body, allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the request cannot be written as JSON: {error}") from error
        url, headers = f"{self.base_url}{path}", self._request_headers()
        async with client.stream("POST", url, content=content, headers=headers) as reply:  # type: ignore[arg-type]
            parts, size = [], 0
            async for part in reply.aiter_bytes():
                size += len(part)
                if size > self.max_reply:
                    raise BadReply(f"{self.label}: the reply is longer than {self.max_reply} bytes")
                parts.append(part)
        packed = (b"content-encoding", b"content-length", b"transfer-encoding")
        kept = [(name, value) for name, value in reply.headers.raw if name.lower() not in packed]
        return httpx.Response(reply.status_code, headers=kept, content=b"".join(parts))

    def _client(self) -> tuple[httpx.AsyncClient, asyncio.Semaphore]:
        """The client and semaphore of the running event loop, to which connections belong."""
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra("httpx", extra="local") from error
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            timeout = httpx.Timeout(self.timeout, connect=min(10.0, self.timeout))
            limits = httpx.Limits(max_connections=self.concurrency)
            client = httpx.AsyncClient(headers=self._headers, timeout=timeout, limits=limits)
            self._open[loop] = (client, asyncio.Semaphore(self.concurrency))
        return self._open[loop]

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        held = self._open.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[0].aclose()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._users[loop] = self._users.get(loop, 0) + 1
        return self

    async def __aexit__(self, *trouble: object) -> None:
        """Close the connections when the last user in this event loop leaves."""
        loop = asyncio.get_running_loop()
        self._users[loop] -= 1
        if self._users[loop] == 0:
            await self.aclose()

    def _failure(self, reply: httpx.Response) -> Exception:
        status = reply.status_code
        message, param, code = self._said(reply)
        if status in (401, 403):
            return BadKey(
                f"{self.label} refused the key ({status}): {message}; set OPENAI_API_KEY or api_key="
            )
        if status == 404:
            return UnknownModel(
                f"{self.label} ({status}): {message}; check the model's name and the base URL"
            )
        if status == 429 and code == "insufficient_quota":
            return RateLimited(f"{self.label}: the quota is used up: {message}")
        if status == 429:
            limited = RateLimited(f"{self.label}: too many requests: {message}")
            return _Transient(limited, _retry_after(reply), what="too many requests")
        if status in _TRANSIENT:
            failed = ModelError(f"{self.label} failed ({status}): {message}")
            return _Transient(failed, _retry_after(reply), what=f"it failed ({status})")
        if status in (400, 413, 422):
            return Refused(status, message, param)
        return ModelError(f"{self.label} answered {status}: {message}")

    def _said(self, reply: httpx.Response) -> tuple[str, str | None, Any]:
        """The endpoint's message with the key masked, and the parameter and code it names."""
        try:
            data = reply.json()
            said = error_said(data[0] if isinstance(data, list) else data)  # Google sends a list
        except (ValueError, LookupError, RecursionError):
            said = None, None, None
        # The encoding that a reply names may be any of Python's codecs, those that unpack included.
        page = reply.content[:1200].decode("utf-8", "replace")[:300].strip()
        message, param, code = said
        return self.masked(message or page or reply.reason_phrase), param, code

    def masked(self, message: str) -> str:
        """The message on one line, shortened, without anything secret that is sent."""
        sent = [*passwords(self._user), *self._headers.values(), *self._extra_headers.values()]
        return masked(message, [*sent, self._key or ""])


def error_said(data: Any) -> tuple[str | None, str | None, Any]:
    """The message of an error in a reply, and the parameter and code it names; None where there is none.

    >>> error_said({"error": {"message": "no such model", "param": "model"}})
    ('no such model', 'model', None)
    >>> error_said({"detail": "Not Found"})
    ('Not Found', None, None)
    """
    if not isinstance(data, dict):
        return None, None, None
    error = data.get("error") or data.get("detail") or data.get("message")
    if not isinstance(error, dict):
        return None if error is None else str(error), None, None
    param = error.get("param")
    return str(error.get("message") or error), param if isinstance(param, str) else None, error.get("code")


def _close_all(clients: _Clients) -> None:
    """Close the clients of an endpoint that was garbage collected, in event loops that still run."""
    for loop, (client, _) in list(clients.items()):
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(client.aclose(), loop)


class _Transient(Exception):
    """A failure to retry: `error` is raised once retries run out, `asked` is the endpoint's `Retry-After`.

    `what` is the failure in a few words, none of them the endpoint's; `refused` where there was no connection.
    """

    def __init__(
        self, error: ModelError, asked: float | None = None, *, what: str, refused: bool = False
    ) -> None:
        self.error, self.asked, self.what, self.refused = error, asked, what, refused
        super().__init__(str(error))


def _retry_after(reply: httpx.Response) -> float | None:
    """The `Retry-After` header in seconds, given there as a number or a date."""
    value = reply.headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None

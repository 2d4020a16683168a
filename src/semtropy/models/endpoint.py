"""A JSON client for HTTP endpoints: bounded concurrency, timeouts, retries with back-off, typed errors."""

from __future__ import annotations

import asyncio
import base64
import copy
import email.utils
import json
import logging
import random
import re
import threading
import time
import weakref
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from ..errors import (
    BadKey,
    BadReply,
    InputError,
    ModelError,
    ModelTimeout,
    RateLimited,
    UnknownModel,
    needs,
    one_line,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx


# The address of an endpoint, and what must not be shown of it or of the keys sent there.


SHORTEST = 6  # characters of a secret; shorter ones would mask parts of words


def checked_address(base_url: str) -> tuple[str, str]:
    """The address without user name and password, and these as they stand in it ("" without).

    The path of a route is left out, and an address without a path gets the usual one.

    >>> checked_address("https://me:secret@localhost:8000/v1/")
    ('https://localhost:8000/v1', 'me:secret')
    >>> checked_address("http://localhost:8000")[0], checked_address(" http://localhost:8000/v1/chat/completions ")[0]
    ('http://localhost:8000/v1', 'http://localhost:8000/v1')
    """
    if not isinstance(base_url, str):
        raise InputError(
            f"base_url is of type {type(base_url).__name__}: give an address, such as http://host/v1"
        )
    base_url = base_url.strip()
    shown = shown_address(base_url)
    scheme, _, rest = base_url.partition("://")
    if scheme not in ("http", "https"):
        raise InputError(f"base_url is {shown!r}: it must start with http:// or https://")
    if "?" in rest or "#" in rest:
        shown = re.split("[?#]", shown)[0]
        raise InputError(
            f"base_url is {shown!r} and more: leave out what begins with ? or #; api_key= carries a key"
        )
    try:
        parts = urlsplit(base_url)
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # a port out of range, or half an IPv6 address
        known = False
    if not known:
        raise InputError(f"base_url is {shown!r}: expected http://HOST:PORT/PATH")
    user, _, place = parts.netloc.rpartition("@")
    path = re.sub(r"/(chat/completions|completions|responses)$", "", parts.path.rstrip("/"))
    return f"{scheme}://{place}{path or '/v1'}", user


_ORDINARY = re.compile(r"v\d+[a-z]*\d*|[a-z]{1,12}(-[a-z]{1,12})?|")


def shown_address(address: str) -> str:
    """The address without user name and password, and without the parts of its path that may be a token.

    >>> shown_address("https://me:secret@host/openai/v1"), shown_address("https://host/T0k3n/v1beta")
    ('https://host/openai/v1', 'https://host/***/v1beta')
    """
    scheme, mark, rest = re.sub(r"[^/@]*@", "", address).partition("://")
    place, *path = rest.split("/")
    shown = (part if _ORDINARY.fullmatch(re.split("[?#]", part)[0]) else "***" for part in path)
    return f"{scheme}{mark}{'/'.join((place, *shown))}"


def authorization(user: str) -> str:
    """The header for a user name and password as they stand in an address.

    >>> authorization("me:p%40ss")
    'Basic bWU6cEBzcw=='
    """
    return "Basic " + base64.b64encode(unquote(user).encode()).decode()


def checked_key(api_key: str | None) -> str | None:
    """The key without the white space around it, if a header can carry it; otherwise the error would show it."""
    if api_key is not None and not isinstance(api_key, str):
        raise InputError(f"api_key is of type {type(api_key).__name__}: give a text")
    key = api_key.strip() if api_key else None
    if key and not (key.isascii() and key.isprintable()):
        raise InputError("the API key holds characters that a header cannot carry: was it copied whole?")
    return key or None


def masked(message: str, secrets: Iterable[str]) -> str:
    """The message on one line, shortened, without the secrets.

    >>> masked("bad key abc-123\\nfor you", ["abc-123"])
    'bad key *** for you'
    """
    known = sorted({each for each in secrets if len(each) >= SHORTEST}, key=len, reverse=True)
    line = one_line(message[:5000], 5000)
    for secret in known:
        line = line.replace(secret, "***")
    bare = line.replace(" ", "")
    if any(secret.replace(" ", "") in bare for secret in known):  # in pieces
        return "(not shown: the message contains the key)"
    return line[:500]


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


class BrokenCoding(ValueError):
    """A body that does not follow the Content-Encoding of its reply, or one that is not read here."""


CODINGS = (None, "", "identity", "gzip", "deflate")
"""Content-Encodings that are read: one at a time, as a few hundred bytes packed three times are gigabytes."""


async def unpacked(chunks: AsyncIterator[bytes], coding: str | None) -> AsyncIterator[bytes]:
    """A body without its Content-Encoding, in pieces of at most 64 kB; one that is broken raises BrokenCoding."""
    if coding not in CODINGS:
        raise BrokenCoding("its encoding was not asked for")
    if coding not in ("gzip", "deflate"):
        async for chunk in chunks:
            yield chunk
        return
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, whichever the header shows
    try:
        async for chunk in chunks:
            while chunk:
                yield unpacker.decompress(chunk, 1 << 16)
                chunk = unpacker.unconsumed_tail
    except zlib.error:
        raise BrokenCoding("it cannot be unpacked") from None
    if not unpacker.eof:
        raise BrokenCoding("it ended too early")


MOST_VALUES, MOST_LISTS = 4_000_000, 1_000_000
"""Values, and lists and objects, in the JSON of a reply. 64 answers of 4,096 tokens with log-probabilities have
2.4 million and 0.8 million. Without these bounds 64 MB of `{},{},` would take 3 GB."""


def parsed_reply(raw: bytes) -> Any:
    """The JSON of a reply; ValueError where it is none, or has more values than any reply needs.

    >>> parsed_reply(b'{"a": 1}')
    {'a': 1}
    >>> parsed_reply(b"[" + b"{}," * 1_000_000 + b"0]")
    Traceback (most recent call last):
    ...
    ValueError: it has more than 1000000 lists and objects
    """
    if raw.count(b"{") + raw.count(b"[") > MOST_LISTS:
        raise ValueError(f"it has more than {MOST_LISTS} lists and objects")
    if raw.count(b",") > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES} values")
    return json.loads(raw)


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
        self.label, self.max_reply = label or shown_address(self.base_url), max_reply  # `label` is for errors
        self._hidden = label is not None
        self._key, self._headers, self._sleep = checked_key(api_key), headers or {}, sleep
        self._extra_headers: dict[str, str] = {}
        self._reached = threading.Event()  # whether this address ever accepted a connection
        self._open = _PerLoop()
        self._users: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = weakref.WeakKeyDictionary()

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

        client, slots, *_ = await self._client()
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
        except BrokenCoding as error:
            raise _Transient(BadReply(f"{self.label}: the reply: {error}"), what="a broken reply") from error
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
            data = parsed_reply(reply.content)
        except (ValueError, RecursionError) as error:
            if reply.content.lstrip()[:1] == b"<":  # asking again would give the same page
                raise BadReply(
                    f"{self.label}: the reply is a web page, not JSON: is the base URL that of the API, such as "
                    "http://HOST:PORT/v1?"
                ) from error
            why = f"not JSON: {error}" if reply.content.strip() else "empty"
            broken = BadReply(f"{self.label}: the reply is {why}")
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
            coding = reply.headers.get("content-encoding", "").strip().lower()
            async for part in unpacked(reply.aiter_raw(), coding):
                size += len(part)
                if size > self.max_reply:
                    raise BadReply(f"{self.label}: the reply is longer than {self.max_reply} bytes")
                parts.append(part)
        packed = (b"content-encoding", b"content-length", b"transfer-encoding")
        kept = [(name, value) for name, value in reply.headers.raw if name.lower() not in packed]
        return httpx.Response(reply.status_code, headers=kept, content=b"".join(parts))

    async def _client(self) -> _Connections:
        """The connections of the running event loop, which are closed when it ends."""
        with needs("httpx", extra="local"):
            import httpx
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            timeout = httpx.Timeout(self.timeout, connect=min(10.0, self.timeout))
            limits = httpx.Limits(max_connections=self.concurrency)
            headers = {"Accept-Encoding": "gzip", **self._headers}
            client = httpx.AsyncClient(headers=headers, timeout=timeout, limits=limits)
            for ended in [each for each in self._open if each.is_closed()]:
                self._open.pop(ended).unused.detach()
            closing = _closing(client)
            unused = weakref.finalize(self._open, _close_unused, loop, closing)
            unused.atexit = False
            self._open[loop] = _Connections(client, asyncio.Semaphore(self.concurrency), closing, unused)
            await anext(closing)
        return self._open[loop]

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        held = self._open.pop(asyncio.get_running_loop(), None)
        if held is not None:
            held.unused.detach()
            await held.closing.aclose()

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
        said, param, code = self._said(reply)
        message = said.rstrip(". ")
        if status in (401, 403):
            return BadKey(
                f"{self.label} refused the key ({status}): {message}; set OPENAI_API_KEY or api_key="
            )
        if status == 404:
            return UnknownModel(
                f"{self.label} ({status}): {message}; check the model's name and the base URL"
                + ("" if re.search(r"/v\d", self.label) else ", which usually ends in /v1")
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
            return Refused(status, said, param)
        return ModelError(f"{self.label} answered {status}: {message}")

    def _said(self, reply: httpx.Response) -> tuple[str, str | None, Any]:
        """The endpoint's message with the key masked, and the parameter and code it names."""
        try:
            data = parsed_reply(reply.content)
            said = error_said(data[0] if isinstance(data, list) else data)  # Google sends a list
        except (ValueError, LookupError, RecursionError):
            said = None, None, None
        # The encoding that a reply names may be any of Python's codecs, those that unpack included.
        page = reply.content[:1200].decode("utf-8", "replace")[:300].strip()
        message, param, code = said
        return self.masked(message or page or reply.reason_phrase), param, code

    def masked(self, message: str) -> str:
        """The message on one line, shortened, without anything secret that is sent."""
        password = self._user.partition(":")[2]
        sent = [password, unquote(password), self._user, unquote(self._user)] if password else []
        sent += [part for part in urlsplit(self.base_url).path.split("/") if not _ORDINARY.fullmatch(part)]
        sent += [*self._headers.values(), *self._extra_headers.values(), self._key or ""]
        return masked(message, sent)


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


class _Connections(NamedTuple):
    """What an endpoint has open in one event loop."""

    client: httpx.AsyncClient
    slots: asyncio.Semaphore
    closing: AsyncGenerator[None]
    unused: weakref.finalize[..., _PerLoop]


class _PerLoop(dict[asyncio.AbstractEventLoop, _Connections]):
    """What an endpoint has open in each event loop, closed there once nobody holds the endpoint."""


async def _closing(client: httpx.AsyncClient) -> AsyncGenerator[None]:
    """Closes the client when it is closed itself, which asyncio does before a loop ends."""
    try:
        yield
    finally:
        await client.aclose()


def _close_unused(loop: asyncio.AbstractEventLoop, closing: AsyncGenerator[None]) -> None:
    """Close, in their own event loop, the connections of an endpoint that nobody holds any more.

    As the finalizer holds them, they are not collected together with the endpoint, which would leave them open.
    """
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.create_task, closing.aclose())


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

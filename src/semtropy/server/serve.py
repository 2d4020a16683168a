"""Serving with uvicorn: one process or several, JSON logs, graceful shutdown."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import sys
import tempfile
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from ..errors import SemtropyError
from ..files import safe_children
from ..models import check_name
from ..models.weights import cache_folder
from .instruments import Instruments
from .telemetry import log, logging_config

if TYPE_CHECKING:
    from types import FrameType

    from fastapi import FastAPI

    from .settings import Settings


# uvicorn's HTTP protocol with limits: head size, time to send a head, time to read a reply, open connections.
#
# uvicorn itself bounds none of these: a head of any size, sent a byte at a time, is kept in memory.


_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration with the limits of `LimitedProtocol`, which are settings."""

    def __init__(self, *arguments: Any, limits: Settings, **options: Any) -> None:
        super().__init__(*arguments, **(options | {"http": LimitedProtocol, "ws": "none"}))
        self.limits = limits


class LimitedProtocol(HttpToolsProtocol):
    """One connection. `_head` counts the bytes of a request head, or of trailers, that are not complete yet."""

    _in_head = True
    _body_came = False  # in the bytes received last
    _after_chunk_size = False  # of a chunk that has nothing so far: after the last one trailers follow

    def __init__(self, config: ServerConfig, *arguments: Any, **options: Any) -> None:
        super().__init__(config, *arguments, **options)
        self._limits, self._head = config.limits, 0
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.max_connections:
            self._refuse(b"503 Service Unavailable", b"too many connections")
        else:
            self._timer = self.loop.call_later(self._limits.client_timeout, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        for timer in (self._writing, self._closing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._body_came = False
        super().data_received(data)
        if not self._reading_head():
            self._stop_timer()
            # Trailers, the lines after the last chunk of a body, are a head too; the time for them is that of the body.
            in_trailers = self._after_chunk_size and not self._body_came
            self._head = self._head + len(data) if in_trailers else 0
            if self._head > self._limits.max_header:
                self._refuse(b"431 Request Header Fields Too Large", b"the trailers are too large")
            return
        self._head += len(data)
        if self._head > self._limits.max_header:
            self._refuse(b"431 Request Header Fields Too Large", b"the request head is too large")
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(self._limits.client_timeout, self._too_slow)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # else a trailer: it comes after the headers have been checked, and is not read
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._after_chunk_size = True

    def on_chunk_complete(self) -> None:
        self._after_chunk_size = False

    def on_body(self, body: bytes) -> None:
        self._after_chunk_size, self._body_came = False, True
        super().on_body(body)

    def _reading_head(self) -> bool:
        # Between requests nothing but a head may come, also where the parser drops it (blank lines, a late body).
        return self._in_head or self.cycle is None or self.cycle.response_complete

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(self._limits.client_timeout, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._abort_in_time()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_in_time()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        self._abort_in_time()

    def _abort_in_time(self) -> None:
        """Bound the end of a connection: closing it waits until the client has read what was sent."""
        if self.transport.is_closing() and self._closing is None:
            self._closing = self.loop.call_later(self._limits.client_timeout, self._abort)

    def _abort(self) -> None:
        """Cut the connection off at once: else the system waits for a client that reads nothing."""
        known = self.transport.get_extra_info("socket")
        if known is not None:
            known.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    def _too_slow(self) -> None:
        self._timer = None
        if self._head:
            self._refuse(b"408 Request Timeout", b"the request did not arrive in time")
        else:
            self._abort()

    def _refuse(self, status: bytes, message: bytes) -> None:
        """Answer outside any request and close; nothing more is read."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self._abort()  # inside a reply there is no place for another
            return
        self.transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (status, len(message), message)
        )
        self.transport.close()
        self._abort_in_time()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _application(settings: Settings) -> FastAPI:
    """Create the application in each worker, after the folder for shared counters is set."""
    from .app import create_app

    return create_app(settings)


def _listening(settings: Settings) -> socket.socket:
    """A socket for all workers, marked as TCP: only then does asyncio send small packets at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((settings.host, settings.port))
    bound.set_inheritable(True)
    host, port = bound.getsockname()[:2]
    log.info(f"listening on http://{host}:{port}", extra={"fields": {"workers": settings.workers}})
    return bound


def _allow_files(count: int) -> None:
    """Raise the limit on open files to `count` where the system lets us: each connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _learned_folder() -> str:
    """Where learned priors are kept if nothing else is set: in the cache folder, if there is one."""
    try:
        return str(cache_folder() / "learned")
    except SemtropyError:
        return "none"


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def serve(settings: Settings) -> int:
    """Serve until a signal to stop; then requests have `grace_seconds` to finish."""
    Instruments(settings).load_files()  # what is wrong with them is said now, not to the first client
    for name in (settings.model if settings.upstream is None else None, settings.second):
        if name is not None:
            check_name(name)
    settings = replace(settings, learned=settings.learned or _learned_folder())
    config = ServerConfig(
        partial(_application, settings),
        limits=settings,
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_config=logging_config(settings.log_level),
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        # Longer than clients and load balancers keep idle connections: this side must not close first.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
    )
    _allow_files(2 * settings.max_connections + 1000)
    try:
        if settings.workers == 1:
            # After an orderly end uvicorn raises the signal again: with this handler the exit status is then 0.
            signal.signal(signal.SIGTERM, _exit)
            uvicorn.Server(config).run(sockets=[_listening(settings)])
            return 0
        with safe_children(), tempfile.TemporaryDirectory(prefix="semtropy-metrics-") as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            Multiprocess(config, sockets=[_listening(settings)]).run()
    except OSError as error:
        raise SemtropyError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}"
        ) from None
    return 0

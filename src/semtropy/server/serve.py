"""Serving with uvicorn: one process or several, JSON logs, graceful shutdown."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..errors import InputError
from .connections import ConnectionLimits, ServerConfig
from .telemetry import log, logging_config

if TYPE_CHECKING:
    from types import FrameType

    from fastapi import FastAPI

    from .settings import Settings

__all__ = ["serve"]


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


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def serve(settings: Settings) -> int:
    """Serve until a signal to stop; then requests have `grace_seconds` to finish."""
    config = ServerConfig(
        partial(_application, settings),
        limits=ConnectionLimits.of(settings),
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
            uvicorn.Server(config).run()
            return 0
        with tempfile.TemporaryDirectory(prefix="semtropy-metrics-") as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            Multiprocess(config, sockets=[_listening(settings)]).run()
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}"
        ) from None
    return 0

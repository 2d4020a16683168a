"""Serving with uvicorn: one process or several, JSON logs, and an end that lets requests finish."""

from __future__ import annotations

import os
import socket
import tempfile
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..errors import InputError
from .logs import configuration, log

if TYPE_CHECKING:
    from fastapi import FastAPI

    from .settings import Settings

__all__ = ["serve"]


def application(settings: Settings) -> FastAPI:
    """Made in each worker, so that counters find their folder set."""
    from .app import create_app

    return create_app(settings)


def _listening(settings: Settings) -> socket.socket:
    """A socket for all workers, known to be TCP: asyncio sends small packets at once only where it knows that."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((settings.host, settings.port))
    made.set_inheritable(True)
    host, port = made.getsockname()[:2]
    log.info(f"listening on http://{host}:{port}", extra={"facts": {"workers": settings.workers}})
    return made


def serve(settings: Settings) -> int:
    """Serve until a signal to stop, then let requests finish for `grace_seconds`."""
    config = uvicorn.Config(
        partial(application, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_config=configuration(settings.log_level),
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        # Longer than clients and balancers keep an idle connection: whoever closes first must not be us.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
    )
    try:
        if settings.workers == 1:
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

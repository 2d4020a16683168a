"""The ASGI application: routes, middleware, error handlers, and loading at start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import SemtropyError
from .backends.local import LocalBackend
from .backends.upstream import UpstreamBackend
from .checks import Checks
from .errors import Problem, error_kind, error_response, validation_message
from .gateway import Gateway, gateway_of
from .instruments import Instruments
from .middleware import RequestGuard
from .policy import Policy
from .routes import check, completions, page
from .routes.page import PAGE, VIEWS
from .settings import Settings
from .telemetry import Metrics
from .traffic import Traffic

if TYPE_CHECKING:
    from ..nouns import Judge, Model


ROUTERS = (check.router, completions.router, page.router, completions.other_router)
THREADS = 32
"""Checks wait in threads for models and judges; asyncio's default is a handful."""


def create_app(
    settings: Settings | None = None, *, model: Model | None = None, judge: Judge | None = None
) -> FastAPI:
    """The gateway as an ASGI application; `model` and `judge` replace those that the settings name."""
    settings = settings or Settings()
    metrics = Metrics()
    policy = Policy(settings, Instruments(settings, judge))
    backend: LocalBackend | UpstreamBackend = LocalBackend(settings, model)
    if settings.upstream is not None:
        backend = UpstreamBackend(settings, settings.upstream)
    app = FastAPI(
        title="semtropy",
        version=__version__,
        description="Tells when a language model is making its answer up.",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        lifespan=_lifespan,
    )
    checks, traffic = Checks(settings, policy, metrics), Traffic(settings, metrics)
    gateway = Gateway(settings, backend, policy, checks, metrics, traffic)
    app.state.gateway = gateway
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    _add_error_handlers(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    paths = frozenset((*VIEWS, "/openapi.json", *_described_paths()))
    app.add_middleware(
        RequestGuard, settings=settings, metrics=metrics, routes=paths, check_ready=gateway.check_ready
    )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    gateway: Gateway = app.state.gateway
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "semtropy"))
    running = asyncio.create_task(gateway.run())
    yield
    running.cancel()
    await gateway.close()


def _add_error_handlers(app: FastAPI) -> None:
    async def on_validation(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return error_response(Problem(400, validation_message(error.errors()[0])))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path = request.url.path
        unclear = {
            404: f"there is no route {path} here; the model's are under /v1, and the page is at /",
            405: f"{path} does not take {request.method}",
        }
        message = unclear.get(error.status_code, str(error.detail))
        return error_response(Problem(error.status_code, message))

    async def on_known(request: Request, error: Exception) -> Response:
        gateway_of(request).metrics.errors.labels(error_kind(error)).inc()
        return error_response(error)

    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Problem, on_known)
    app.add_exception_handler(SemtropyError, on_known)


def _described_paths() -> Iterator[str]:
    """The paths of the OpenAPI description, which itself takes longer to make than all else at start."""
    routes = (route for router in ROUTERS for route in router.routes)
    return (route.path for route in routes if isinstance(route, APIRoute) and route.include_in_schema)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the schemas of bodies that the routes parse themselves."""
    if app.openapi_schema is None:
        described = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        known = described.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in completions.SCHEMAS.items():
            own = {key: value for key, value in schema.items() if key != "$defs"}
            for each, value in {name: own, **schema.get("$defs", {})}.items():
                known.setdefault(each, value)
        app.openapi_schema = described
    return app.openapi_schema

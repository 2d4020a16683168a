"""The application: routes, the guard before them, and what is loaded when it starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from .. import __version__
from ..check import VARIANCE
from ..errors import SemtropyError
from . import checks, completions
from .desk import Desk
from .failures import Problem, failure, kind_of
from .guard import Guard
from .kit import Kit
from .local import Local
from .logs import log
from .metrics import Metrics
from .settings import Settings
from .state import State, state_of
from .upstream import Upstream

if TYPE_CHECKING:
    from ..nouns import Judge, Model

__all__ = ["PAGE", "create_app"]

PAGE = Path(__file__).parent / "page"
# Nothing is loaded from anywhere else, and no script in a model's answer can run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(
    settings: Settings | None = None, *, model: Model | None = None, judge: Judge | None = None
) -> FastAPI:
    """The gateway as an ASGI application; `model` and `judge` stand in for those the settings name."""
    settings = settings or Settings()
    metrics = Metrics()
    kit = Kit(settings, default_judge=judge)
    backend = Local(settings, model) if settings.upstream is None else Upstream(settings, settings.upstream)
    state = State(settings, backend, kit, Desk(settings, kit, metrics), metrics)
    app = FastAPI(
        title="semtropy",
        version=__version__,
        description="Tells when a language model is making its answer up.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.semtropy = state
    app.include_router(checks.router)
    app.include_router(completions.router)
    _add_plain_routes(app)
    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    _add_error_handlers(app)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    paths = frozenset(("/", "/openapi.json", *app.openapi()["paths"]))
    app.add_middleware(Guard, settings=settings, metrics=metrics, routes=paths)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state: State = app.state.semtropy
    # Checks spend their time in models and judges that wait in threads; the default is a handful.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(32, "semtropy"))
    loading = asyncio.create_task(_load(state))
    yield
    loading.cancel()
    state.desk.runs.cancel()
    await state.backend.aclose()


async def _load(state: State) -> None:
    """Load models and judges while /healthz already answers; /readyz waits for it."""
    try:
        await asyncio.to_thread(state.kit.load)
        await asyncio.to_thread(state.backend.load)
    except Exception as error:
        state.trouble = str(error) if isinstance(error, SemtropyError) else kind_of(error)
        log.error("cannot get ready", exc_info=error, extra={"facts": {"trouble": state.trouble}})
    else:
        state.ready = True
        log.info("ready", extra={"facts": {"model": state.backend.name}})


def _add_plain_routes(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html", headers=_SAFE)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process is up."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz(request: Request) -> Response:
        """Everything a check needs is loaded."""
        state = state_of(request)
        if state.ready:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": state.trouble or "loading"}, 503)

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Counters for Prometheus."""
        return Response(
            state_of(request).metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    @app.get("/api/about")
    async def about(request: Request) -> dict[str, Any]:
        """What the page needs to know of this gateway."""
        state = state_of(request)
        return {
            "version": __version__,
            "model": state.backend.name,
            "needs_model": isinstance(state.backend, Upstream) and state.settings.upstream_model is None,
            "max_samples": state.settings.max_samples,
            "max_prompt": state.settings.max_prompt,
            "max_upload": state.settings.max_upload,
            "threshold": state.settings.threshold,
            "variance": VARIANCE if state.settings.variance is None else state.settings.variance,
        }


def _add_error_handlers(app: FastAPI) -> None:
    async def on_validation(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        return failure(Problem(400, f"{place}: {first['msg']}" if place else str(first["msg"])))

    async def on_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return failure(Problem(error.status_code, str(error.detail)))

    async def on_known(request: Request, error: Exception) -> Response:
        state_of(request).metrics.errors.labels(kind_of(error)).inc()
        return failure(error)

    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Problem, on_known)
    app.add_exception_handler(SemtropyError, on_known)


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the schemas that hand-read bodies refer to."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        known = made.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in completions.SCHEMAS.items():
            inner = schema.pop("$defs", {})
            for each, value in {name: schema, **inner}.items():
                known.setdefault(each, value)
        app.openapi_schema = made
    return app.openapi_schema

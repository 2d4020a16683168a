"""The page and what it asks for; liveness, readiness and metrics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from ... import __version__
from ...errors import NoAnswer
from ...inquiry.conclusion import conclude
from ...stopping import CONFIDENCE
from ..backends.upstream import UpstreamBackend
from ..errors import Problem
from ..gateway import gateway_of
from ..middleware import is_operator
from ..policy import terms_to_json
from ..requests import refuse_long_prompt
from ..schemas import ReplayRequest  # noqa: TC001 (FastAPI reads the annotation)
from .check import replay as replay_steps
from .check import step_to_json, verdict_to_json

if TYPE_CHECKING:
    from ..settings import Settings


router = APIRouter()
PAGE = Path(__file__).parent.parent / "page"
# Nothing is loaded from another host, and no script in a model's answer can run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


VIEWS = ("/", "/traffic", "/what-if", "/checks")
"""The addresses of the page: it shows another view at each."""


async def page() -> Response:
    return FileResponse(PAGE / "index.html", headers=_SECURITY_HEADERS)


for _view in VIEWS:
    router.add_api_route(_view, page, include_in_schema=False)


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process is up."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Everything that a check needs is loaded, in all workers."""
    status = await asyncio.to_thread(gateway_of(request).status)
    return JSONResponse({"status": status}, 200 if status == "ready" else 503)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    text = gateway_of(request).metrics.exposition()
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/about")
async def about(request: Request) -> dict[str, Any]:
    """The settings that the page shows."""
    gateway = gateway_of(request)
    settings = gateway.settings
    return {
        "version": __version__,
        "model": gateway.backend.name,
        "upstream": isinstance(gateway.backend, UpstreamBackend),
        "second": settings.second,
        "traffic": settings.traffic,
        "needs_model": isinstance(gateway.backend, UpstreamBackend) and settings.upstream_model is None,
        "max_samples": settings.max_samples,
        "max_prompt": settings.max_prompt,
        "threshold": settings.threshold,
        "rule": _rule(settings),
    }


@router.get("/api/traffic")
async def traffic(request: Request) -> Response:
    """What passes through the gateway: totals, latencies, the last hour; for the operator the latest verdicts."""
    gateway = gateway_of(request)
    if gateway.settings.traffic == "none":
        raise Problem(404, "the operator shows no traffic: the setting traffic is none")
    operator = is_operator(request.scope, gateway.settings)
    found = await asyncio.to_thread(gateway.traffic.to_dict, operator=operator)
    return JSONResponse(found, headers={"Cache-Control": "no-store"})


def _rule(settings: Settings) -> dict[str, Any]:
    """The operator's stopping rule."""
    if settings.variance is not None:
        return {"kind": "variance", "value": settings.variance}
    return {"kind": "confidence", "value": settings.confidence or CONFIDENCE}


@router.post("/api/replay")
async def replay(body: ReplayRequest, request: Request) -> Response:
    """The same samples under other terms: the last step and the verdict."""
    gateway = gateway_of(request)
    refuse_long_prompt(body.prompt, gateway.settings.max_prompt)
    terms = await asyncio.to_thread(gateway.policy.what_if, body)
    try:
        steps = await asyncio.to_thread(replay_steps, body.prompt, body.answer, body.samples, terms)
    except NoAnswer:
        message = "there is nothing to judge: give samples, or an answer with its log-probability"
        raise Problem(400, message) from None
    verdict = await asyncio.to_thread(conclude, steps[-1], terms)
    last = await asyncio.to_thread(step_to_json, steps[-1], terms)
    return JSONResponse({"terms": terms_to_json(terms), "step": last, "verdict": verdict_to_json(verdict)})

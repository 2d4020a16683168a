"""Chat completions, completions, responses and models: the backend's replies, with a verdict."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from ..backends.upstream import UpstreamBackend
from ..errors import Problem
from ..gateway import gateway_of
from ..middleware import caller_of, while_connected
from ..proxy import AnswerProxy
from ..requests import read_completion_request
from ..schemas import CheckOptions
from ..settings import HOLDING
from ..telemetry import LOG_FIELDS

if TYPE_CHECKING:
    from ..requests import CompletionKind
    from ..telemetry import Metrics

router = APIRouter()

_MESSAGE = {"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}}
_SHARED = {
    "model": {"type": "string"},
    "stream": {"type": "boolean"},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "max_tokens": {"type": "integer", "minimum": 1},
    "n": {"type": "integer", "minimum": 1},
    "seed": {"type": "integer", "minimum": 0},
    "semtropy": {"$ref": "#/components/schemas/CheckOptions"},
}


def _request_schema(
    name: str, field: dict[str, Any], required: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """The part of OpenAI's schema that the gateway reads; the upstream checks the rest."""
    needed = list(required or ("model", name))
    schema = {"type": "object", "required": needed, "properties": {name: field, **_SHARED}}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.post(
    "/v1/chat/completions",
    openapi_extra=_request_schema("messages", {"type": "array", "items": _MESSAGE, "minItems": 1}),
)
async def chat(request: Request) -> Response:
    """A chat completion from the backend, with the verdict under `semtropy`."""
    return await _complete(request, "chat")


@router.post("/v1/completions", openapi_extra=_request_schema("prompt", {"type": "string", "minLength": 1}))
async def completions(request: Request) -> Response:
    """A completion from the backend, with the verdict under `semtropy`."""
    return await _complete(request, "completions")


@router.post(
    "/v1/responses",
    openapi_extra=_request_schema("input", {"type": ["string", "array"]}, required=("model",)),
)
async def responses(request: Request) -> Response:
    """A response from the backend, with the verdict under `semtropy`."""
    return await _complete(request, "responses")


@router.get("/v1/models")
async def models(request: Request) -> Response:
    """The upstream's models, or the model in this process."""
    gateway = gateway_of(request)
    backend = gateway.backend
    if not isinstance(backend, UpstreamBackend):
        listed = {"id": backend.name, "object": "model", "created": 0, "owned_by": "semtropy"}
        return JSONResponse({"object": "list", "data": [listed]})
    caller = caller_of(request.scope, gateway.settings)
    reply = await while_connected(request, backend.send("GET", "/models", caller, request.headers))
    return StreamingResponse(reply.relayed(), reply.status, reply.passed_headers)


async def _complete(request: Request, kind: CompletionKind) -> Response:
    gateway = gateway_of(request)
    asked = read_completion_request(
        kind,
        await request.body(),
        caller=caller_of(request.scope, gateway.settings),
        header=request.headers.get("x-semtropy"),
        max_prompt=gateway.settings.max_prompt,
    )
    gateway.policy.permit(asked.options)
    mode = asked.options.mode or gateway.settings.mode
    if mode != "off":  # options that cannot be met are refused before anything is sent
        await gateway.policy.prepare(asked.options, gateway.backend.sampler(asked))
    start = time.perf_counter()
    reply = await while_connected(request, gateway.backend.open(asked, request.headers))
    gateway.metrics.seconds.labels("first_byte").observe(time.perf_counter() - start)
    reply.close = _timed_until(reply.close, gateway.metrics, start)
    request.scope[LOG_FIELDS] |= {"mode": mode, "stream": asked.streaming}
    unread = reply.status != 200 or not reply.readable
    if unread and reply.status < 400 and mode in HOLDING and gateway.settings.on_error == "block":
        await reply.close()
        raise Problem(502, "the upstream's reply cannot be read, so it cannot be checked", "upstream_error")
    if unread or mode == "off":
        return StreamingResponse(reply.relayed(), reply.status, reply.passed_headers)
    proxy = AnswerProxy(gateway, asked, reply, log_fields=request.scope[LOG_FIELDS])
    streamed = "text/event-stream" in reply.headers.get("content-type", "")
    if streamed and mode not in HOLDING:
        return StreamingResponse(proxy.stream(), 200, reply.headers)
    passed = await while_connected(request, proxy.held_stream() if streamed else proxy.whole())
    headers = {**reply.headers, **passed.headers}
    if isinstance(passed.body, bytes):
        return Response(passed.body, 200, headers)
    return StreamingResponse(passed.body, 200, headers)


def _timed_until(
    close: Callable[[], Awaitable[object]], metrics: Metrics, start: float
) -> Callable[[], Awaitable[object]]:
    """`close` that also observes how long the upstream took for the whole answer."""

    async def closing() -> None:
        metrics.seconds.labels("upstream").observe(time.perf_counter() - start)
        await close()

    return closing


# Schemas that the descriptions above refer to.
SCHEMAS = {"CheckOptions": CheckOptions.model_json_schema(ref_template="#/components/schemas/{model}")}


# Every other route under /v1 passes to the upstream and back, unread and unchecked, as far as the settings allow.


other_router = APIRouter()

HARMLESS = ("embeddings", "moderations", "rerank", "score", "tokenize", "detokenize")
"""Routes to POST to that write no answers and show nobody's files; models can be listed, but not deleted or asked."""


@other_router.api_route(
    "/v1/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False
)
async def other(path: str, request: Request) -> Response:
    """Pass a request on as it is."""
    gateway = gateway_of(request)
    backend, allowed = gateway.backend, gateway.settings.passed_routes
    parts = path.split("/")
    unclear = any(part in ("", ".", "..") for part in parts)  # could be another route for the upstream
    if not isinstance(backend, UpstreamBackend) or allowed == "none" or unclear:
        raise Problem(404, f"there is no route /v1/{path} here")
    if allowed == "harmless" and not _is_harmless(request.method, parts):
        raise Problem(
            403,
            f"{request.method} /v1/{path} is not passed on: the operator allows it with other_routes = all",
        )
    query = request.url.query
    target = "/" + quote(path) + (f"?{query}" if query else "")
    # A GET has no body: one that comes all the same is not read, as its size is not limited.
    body = None if request.method == "GET" else await request.body()
    caller = caller_of(request.scope, gateway.settings)
    sending = backend.send(request.method, target, caller, request.headers, body or None)
    reply = await while_connected(request, sending)
    return StreamingResponse(reply.relayed(), reply.status, reply.passed_headers)


def _is_harmless(method: str, parts: list[str]) -> bool:
    return parts[0] == "models" if method == "GET" else method == "POST" and "/".join(parts) in HARMLESS

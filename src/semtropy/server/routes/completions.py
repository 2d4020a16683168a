"""Chat completions, completions, responses and models: the backend's replies, with a verdict."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from ..backends.upstream import UpstreamBackend
from ..errors import Problem
from ..middleware import caller_of, while_connected
from ..permissions import forbid_looser
from ..proxy import AnswerProxy
from ..requests import read_completion_request
from ..schemas import CheckOptions
from ..service import gateway_of
from ..telemetry import LOG_FIELDS

if TYPE_CHECKING:
    from ..requests import CompletionKind
    from ..telemetry import Metrics

__all__ = ["SCHEMAS", "router"]

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
    forbid_looser(asked.options, gateway.settings)
    mode = asked.options.mode or gateway.settings.mode
    if mode != "off":  # options that cannot be met are refused before anything is sent
        gateway.policy.judge(asked.options.judge, gateway.backend.sampler(asked))
        gateway.policy.terms(asked.options)
    start = time.perf_counter()
    reply = await while_connected(request, gateway.backend.open(asked, request.headers))
    gateway.metrics.seconds.labels("first_byte").observe(time.perf_counter() - start)
    reply.close = _timed_until(reply.close, gateway.metrics, start)
    request.scope[LOG_FIELDS] |= {"mode": mode, "stream": asked.streaming}
    unread = reply.status != 200 or not reply.readable
    if unread and reply.status < 400 and mode == "block" and gateway.settings.on_error == "block":
        await reply.close()
        raise Problem(502, "the upstream's reply cannot be read, so it cannot be checked", "upstream_error")
    if unread or mode == "off":
        return StreamingResponse(reply.relayed(), reply.status, reply.passed_headers)
    proxy = AnswerProxy(gateway, asked, reply, log_fields=request.scope[LOG_FIELDS])
    streamed = "text/event-stream" in reply.headers.get("content-type", "")
    if streamed and mode != "block":
        return StreamingResponse(proxy.stream(), 200, reply.headers)
    passed = await while_connected(request, proxy.held_stream() if streamed else proxy.whole())
    headers = {**reply.headers, **passed.headers}
    if passed.rest is None:
        return Response(passed.body, 200, headers)
    return StreamingResponse(_followed(passed.body, passed.rest), 200, headers)


async def _followed(body: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield body
    async for chunk in rest:
        yield chunk


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

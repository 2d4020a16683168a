"""`/v1/chat/completions`, `/v1/completions` and `/v1/models`: the upstream's own, with a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from .exchange import Reply, read_request
from .failures import Problem
from .guard import FACTS, bearer
from .options import Choices
from .relay import Relay
from .state import state_of
from .upstream import Upstream

if TYPE_CHECKING:
    from .metrics import Metrics

__all__ = ["router"]

router = APIRouter()
T = TypeVar("T")

_MESSAGE = {"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}}
_SHARED = {
    "model": {"type": "string"},
    "stream": {"type": "boolean"},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "max_tokens": {"type": "integer", "minimum": 1},
    "n": {"type": "integer", "minimum": 1},
    "seed": {"type": "integer", "minimum": 0},
    "semtropy": {"$ref": "#/components/schemas/Choices"},
}


def _described(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's schema as far as the gateway reads it; the rest is the upstream's to judge."""
    schema = {"type": "object", "required": ["model", name], "properties": {name: field, **_SHARED}}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.post(
    "/v1/chat/completions",
    openapi_extra=_described("messages", {"type": "array", "items": _MESSAGE, "minItems": 1}),
)
async def chat(request: Request) -> Response:
    """A chat completion, passed on from the upstream, with the verdict under `semtropy`."""
    return await _complete(request, "chat")


@router.post("/v1/completions", openapi_extra=_described("prompt", {"type": "string", "minLength": 1}))
async def completions(request: Request) -> Response:
    """A completion, passed on from the upstream, with the verdict under `semtropy`."""
    return await _complete(request, "completions")


@router.get("/v1/models")
async def models(request: Request) -> Response:
    """The upstream's models, or the one that answers here."""
    backend = state_of(request).backend
    if not isinstance(backend, Upstream):
        listed = {"id": backend.name, "object": "model", "created": 0, "owned_by": "semtropy"}
        return JSONResponse({"object": "list", "data": [listed]})
    reply = await backend.send("GET", "/models", bearer(request.scope), request.headers)
    return StreamingResponse(_closing(reply), reply.status, reply.headers)


async def _complete(request: Request, kind: Any) -> Response:
    state = state_of(request)
    incoming = read_request(
        kind,
        await request.body(),
        key=bearer(request.scope),
        options=request.headers.get("x-semtropy"),
        max_prompt=state.settings.max_prompt,
    )
    mode = incoming.choices.mode or state.settings.mode
    if mode != "off":
        state.kit.judge(
            incoming.choices.judge
        )  # a choice that cannot be kept is told before anything is sent
        state.kit.terms(incoming.choices)
    start = time.perf_counter()
    opening = state.backend.open(incoming, request.headers)
    reply = await (opening if incoming.streaming else _unless_gone(request, opening))
    state.metrics.seconds.labels("first_byte").observe(time.perf_counter() - start)
    reply.close = _timed_until(reply.close, state.metrics, start)
    request.scope[FACTS] |= {"mode": mode, "stream": incoming.streaming}
    if reply.status != 200 or mode == "off":
        return StreamingResponse(_closing(reply), reply.status, reply.headers)
    relay = Relay(state, incoming, reply, facts=request.scope[FACTS])
    streamed = "text/event-stream" in reply.headers.get("content-type", "")
    if streamed and mode != "block":
        return StreamingResponse(relay.stream(), 200, reply.headers)
    body, headers = await _unless_gone(request, relay.held_stream() if streamed else relay.whole())
    return Response(body, 200, {**reply.headers, **headers})


def _timed_until(
    close: Callable[[], Awaitable[object]], metrics: Metrics, start: float
) -> Callable[[], Awaitable[object]]:
    """`close`, which also notes how long the upstream took over all of its answer."""

    async def closing() -> None:
        metrics.seconds.labels("upstream").observe(time.perf_counter() - start)
        await close()

    return closing


async def _closing(reply: Reply) -> AsyncIterator[bytes]:
    try:
        async for chunk in reply.chunks:
            yield chunk
    finally:
        await reply.close()


async def _unless_gone(request: Request, work: Awaitable[T]) -> T:
    """Wait for `work`, unless the client goes away first."""
    doing = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Problem(499, "the client went away")
        return doing.result()
    finally:
        watching.cancel()
        if not doing.done():
            doing.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# Named in the description above.
SCHEMAS = {"Choices": Choices.model_json_schema(ref_template="#/components/schemas/{model}")}

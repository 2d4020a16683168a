"""Every other route under /v1 passes to the upstream and back, unread and unchecked, as far as the settings allow."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from ..backends.upstream import UpstreamBackend
from ..errors import Problem
from ..middleware import caller_of, while_connected
from ..service import gateway_of

__all__ = ["HARMLESS", "router"]

router = APIRouter()

HARMLESS = ("embeddings", "moderations", "rerank", "score", "tokenize", "detokenize")
"""Routes to POST to that write no answers and show nobody's files; models can be listed, but not deleted or asked."""


@router.api_route(
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

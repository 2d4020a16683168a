"""`/v1/check`, and what the page asks for beside it: the what-if and the study of a recording."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from ..errors import SemtropyError
from ..inquiry import conclude
from .events import event
from .failures import Problem, body, problem_of
from .guard import FACTS, bearer
from .kit import described
from .options import CheckRequest, ReplayRequest  # noqa: TC001 (FastAPI reads the annotations)
from .state import state_of
from .steps import step_as_data
from .study import evaluated

if TYPE_CHECKING:
    from .desk import Order
    from .state import State

__all__ = ["router"]

router = APIRouter()
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_STUDY = {"requestBody": {"required": True, "content": _BYTES}}


@router.post("/v1/check")
async def check(asked: CheckRequest, request: Request) -> Response:
    """Check a question: the verdict, or with `stream` a server-sent event a step and then the verdict."""
    state = state_of(request)
    _fits(asked.prompt, state)
    key = bearer(request.scope)
    model = state.backend.model(asked.model, key)
    order = state.desk.order(
        asked.prompt,
        model,
        asked,
        about=["check", model.name, key],
        seed=asked.seed,
        streamed=asked.stream,
    )
    facts = request.scope[FACTS]
    facts |= {"stream": asked.stream, "source": order.source}
    if asked.stream:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_told(state, order, facts), media_type="text/event-stream", headers=headers)
    verdict = await state.desk.verdict(order)
    facts |= {"flagged": verdict.flagged, "samples": verdict.samples}
    return JSONResponse(verdict.to_dict() | {"source": order.source})


async def _told(state: State, order: Order, facts: dict[str, Any]) -> AsyncIterator[bytes]:
    yield event({**described(order.terms), "source": order.source}, "terms")
    seen, last, verdict = 0, None, None
    try:
        async for step in order.run.follow():
            if step.reason is not None:
                # Before its curve: what a distribution was asked earlier moves its later quantiles a little, and the
                # verdict must be the one that a check without a stream gives.
                verdict = await state.desk.conclude(step, order)
            # The distribution behind a curve takes milliseconds, which other requests should not wait for.
            yield event(await asyncio.to_thread(step_as_data, step, order.terms, seen=seen), "step")
            seen, last = len(step.samples), step
    except SemtropyError as error:
        state.desk.failed(error)
        yield event(body(problem_of(error)), "error")
        return
    assert last is not None
    if verdict is None:  # stopped from outside
        verdict = await state.desk.conclude(last, order)
    facts |= {"flagged": verdict.flagged, "samples": verdict.samples}
    yield event(
        verdict.to_dict()
        | {"source": order.source, "sentence": verdict.headline(), "explanation": verdict.explain()},
        "verdict",
    )


@router.post("/api/replay")
async def replay(asked: ReplayRequest, request: Request) -> Response:
    """The same samples under other terms: every step, and the verdict."""
    from .whatif import replayed

    state = state_of(request)
    _fits(asked.prompt, state)
    terms = state.kit.terms(asked)
    steps = await asyncio.to_thread(replayed, asked.prompt, asked.answer, asked.samples, terms)
    verdict = await asyncio.to_thread(conclude, steps[-1], terms)
    last = await asyncio.to_thread(step_as_data, steps[-1], terms)
    told = verdict.to_dict() | {"sentence": verdict.headline(), "explanation": verdict.explain()}
    return JSONResponse({"terms": described(terms), "step": last, "verdict": told})


@router.post("/api/study", openapi_extra=_STUDY)
async def study(request: Request) -> Response:
    """AUROC against budget of an uploaded recording."""
    state = state_of(request)
    if state.settings.max_upload == 0:
        raise Problem(404, "uploads are turned off here")
    if state.studying.locked():
        raise Problem(429, "another recording is being evaluated: try again in a moment", "rate_limit_error")
    async with state.studying:
        return JSONResponse(await evaluated(await request.body()))


def _fits(prompt: str, state: State) -> None:
    limit = state.settings.max_prompt
    if len(prompt) > limit:
        raise Problem(413, f"the prompt has {len(prompt)} characters: at most {limit} are allowed")

"""`POST /v1/check`: a question in, a verdict out, or a stream of steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from ...nouns import Sample
from ...structured import load_structure
from ..errors import Problem, as_problem, error_body
from ..middleware import caller_of, while_connected
from ..permissions import forbid_locked
from ..policy import terms_to_json
from ..requests import characters
from ..schemas import CheckRequest  # noqa: TC001 (FastAPI reads the annotation)
from ..service import gateway_of
from ..sse import event
from ..steps import step_to_json
from ..telemetry import LOG_FIELDS
from ..withholding import is_withheld, withheld_verdict, without_texts

if TYPE_CHECKING:
    from ...conversation import Prompt
    from ...verdict import Verdict
    from ..service import Gateway, PendingCheck
    from ..settings import Settings

__all__ = ["refuse_long_prompt", "router", "verdict_to_json"]

router = APIRouter()


@router.post("/v1/check")
async def check(body: CheckRequest, request: Request) -> Response:
    """Check a question: the verdict, or with `stream` a server-sent event per step and then the verdict."""
    gateway = gateway_of(request)
    prompt = body.asked()
    refuse_long_prompt(prompt, gateway)
    forbid_locked(body, gateway.settings)
    caller = caller_of(request.scope, gateway.settings)
    model = gateway.backend.model(body.model, caller)
    named: dict[str, Any] = {"schema": body.answer_schema, "choices": body.choices, "required": body.required}
    structure = None if all(each is None for each in named.values()) else load_structure(**named)
    if structure is not None:
        model = structure.asking(model)
    pending = gateway.service.start(
        prompt,
        model,
        body,
        identity=["check", model.name, caller.identity],
        structure=structure,
        seed=body.seed,
        streamed=body.stream,
        answer=None if body.answer is None else Sample(body.answer),
    )
    log_fields = request.scope[LOG_FIELDS]
    log_fields |= {"stream": body.stream, "source": pending.source}
    if body.stream:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = _events(gateway, pending, log_fields, declared=body.answer_schema)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)
    verdict = await while_connected(request, gateway.service.verdict(pending))
    log_fields |= {"flagged": verdict.flagged, "samples": verdict.samples}
    shown = _shown(verdict.to_dict(), verdict, gateway.settings, body.answer_schema)
    return JSONResponse(shown | {"source": pending.source})


def _shown(payload: dict[str, Any], verdict: Verdict, settings: Settings, declared: Any) -> dict[str, Any]:
    """A verdict as the client may see it: where its requests cannot leave mode `block`, without a withheld answer."""
    if not settings.always_blocks or not is_withheld(verdict, settings):
        return payload
    return withheld_verdict(payload, declared) | {"blocked": True}


async def _events(
    gateway: Gateway, pending: PendingCheck, log_fields: dict[str, Any], *, declared: Any
) -> AsyncIterator[bytes]:
    settings = gateway.settings
    yield event({**terms_to_json(pending.terms), "source": pending.source}, "terms")
    sent, last, verdict = 0, None, None
    try:
        async for step in pending.run.follow():
            if step.reason is not None:
                # Before its curve: evaluating a distribution moves its later quantiles a little, and the verdict must
                # equal that of a check without a stream.
                verdict = await gateway.service.conclude(step, pending)
            # The distribution behind a curve takes milliseconds, for which other requests should not wait.
            shown = await asyncio.to_thread(step_to_json, step, pending.terms, sent=sent)
            yield event(without_texts(shown) if settings.always_blocks else shown, "step")
            sent, last = len(step.samples), step
    except Exception as error:  # the reply has begun: whatever it is, the client gets it as an event
        gateway.service.count_failure(error)
        yield event(error_body(as_problem(error)), "error")
        return
    assert last is not None
    if verdict is None:  # cancelled before the last step
        verdict = await gateway.service.conclude(last, pending)
    log_fields |= {"flagged": verdict.flagged, "samples": verdict.samples}
    payload = verdict_to_json(verdict)
    final = _shown(payload, verdict, settings, declared)
    if final is not payload:  # both quote the answer
        final |= {"sentence": settings.refusal, "explanation": ""}
    yield event(final | {"source": pending.source}, "verdict")


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict with the sentences that the page shows."""
    return verdict.to_dict() | {"sentence": verdict.headline(), "explanation": verdict.explain()}


def refuse_long_prompt(prompt: Prompt, gateway: Gateway) -> None:
    """Raise 413 for a prompt above `max_prompt`."""
    limit, size = gateway.settings.max_prompt, characters(prompt)
    if size > limit:
        raise Problem(413, f"the prompt has {size} characters: at most {limit} are allowed")

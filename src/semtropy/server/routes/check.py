"""`POST /v1/check`: a question in, a verdict out, or a stream of steps."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from ...conversation import last_question
from ...errors import InputError, SemtropyError
from ...inquiry.conclusion import field_outcome
from ...inquiry.loop import Compare, Draw, Drawn, Exchange, Relate, Terms, inquire
from ...nouns import Partition, Sample
from ...stopping import suspicion
from ...structured import load_structure
from ...verdict import Entropy
from ..errors import as_problem, error_body, error_kind
from ..gateway import gateway_of
from ..middleware import caller_of, while_connected
from ..policy import terms_to_json
from ..proxy import allowed_text, trimmed_verdict, withheld_verdict, without_texts
from ..requests import refuse_long_prompt
from ..schemas import CheckRequest  # noqa: TC001 (FastAPI reads the annotation)
from ..sse import event
from ..telemetry import LOG_FIELDS

if TYPE_CHECKING:
    from ...inquiry.steps import ClaimStep, FieldStep, Step
    from ...nouns import Belief, Floats, Token
    from ...verdict import Verdict
    from ..checks import PendingCheck
    from ..gateway import Gateway
    from ..schemas import RecordedAnswer, RecordedSample
    from ..settings import Settings


# Steps of a check as JSON for the page, and the replay of earlier samples under other terms.


POINTS = 161
WIDTH = 1.6
"""Curves span at least this many nats, so that those of one check share their axis."""
SMOOTHING = 2.5
"""Standard deviation, in cells, of the kernel that smooths a curve. The density of an entropy has a sharp edge at the
logarithm of each whole number; drawn as it is, the curve of a few meanings is a row of spikes."""


def density_curve(belief: Belief) -> dict[str, Any] | None:
    """Points of the density of the entropy, from 0 on.

    They are differences of its distribution function over a grid, lightly smoothed (`SMOOTHING`). None for a method
    without a distribution.

    >>> density_curve(__import__("semtropy").Belief(0.5)) is None
    True
    """
    if belief.distribution is None:
        return None
    reach = max(WIDTH, 1.2 * belief.distribution.quantile(0.999))
    edges = np.linspace(0.0, reach, POINTS + 1)
    below = np.clip(np.asarray(belief.distribution.cdf(edges), dtype=float), 0.0, 1.0)
    below[0] = 0.0  # mass exactly at 0 belongs to the first cell
    mass = _smooth(np.maximum(np.diff(below), 0.0))
    middles = (edges[1:] + edges[:-1]) / 2
    width = reach / POINTS
    return {
        "x": [round(float(x), 5) for x in middles],
        "density": [round(float(m / width), 6) for m in mass],
        "reach": round(float(reach), 5),
    }


def _smooth(mass: Floats) -> Floats:
    """The masses of cells under a normal kernel, reflected at both ends so that none is lost."""
    reach = math.ceil(4 * SMOOTHING)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / SMOOTHING) ** 2)
    padded = np.pad(mass, reach, mode="symmetric")
    return np.convolve(padded, kernel / kernel.sum(), mode="valid")


def sample_to_json(sample: Sample, meaning: int | None) -> dict[str, Any]:
    """A sample with what `replay` needs."""
    counted = sample.tokens if sample.tokens is not None else sample.token_logprobs
    finite = sample.logprob is not None and math.isfinite(sample.logprob)
    return {
        "text": sample.text,
        "meaning": meaning,
        "logprob": sample.logprob if finite else None,
        "prefix_logprob": sample.prefix_logprob,
        "tokens": None if counted is None else len(counted),
        "complete": sample.complete,
    }


def answer_to_json(step: Step) -> dict[str, Any]:
    """The answer of a step with what `replay` needs."""
    judged = step.evidence.answer
    return {
        "text": step.answer.text,
        "meaning": step.answer_meaning,
        "logprob": None if judged is None or judged.logprob is None else min(judged.logprob, 0.0),
        "prefix_logprob": None if judged is None else judged.prefix_logprob,
        "token_entropy": None if judged is None else judged.token_entropy,
        "carried_logprob": None if judged is None else judged.carried_logprob,
        "complete": step.answer.complete,
    }


def step_to_json(step: Step, terms: Terms, *, sent: int = 0) -> dict[str, Any]:
    """A step; the first `sent` samples are left out, as earlier steps had them."""
    belief, spent = step.belief, step.spent
    meanings: Sequence[int | None] = step.partition.meanings
    if step.claims:  # samples of long answers have no meaning: each supports some claims, and others not
        meanings = [None] * len(step.samples)
    pairs = list(zip(step.samples, meanings, strict=True))[sent:]
    return {
        "samples": [sample_to_json(sample, meaning) for sample, meaning in pairs],
        "answer": answer_to_json(step),
        "meanings": [meaning.to_dict() for meaning in step.meanings()],
        "fields": [_field_to_json(field, step, terms) for field in step.fields],
        "claims": [_claim_to_json(claim) for claim in step.claims],
        "agreement": _agreement_to_json(belief),
        "entropy": Entropy.of(belief).to_dict() | {"curve": density_curve(belief)},
        "suspicion": suspicion(belief, terms.threshold),
        "drawn": spent.samples,
        "rounds": spent.rounds,
        "cost": {"tokens": spent.tokens, "judge_calls": spent.judge_calls, "seconds": spent.seconds},
        "reason": None if step.reason is None else str(step.reason),
    }


def _agreement_to_json(belief: Belief) -> dict[str, Any] | None:
    agreement = belief.agreement
    return None if agreement is None else {"mean": agreement.mean, "interval": agreement.interval(0.9)}


def _field_to_json(field: FieldStep, step: Step, terms: Terms) -> dict[str, Any]:
    """A field of a structured answer; its outcome is None while sampling goes on for it."""
    own = field.step
    decided = own.reason is not None or step.reason is not None
    return {
        "name": field.name,
        "value": field.value,
        "required": field.required,
        "outcome": str(field_outcome(field, step, terms)) if decided else None,
        "agreement": _agreement_to_json(own.belief),
        "meanings": [meaning.to_dict() for meaning in own.meanings()],
    }


def _claim_to_json(claim: ClaimStep) -> dict[str, Any]:
    """A claim of a long answer, as in a verdict."""
    counts = {name: getattr(claim, name) for name in ("supported", "contradicted", "silent", "instead")}
    agreement = {"mean": claim.agreement.mean, "interval": claim.agreement.interval(0.9)}
    return {"text": claim.text, "outcome": str(claim.outcome), "agreement": agreement, **counts}


class _KnownMeanings:
    """A grouping that returns given meanings, in the order of the samples."""

    def __init__(self, meanings: Sequence[int]) -> None:
        self._meanings = iter(meanings)

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[tuple[str, str, str]], Floats, int]:
        yield from ()
        return next(self._meanings)


def replay(
    prompt: str, answer: RecordedAnswer, recorded: Sequence[RecordedSample], terms: Terms
) -> list[Step]:
    """The steps of a check that draws these samples in this order; it ends when they run out."""
    meanings = [sample.meaning for sample in recorded]
    try:
        Partition(tuple(meanings))
    except InputError as error:
        raise InputError(f"samples: {error}") from None
    # Tokens were not recorded: equal text and log-probability stand for the same sequence.
    waiting = [
        Sample(each.text, each.logprob, complete=each.complete, prefix_logprob=each.prefix_logprob)
        for each in recorded
    ]
    judged = Sample(
        answer.text,
        complete=answer.complete,
        sampling_logprob=answer.logprob,
        prefix_logprob=answer.prefix_logprob,
        token_entropies=None if answer.token_entropy is None else (answer.token_entropy,),
        pieces=None if answer.carried_logprob is None else ((answer.text, answer.carried_logprob),),
    )
    own = len(set(meanings)) if answer.meaning is None else answer.meaning
    exchange = Exchange(inquire(prompt, terms, _KnownMeanings([own, *meanings]), answer=judged))
    steps: list[Step] = []
    for asked in exchange:
        if isinstance(asked, Draw):
            drawn, waiting = waiting[: asked.n], waiting[asked.n :]
            exchange.reply = Drawn(drawn)
        elif isinstance(asked, Compare):
            exchange.reply = np.ones(len(asked.pairs))
        elif not isinstance(asked, Relate):
            steps.append(asked)
    return steps


router = APIRouter()


@router.post("/v1/check")
async def check(body: CheckRequest, request: Request) -> Response:
    """Check a question: the verdict, or with `stream` a server-sent event per step and then the verdict."""
    gateway = gateway_of(request)
    prompt = body.asked()
    refuse_long_prompt(prompt, gateway.settings.max_prompt)
    gateway.policy.permit(body)
    caller = caller_of(request.scope, gateway.settings)
    model = gateway.backend.model(body.model, caller)
    named: dict[str, Any] = {"schema": body.answer_schema, "choices": body.choices, "required": body.required}
    structure = None if all(each is None for each in named.values()) else load_structure(**named)
    if structure is not None:
        model = structure.asking(model)
    await gateway.policy.prepare(body, model)
    note = partial(gateway.traffic.add, route="check", model=model.name, question=last_question(prompt))
    pending = gateway.checks.start(
        prompt,
        model,
        body,
        identity=["check", model.name, caller.identity],
        tenant=caller.identity,
        structure=structure,
        seed=body.seed,
        streamed=body.stream,
        answer=None if body.answer is None else Sample(body.answer),
    )
    log_fields = request.scope[LOG_FIELDS]
    log_fields |= {"stream": body.stream, "source": pending.source}
    if body.stream:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = _events(gateway, pending, log_fields, note, declared=body.answer_schema)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)
    try:
        verdict = await while_connected(request, gateway.checks.verdict(pending))
    except SemtropyError as error:
        note({"error": {"kind": error_kind(error)}})
        raise
    log_fields |= {"flagged": verdict.flagged, "samples": verdict.samples}
    shown = _shown(verdict.to_dict(), verdict, gateway.settings, body.answer_schema)
    shown |= {"source": pending.source}
    note(shown)
    return JSONResponse(shown)


def _shown(payload: dict[str, Any], verdict: Verdict, settings: Settings, declared: Any) -> dict[str, Any]:
    """A verdict as the client may see it: where its requests cannot leave the mode, without what that withholds."""
    if not settings.always_holds:
        return payload
    left = allowed_text(verdict.answer, verdict, settings.mode, settings)
    if left is None:
        return withheld_verdict(payload, declared) | {"blocked": True}
    return payload if left is verdict.answer else trimmed_verdict(payload, left)


async def _events(
    gateway: Gateway,
    pending: PendingCheck,
    log_fields: dict[str, Any],
    note: Callable[[dict[str, Any]], None],
    *,
    declared: Any,
) -> AsyncIterator[bytes]:
    settings = gateway.settings
    yield event({**terms_to_json(pending.terms), "source": pending.source}, "terms")
    sent, last, verdict = 0, None, None
    try:
        async for step in pending.run.follow():
            if step.reason is not None:
                # Before its curve: evaluating a distribution moves its later quantiles a little, and the verdict must
                # equal that of a check without a stream.
                verdict = await gateway.checks.conclude(step, pending)
            # The distribution behind a curve takes milliseconds, for which other requests should not wait.
            shown = await asyncio.to_thread(step_to_json, step, pending.terms, sent=sent)
            yield event(without_texts(shown) if settings.always_holds else shown, "step")
            sent, last = len(step.samples), step
    except Exception as error:  # the reply has begun: whatever it is, the client gets it as an event
        gateway.checks.count_failure(error)
        note({"error": {"kind": error_kind(error)}})
        yield event(error_body(as_problem(error)), "error")
        return
    assert last is not None
    if verdict is None:  # cancelled before the last step
        verdict = await gateway.checks.conclude(last, pending)
    log_fields |= {"flagged": verdict.flagged, "samples": verdict.samples}
    payload = verdict_to_json(verdict)
    final = _shown(payload, verdict, settings, declared)
    if final is not payload:  # both quote the answer, but for the sentence on claims
        kept = "trimmed" in final
        said = payload["sentence"] if kept else settings.refusal
        label = payload["label"] if kept else "Withheld"
        final |= {"sentence": said, "label": label, "explanation": ""}
    final |= {"source": pending.source}
    note(final)
    yield event(final, "verdict")


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict with the sentences that the page shows."""
    shown = verdict.to_dict()
    said = {"sentence": verdict.headline(), "label": verdict.label(), "explanation": verdict.explain()}
    if verdict.second is not None:
        for opinion, data in zip(
            (verdict.second, *verdict.second.others),
            (shown["second"], *shown["second"]["others"]),
            strict=True,
        ):
            data["sentence"] = opinion.sentence()
    return shown | said

"""OpenTelemetry: an event for each verdict, where the application has set a provider; nothing otherwise.

The event is `gen_ai.evaluation.result` of the semantic conventions for generative AI. It goes to the logs where a
logger provider is set, and else to the current span. It has numbers and labels only, no text of prompt or answers.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .verdict import score_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .verdict import Verdict


EVENT = "gen_ai.evaluation.result"
TRACE_HEADERS = ("traceparent", "tracestate")
"""The headers of a request that name the span it belongs to (W3C Trace Context)."""


def event_attributes(verdict: Verdict) -> dict[str, Any]:
    """The attributes of the event: score, label and explanation, and what the check cost."""
    agreement = verdict.agreement
    found = {
        "gen_ai.evaluation.name": "semantic_entropy",
        "gen_ai.evaluation.score.value": verdict.score,
        "gen_ai.evaluation.score.label": str(verdict.outcome),
        "gen_ai.evaluation.explanation": score_reason(verdict),
        "semtropy.entropy": verdict.entropy.mean,
        "semtropy.agreement": None if agreement is None else agreement.mean,
        "semtropy.samples": verdict.samples,
        "semtropy.tokens": verdict.spent.tokens,
    }
    return {name: value for name, value in found.items() if value is not None}


def record_verdict(verdict: Verdict) -> bool:
    """Send the event of a verdict, and say whether anything takes it.

    An application that set a provider has imported the package, so that nothing is imported here for others.
    """
    if "opentelemetry" not in sys.modules:
        return False
    try:
        from opentelemetry import _logs, trace
    except ImportError:
        return False
    logger = _logs.get_logger("semtropy")
    enabled = getattr(logger, "enabled", None)
    if enabled is not None and enabled(event_name=EVENT):
        logger.emit(_logs.LogRecord(event_name=EVENT, attributes=event_attributes(verdict)))
        return True
    span = trace.get_current_span()
    if not span.is_recording():
        return False
    span.add_event(EVENT, event_attributes(verdict))
    return True


@contextmanager
def incoming_trace(headers: Mapping[str, str]) -> Iterator[None]:
    """Work under the span that the headers of a request name, unless there is a span already."""
    named = any(name in headers for name in TRACE_HEADERS)
    if not named or "opentelemetry" not in sys.modules:
        yield
        return
    from opentelemetry import context, propagate, trace

    if trace.get_current_span().get_span_context().is_valid:  # an instrumented server made one
        yield
        return
    token = context.attach(propagate.extract(dict(headers)))
    try:
        yield
    finally:
        context.detach(token)

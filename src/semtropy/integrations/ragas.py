"""Ragas: a numeric metric from 0 to 1 with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import needs
from ..verdict import score_reason
from .bridge import Bridge

with needs("ragas", extra="ragas"):
    from ragas.metrics import MetricResult, numeric_metric

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["semantic_entropy_metric"]


def semantic_entropy_metric(*, ask: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A metric of `user_input` and `response`: the probability that the response deserves no flag.

    ask      draws samples: `(messages, n, temperature)`; without it the option `model` does
    options  those of `semtropy.check`, and `max_samples`
    """
    bridge = Bridge(**options)

    @numeric_metric(name="semantic_entropy", allowed_values=(0, 1))
    def metric(user_input: str, response: str) -> Any:
        verdict = bridge.check(user_input, answer=response, ask=ask)
        return MetricResult(value=verdict.score, reason=score_reason(verdict))

    return metric

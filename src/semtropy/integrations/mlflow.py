"""MLflow: a scorer from 0 to 1 with the reason, for `mlflow.genai.evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import needs
from ..verdict import score_reason
from .bridge import Bridge

with needs("mlflow", extra="mlflow"):
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.scorers import scorer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["semantic_entropy_scorer"]


def semantic_entropy_scorer(
    *, question: str = "question", ask: Callable[..., Any] | None = None, **options: Any
) -> Any:
    """A scorer of `inputs` and `outputs`: the probability that the output deserves no flag.

    question  the key of `inputs` that holds the question, or the messages
    ask       draws samples: `(messages, n, temperature)`; without it the option `model` does
    options   those of `semtropy.check`, and `max_samples`
    """
    bridge = Bridge(**options)

    @scorer(name="semantic_entropy")
    def score(inputs: dict[str, Any], outputs: Any) -> Any:
        verdict = bridge.check(inputs[question], answer=str(outputs), ask=ask)
        return Feedback(
            name="semantic_entropy",
            value=verdict.score,
            rationale=score_reason(verdict),
            source=AssessmentSource(source_type="CODE", source_id="semtropy"),
            metadata={"outcome": str(verdict.outcome), "samples": str(verdict.samples)},
        )

    return score

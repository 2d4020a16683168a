"""A verdict as one flat row, for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..steadiness import steadiness

if TYPE_CHECKING:
    from ..verdict import Verdict

__all__ = ["verdict_row"]


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """The numbers of a verdict under the names of its JSON, flat; unknown is None.

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> verdict = check("Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", rng=1)
    >>> row = verdict_row(verdict)
    >>> row["answer"], row["outcome"], row["meanings"]
    ('Paris', 'steady', 1)
    """
    entropy, agreement, spent = verdict.entropy, verdict.agreement, verdict.spent
    low, high = entropy.interval or (None, None)
    return {
        "question": verdict.question,
        "answer": verdict.answer,
        "outcome": str(verdict.outcome),
        "flagged": verdict.flagged,
        "score": steadiness(verdict),
        "entropy": entropy.mean,
        "entropy_variance": entropy.variance,
        "entropy_low": low,
        "entropy_high": high,
        "agreement": None if agreement is None else agreement.mean,
        "probability": verdict.probability,
        "meanings": len(verdict.meanings),
        "samples": spent.samples,
        "rounds": spent.rounds,
        "tokens": spent.tokens,
        "seconds": spent.seconds,
        "reason": str(verdict.reason),
    }

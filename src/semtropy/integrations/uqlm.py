"""uqlm: results in the shape of its `UQResult`, for code that reads those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..verdict import Verdict

__all__ = ["to_uqlm"]


def to_uqlm(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What `UQResult(...)` takes: prompts, responses, sampled responses and confidence scores, 0 to 1.

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> made = check("Capital?", model=ScriptedModel(default={"Paris": 0.7, "Lyon": 0.3}), judge="exact", rng=1)
    >>> result = to_uqlm([made])
    >>> sorted(result["data"]), len(result["data"]["sampled_responses"][0]) == made.samples
    (['prompts', 'responses', 'sampled_responses', 'semantic_entropy_confidence'], True)
    """
    return {
        "data": {
            "prompts": [verdict.question for verdict in verdicts],
            "responses": [verdict.answer for verdict in verdicts],
            "sampled_responses": [[sample.text for sample in verdict.draws] for verdict in verdicts],
            "semantic_entropy_confidence": [verdict.score for verdict in verdicts],
        },
        "metadata": {
            "num_responses": max((verdict.samples for verdict in verdicts), default=0),
            "scorers": ["semantic_entropy_confidence"],
        },
    }

"""promptfoo: an assertion, `type: python` with `value: file://PATH:get_assert`, that says 0 to 1 with the reason.

`python -m semtropy.integrations.promptfoo` prints the line for the configuration.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from semtropy.integrations.bridge import Bridge
from semtropy.verdict import score_reason

__all__ = ["get_assert"]


@cache
def _bridge(options: str) -> Bridge:
    return Bridge(**json.loads(options))


def get_assert(output: str, context: Any) -> dict[str, Any]:
    """Check `output`. Options are `config` of the assertion; `model` names what draws the samples."""
    options = dict(context.get("config") or {})
    minimum = float(options.pop("minimum", 0.5))
    prompt = context["prompt"]
    try:
        messages = json.loads(prompt)
    except ValueError:
        messages = prompt
    asked = messages if isinstance(messages, list) else prompt
    verdict = _bridge(json.dumps(options, sort_keys=True)).check(asked, answer=output)
    score = verdict.score
    named = {"entropy": verdict.entropy.mean, "samples": float(verdict.samples)}
    passed = score is not None and score >= minimum
    return {"pass": passed, "score": score or 0.0, "reason": score_reason(verdict), "named_scores": named}


if __name__ == "__main__":
    print(f"file://{Path(__file__).resolve()}:get_assert")

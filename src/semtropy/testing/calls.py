"""Tool calls in the replies of emulated endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .providers import Provider

__all__ = ["with_calls"]


def with_calls(choice: dict[str, Any], body: Mapping[str, Any], provider: Provider) -> dict[str, Any]:
    """The choice of a chat completion, with its text as tool calls where it is some and the request has tools.

    The text of a call is `{"tool_calls": [{"name": ..., "arguments": {...}}]}`.
    """
    text = choice["message"]["content"]
    thought, aloud, said = text.rpartition("</think>\n\n")
    if not body.get("tools") or not said.startswith('{"tool_calls"') or choice["finish_reason"] != "stop":
        return choice
    calls = [
        {
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for place, call in enumerate(json.loads(said)["tool_calls"])
    ]
    content = f"{thought}{aloud}" or provider.beside_calls
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    return {**choice, "message": message, "finish_reason": provider.calls_finish}

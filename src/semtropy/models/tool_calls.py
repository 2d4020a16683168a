"""Tool calls in replies, as text: what two of them are compared by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .replies import chat_sample

if TYPE_CHECKING:
    from ..nouns import Sample

__all__ = ["calls_to_text", "sample_with_calls"]


def calls_to_text(calls: Sequence[Any]) -> str:
    """Tool calls as text: what an endpoint sends under `tool_calls`, without ids.

    >>> calls_to_text([{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}])
    '{"tool_calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}'
    """
    made = []
    for call in calls:
        inner = call.get("function", call) if isinstance(call, Mapping) else {}
        inner = inner if isinstance(inner, Mapping) else {}
        arguments = inner.get("arguments")
        if isinstance(arguments, str):
            with suppress(ValueError, RecursionError):  # arguments that are not JSON are compared as text
                arguments = json.loads(arguments or "{}")
        made.append({"name": str(inner.get("name") or ""), "arguments": arguments})
    return json.dumps({"tool_calls": made}, ensure_ascii=False)


def sample_with_calls(choice: dict[str, Any], *, logprobs_of_sampling: bool) -> Sample:
    """The sample in a choice of a chat completion; tool calls are its text, and their probability is unknown."""
    message = choice.get("message")
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list) or not calls:
        return chat_sample(choice, logprobs_of_sampling=logprobs_of_sampling)
    bare = chat_sample({**choice, "message": {"content": ""}, "logprobs": None}, logprobs_of_sampling=False)
    return replace(bare, text=calls_to_text(calls), complete=choice.get("finish_reason") != "length")

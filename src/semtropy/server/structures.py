"""What a request says about the form of its answers: a schema, tools, choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..structured import Choices, JsonAnswers, ToolCalls

if TYPE_CHECKING:
    from ..structured import Structure

__all__ = ["structure_of"]


def structure_of(
    body: Mapping[str, Any], *, choices: Sequence[str] | None = None, required: Sequence[str] | None = None
) -> Structure | None:
    """How the answers to a completion request are read; None for plain text.

    `choices` that the client names come first, then `tools`, then a JSON schema (`response_format`, or `text.format` in
    the responses API), then the choices of vLLM's `guided_choice`. A schema beside tools is that of answers in text.

    >>> structure_of({"messages": []}) is None
    True
    """
    if choices is not None:
        return Choices(choices)
    schema = _schema(body)
    tools = [tool for tool in _list(body.get("tools")) if _is_function(tool)]
    if tools and body.get("tool_choice") != "none":
        return ToolCalls(tools, content=schema, required=required)
    if schema is not None:
        return JsonAnswers(schema, required=required)
    guided = [each for each in _list(body.get("guided_choice")) if isinstance(each, str)]
    return Choices(guided) if len(guided) > 1 else None


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema that a request asks for; an object of any form where it asks for JSON alone."""
    text = body.get("text")
    asked = body.get("response_format") or (text.get("format") if isinstance(text, Mapping) else None)
    if not isinstance(asked, Mapping):
        return None
    if asked.get("type") == "json_object":
        return {"type": "object"}
    if asked.get("type") != "json_schema":
        return None
    inner = asked.get("json_schema", asked)
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    return schema if isinstance(schema, Mapping) else {"type": "object"}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _is_function(tool: Any) -> bool:
    """Whether a tool is a function with a name; those that the provider runs itself (web search) are no calls."""
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
    return isinstance(inner, Mapping) and isinstance(inner.get("name"), str)

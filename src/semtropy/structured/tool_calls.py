"""Answers that call tools: the name, then the arguments as fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..models.constrained import with_tools
from .document import Node, find_json, plain
from .grouping import Reading, StructuredGrouping, field_names
from .schema import as_schema

if TYPE_CHECKING:
    from ..nouns import Model

__all__ = ["ToolCalls"]


class Call(NamedTuple):
    """One call: the name of the tool, a text, and the arguments."""

    name: Node
    arguments: Node


Calls = tuple[Call, ...]


class ToolCalls:
    """Answers that call tools, or answer in text: the field `tool`, then the arguments by tool.

    tools     as in a request to an endpoint: {"function": {"name", "parameters"}}, or the inner part
    content   the JSON schema of answers in text, None where they are plain
    required  the fields that the verdict waits for; default the tools called and the arguments they require

    An answer is the text that `calls_to_text` makes of its calls. Any other text is an answer without a call: its field
    is `content`.
    """

    def __init__(
        self,
        tools: Sequence[Mapping[str, Any]],
        *,
        content: Any = None,
        required: Sequence[str] | None = None,
    ) -> None:
        self.tools, self.required = tools, field_names(required)
        self.content = None if content is None else as_schema(content)
        self.parameters: dict[str, dict[str, Any]] = {}
        for place, tool in enumerate(tools):
            inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
            if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
                raise InputError(f"tools[{place}] has no name: give what a request to the endpoint has")
            self.parameters[inner["name"]] = as_schema(inner.get("parameters") or {"type": "object"})

    def read(self, text: str, like: Calls = ()) -> Reading | None:
        """The calls in an answer as one object, with a schema of the same form; None for an empty answer.

        Calls of one tool may come in any order: they are put in that of the calls that they are `like`.
        """
        calls = calls_in(text)
        if calls is None:
            return self._read_text(text)
        calls = _aligned(calls, like)
        nodes: dict[str, Node] = {}
        nodes["tool"] = _names(calls, text)
        properties: dict[str, Any] = {"tool": {"type": "string", "pattern": "^"}}  # a name: no judge
        for call in calls:
            name, arguments = call.name.value, call.arguments
            same = sum(key == name or key.startswith(f"{name}#") for key in properties)
            key = name if not same else f"{name}#{same + 1}"
            properties[key] = self.parameters.get(name, {})
            # Arguments that are cut off or not JSON are none: those that the tool requires are then not there.
            if isinstance(arguments.value, dict) or not properties[key].get("required"):
                nodes[key] = arguments
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        for shared in ("$defs", "definitions"):  # what references inside the parameters refer to
            schema[shared] = {
                k: v for own in self.parameters.values() for k, v in own.get(shared, {}).items()
            }
        unknown = any(call.name.value not in self.parameters for call in calls)
        return Reading(Node(nodes, 0, len(text)), schema, frozenset({"tool"} if unknown else ()))

    def _read_text(self, text: str) -> Reading | None:
        """An answer without a call: text, or JSON where a schema asks for it."""
        content: Node | None = Node(text, 0, len(text)) if text.strip() else None
        if self.content is not None:
            content = find_json(text, "{")
        if content is None:
            return None
        schema = self.content or {"type": "string"}
        properties = {"tool": {}, "content": schema}
        whole = {"type": "object", "properties": properties, "required": list(properties)}
        whole |= {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        return Reading(Node({"tool": Node(None, 0, 0), "content": content}, 0, len(text)), whole)

    def asking(self, model: Model) -> Model:
        """The model with the tools to call, where it takes tools."""
        return with_tools(model, self.tools)

    def grouping(self, question: str) -> StructuredGrouping:
        """A grouping of the answers to one question."""
        unparsed = "the model returned neither a tool call nor text"
        read = _CallReader(self).read
        return StructuredGrouping(
            question, read, unparsed=unparsed, required=self.required, answered_only=True
        )


class _CallReader:
    """Reads the calls of several answers, with those of one tool in the order of the first answer."""

    def __init__(self, structure: ToolCalls) -> None:
        self._structure = structure
        self._first: Calls = ()

    def read(self, text: str) -> Reading | None:
        """The calls in an answer as one object."""
        self._first = self._first or calls_in(text) or ()
        return self._structure.read(text, self._first)


def calls_in(text: str) -> Calls | None:
    """The name and arguments of each call in what `calls_to_text` made; None for anything else."""
    node = find_json(text)
    held = node.value.get("tool_calls") if node is not None and isinstance(node.value, dict) else None
    if held is None or not isinstance(held.value, list) or not held.value:
        return None
    calls = []
    for each in held.value:
        if not isinstance(each.value, dict) or not {"name", "arguments"} <= set(each.value):
            return None
        name = each.value["name"]
        calls.append(Call(replace(name, value=str(name.value)), each.value["arguments"]))
    return tuple(calls)


def _names(calls: Calls, text: str) -> Node:
    """The tools called; several names stand in several places, so their tokens are not those of one value."""
    if len(calls) == 1:
        return calls[0].name
    return Node(", ".join(sorted(call.name.value for call in calls)), len(text), len(text))


def _aligned(calls: Calls, like: Calls) -> Calls:
    """The calls of each tool in the order of those in `like` with which they share the most arguments."""
    waiting, ordered = list(calls), list[Call]()
    for one in like:
        same = [each for each in waiting if each.name.value == one.name.value]
        if same:
            best = max(same, key=lambda each: _shared(each.arguments, one.arguments))
            waiting.remove(best)
            ordered.append(best)
    return (*ordered, *waiting)


def _shared(one: Node, other: Node) -> int:
    """How many arguments of two calls are the same."""
    mine, theirs = plain(one), plain(other)
    if not (isinstance(mine, dict) and isinstance(theirs, dict)):
        return int(mine == theirs)
    return sum(key in theirs and theirs[key] == value for key, value in mine.items())

"""Structures that an answer can have: JSON of a schema, and tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from ..models.constrained import with_schema, with_tools
from .choices import Choices
from .document import Node, find_json
from .grouping import Reading, StructuredGrouping
from .schema import as_schema

if TYPE_CHECKING:
    from ..inquiry import Grouping
    from ..nouns import Model

__all__ = ["JsonAnswers", "Structure", "ToolCalls", "load_structure"]


class Structure(Protocol):
    """How answers are read and compared."""

    def grouping(self, question: str) -> Grouping:
        """A grouping of the answers to one question."""
        ...

    def asking(self, model: Model) -> Model:
        """The model, made to answer so where it can."""
        ...


class JsonAnswers:
    """Answers that are JSON.

    schema    a JSON schema, OpenAI's `response_format`, a dataclass, a TypedDict or a pydantic model
    required  the fields that the verdict waits for; default those that the schema requires

    >>> JsonAnswers({"type": "object"}).read('{"year": 1912}').node.value["year"].end
    13
    """

    def __init__(self, schema: Any, *, required: Sequence[str] | None = None) -> None:
        self.schema = as_schema(schema)
        self.required = _names(required)

    def read(self, text: str) -> Reading | None:
        """The JSON in an answer, None where there is none of the schema's type."""
        types = self.schema.get("type")
        openers = {"object": "{", "array": "["}.get(types if isinstance(types, str) else "", "")
        if types is None:
            openers = "{["
        node = find_json(text, openers)
        return None if node is None else Reading(node, self.schema)

    def asking(self, model: Model) -> Model:
        """The model, restricted to the schema where it can be."""
        return with_schema(model, self.schema)

    def grouping(self, question: str) -> StructuredGrouping:
        """A grouping of the answers to one question."""
        unparsed = "the model's reply is not JSON as the schema asks for"
        return StructuredGrouping(question, self.read, unparsed=unparsed, required=self.required)


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
        self.tools, self.required = tools, _names(required)
        self.content = None if content is None else as_schema(content)
        self.parameters: dict[str, dict[str, Any]] = {}
        for place, tool in enumerate(tools):
            inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
            if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
                raise InputError(f"tools[{place}] has no name: give what a request to the endpoint has")
            self.parameters[inner["name"]] = as_schema(inner.get("parameters") or {"type": "object"})

    def read(self, text: str) -> Reading | None:
        """The calls in an answer as one object, with a schema of the same form; None for an empty answer."""
        calls = _calls(find_json(text))
        if calls is None:
            return self._read_text(text)
        nodes: dict[str, Node] = {}
        names = ", ".join(sorted(name for name, _ in calls))
        nodes["tool"] = Node(names, 0, len(text))
        properties: dict[str, Any] = {"tool": {"type": "string", "pattern": "^"}}  # a name: no judge
        for name, arguments in calls:
            same = sum(key == name or key.startswith(f"{name}#") for key in nodes)
            key = name if not same else f"{name}#{same + 1}"
            nodes[key] = arguments
            properties[key] = self.parameters.get(name, {})
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        for shared in ("$defs", "definitions"):  # what references inside the parameters refer to
            schema[shared] = {
                k: v for own in self.parameters.values() for k, v in own.get(shared, {}).items()
            }
        return Reading(Node(nodes, 0, len(text)), schema)

    def _read_text(self, text: str) -> Reading | None:
        """An answer without a call: text, or JSON where a schema asks for it."""
        content: Node | None = Node(text, 0, len(text)) if text.strip() else None
        if self.content is not None:
            content = find_json(text, "{")
        if content is None:
            return None
        schema = self.content or {"type": "string"}
        whole = {"type": "object", "properties": {"content": schema}, "required": ["tool", "content"]}
        whole |= {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        return Reading(Node({"tool": Node(None, 0, 0), "content": content}, 0, len(text)), whole)

    def asking(self, model: Model) -> Model:
        """The model with the tools to call, where it takes tools."""
        return with_tools(model, self.tools)

    def grouping(self, question: str) -> StructuredGrouping:
        """A grouping of the answers to one question."""
        unparsed = "the model returned neither a tool call nor text"
        return StructuredGrouping(question, self.read, unparsed=unparsed, required=self.required)


def _calls(node: Node | None) -> list[tuple[str, Node]] | None:
    """The name and arguments of each call in what `calls_to_text` made; None for anything else."""
    held = node.value.get("tool_calls") if node is not None and isinstance(node.value, dict) else None
    if held is None or not isinstance(held.value, list) or not held.value:
        return None
    calls = []
    for each in held.value:
        if not isinstance(each.value, dict) or not {"name", "arguments"} <= set(each.value):
            return None
        calls.append((str(each.value["name"].value), each.value["arguments"]))
    return calls


def load_structure(
    schema: Any = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    choices: Sequence[str] | None = None,
    required: Sequence[str] | None = None,
) -> Structure:
    """How answers are read: as JSON of a schema, as tool calls, or as one of several choices."""
    if sum(each is not None for each in (schema, tools, choices)) > 1:
        raise InputError("schema, tools and choices are three ways to read an answer: give one of them")
    if choices is not None and required is None:
        return Choices(choices)
    if tools is not None:
        return ToolCalls(tools, required=required)
    if schema is None:
        raise InputError("required names fields of an answer: it goes with schema or tools")
    return JsonAnswers(schema, required=required)


def _names(required: Sequence[str] | None) -> tuple[str, ...] | None:
    if required is None:
        return None
    if isinstance(required, str) or not all(isinstance(name, str) for name in required):
        raise InputError("required must be a list of field names")
    return tuple(required)

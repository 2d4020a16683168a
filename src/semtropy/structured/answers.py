"""Structures that an answer can have: JSON of a schema, tool calls or choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from ..models.constrained import with_schema
from .choices import Choices
from .document import find_json
from .grouping import Reading, StructuredGrouping, field_names
from .schema import as_schema
from .tool_calls import ToolCalls

if TYPE_CHECKING:
    from ..inquiry import Grouping
    from ..nouns import Model

__all__ = ["JsonAnswers", "Structure", "load_structure"]


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
        self.required = field_names(required)

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

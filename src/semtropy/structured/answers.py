"""Structures that an answer can have: JSON of a schema, tool calls or choices."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError, meant
from ..meaning.partition import Grouper
from ..meaning.spelling import normalise
from ..models.constrained import with_schema, with_tools
from ..refusals import missing_answer
from .document import Node, as_schema, check_types, find_json, is_ordered, item_schema, leaves, plain, resolve
from .fields import ABSENT, UNPARSED, ItemLabels, LabelledAnswer, SideBySide, as_text, value_key

if TYPE_CHECKING:
    from ..inquiry.steps import FieldReading
    from ..nouns import Floats, Model, Sample, Token
    from .document import Schema


# Multiple choice: which of the choices an answer names. No judge is needed.


_LEAD = r"(?:the |my )?(?:(?:correct|final|right|best) )?(?:answer|option|choice)?(?: is)?\s*[:\-]?\s*"


class Choices:
    """The choices of a question.

    choices  the texts that an answer may be, at least two, all different

    >>> chosen = Choices(["Paris", "Lyon"])
    >>> chosen.find("It is Paris."), chosen.find("Paris or Lyon"), chosen.find("Rome")
    (0, None, None)
    >>> Choices(["A", "B", "C"]).find("(B) because it is the capital")
    1
    """

    def __init__(self, choices: Sequence[str]) -> None:
        if isinstance(choices, str) or not all(isinstance(each, str) and each.strip() for each in choices):
            raise InputError("choices must be a list of texts, none of them empty")
        self.choices = tuple(each.strip() for each in choices)
        if len({each.casefold() for each in self.choices}) < max(2, len(self.choices)):
            raise InputError(
                f"choices are {', '.join(self.choices) or 'none'}: give at least two, all different"
            )
        named = "|".join(re.escape(each) for each in sorted(self.choices, key=len, reverse=True))
        self._words = re.compile(rf"(?<!\w)(?:{named})(?!\w)", re.IGNORECASE)
        # A single letter is a label only where nothing but a mark follows it: "A cat" is not choice A.
        self._label = re.compile(rf"\W*{_LEAD}\W*({named})(?=\W*$|[).:,\]*]|\s+[-–—])", re.IGNORECASE)

    def find(self, text: str) -> int | None:
        """The place of the one choice that an answer names; None where it names none or several."""
        folded = [each.casefold() for each in self.choices]
        stripped = text.strip().strip("\"'`*.()[] ").casefold()
        if stripped in folded:
            return folded.index(stripped)
        spelled = [normalise(each) for each in self.choices]
        if spelled.count(normalise(text)) == 1:
            return spelled.index(normalise(text))
        label = self._label.match(text.strip())
        if label is not None:
            return folded.index(label[1].casefold())
        if min(map(len, self.choices)) < 2:
            return None
        named = {match.casefold() for match in self._words.findall(text)}
        return folded.index(named.pop()) if len(named) == 1 else None

    def asking(self, model: Model) -> Model:
        """The model as it is: the question names the choices."""
        return model

    def grouping(self, question: str) -> ChoiceGrouping:
        """A grouping of the answers to one question."""
        return ChoiceGrouping(self)


class ChoiceGrouping:
    """Places answers by the choice they name; those that name none are one outcome."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[tuple[str, str, str]], Floats, int]:
        """The place of the choice, or the number of choices for none."""
        yield from ()
        found = self._choices.find(text)
        return len(self._choices.choices) if found is None else found

    def missing(self, answer: Sample) -> str | None:
        """Why there is no answer to judge: none was given, or it names none of the choices."""
        if self._choices.find(answer.text) is not None:
            return None
        return missing_answer(answer) or f"it names none of the choices {', '.join(self._choices.choices)}"

    def fields(self, answer: Sample | None, samples: Sequence[Sample]) -> Sequence[FieldReading]:
        """None: a choice is judged as a whole."""
        return ()


# Groups structured answers field by field: arithmetic where it decides, the judge for text, lists item by item.


Triple = tuple[str, str, str]
Labelling = Generator[Sequence[Triple], "Floats", Hashable]


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer, parsed: its value, the schema it is read by, and the fields whose value is none of those offered."""

    node: Node
    schema: Schema
    refused: frozenset[str] = frozenset()


class StructuredGrouping:
    """Places structured answers to one question, and hands out their fields.

    question  what was asked
    read      parses an answer; None for one that is not JSON
    unparsed  why such an answer cannot be judged
    required  names of the fields that the verdict waits for; None for those that the schema requires
    answered_only  leaves out what samples have under a key that the answer does not have, such as another tool
    """

    def __init__(
        self,
        question: str,
        read: Callable[[str], Reading | None],
        *,
        unparsed: str,
        required: Sequence[str] | None = None,
        answered_only: bool = False,
    ) -> None:
        self._question, self._read, self._unparsed, self._required = question, read, unparsed, required
        self._answered_only = answered_only
        self._groupers: dict[str, Grouper] = {}
        self._known: dict[str, LabelledAnswer | None] = {}
        self._wholes: dict[Hashable, int] = {}

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[Triple], Floats, int]:
        """Find the meaning of every field; the number returned is that of all required ones together."""
        if text not in self._known:
            reading = self._read(text)
            self._known[text] = None if reading is None else (yield from self._labelled(reading))
        found = self._known[text]
        whole = UNPARSED if found is None else self._whole(found)
        return self._wholes.setdefault(whole, len(self._wholes))

    def missing(self, answer: Sample) -> str | None:
        """Why there is no answer to judge: none was given, or it is not JSON."""
        if self._known.get(answer.text) is not None:
            return None
        return missing_answer(answer) or self._unparsed

    def fields(self, answer: Sample | None, samples: Sequence[Sample]) -> Sequence[FieldReading]:
        """Every field of the answer, and those that the samples have instead."""
        own = None if answer is None else self._known.get(answer.text)
        if answer is not None and own is None:
            return ()
        view = SideBySide(answer, own, tuple(samples), [self._known[sample.text] for sample in samples])
        readings = list(view.readings())
        if self._answered_only and own is not None:
            keys = tuple({path.split(".")[0] for path in own.leaves})
            readings = [each for each in readings if _is_named(each.name, keys)]
        if self._required is None:
            return readings
        return [replace(each, required=_is_named(each.name, self._required)) for each in readings]

    def _labelled(self, reading: Reading) -> Generator[Sequence[Triple], Floats, LabelledAnswer]:
        found = LabelledAnswer(start=reading.node.start, refused=reading.refused)
        for leaf in leaves(reading.node, reading.schema, reading.schema):
            if leaf.node is not None:
                found.labels[leaf.path] = yield from self._label(
                    leaf.node, leaf.schema, reading.schema, leaf.path
                )
            found.leaves[leaf.path] = leaf
        return found

    def _whole(self, found: LabelledAnswer) -> Hashable:
        chosen = [path for path, leaf in found.leaves.items() if leaf.required]
        if self._required is not None:
            chosen = [path for path in found.leaves if _is_named(path, self._required)]
        return frozenset((path, found.labels.get(path, ABSENT)) for path in chosen or found.leaves)

    def _label(self, node: Node, schema: Schema, root: Schema, path: str) -> Labelling:
        """The meaning of a value, built from those of its parts."""
        key = value_key(node, schema)
        if key is not None:
            return key
        if isinstance(node.value, list):
            ordered, items = is_ordered(schema), []
            for place, item in enumerate(node.value):
                own = resolve(item_schema(schema, place), root, item)
                where = f"{path}[{place}]" if ordered else f"{path}[]"
                items.append((yield from self._label(item, own, root, where)))
            return ("tuple", *items) if ordered else ItemLabels(items)
        if isinstance(node.value, dict):
            parts: dict[str, Hashable] = {}
            for leaf in leaves(node, schema, root, path):
                if leaf.node is not None:
                    parts[leaf.path] = yield from self._label(leaf.node, leaf.schema, root, leaf.path)
            return frozenset(parts.items())
        if path not in self._groupers:
            about = schema.get("description") or schema.get("title") or path
            self._groupers[path] = Grouper(f"{self._question} ({about})")
        return "text", (yield from self._groupers[path].place(as_text(node)))


def _is_named(name: str, chosen: Sequence[str]) -> bool:
    """Whether a field is one of those chosen, or part of one: "authors" has "authors[0].name"."""
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in chosen)


def field_names(required: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of fields that a caller gave, refused where they are no list of texts."""
    if required is None:
        return None
    if isinstance(required, str) or not all(isinstance(name, str) for name in required):
        raise InputError("required must be a list of field names")
    return tuple(required)


# Answers that call tools: the name, then the arguments as fields.


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
        if not isinstance(tools, list | tuple) or not tools:
            raise InputError("tools must be a list of at least one tool, as in a request to an endpoint")
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
        first: Calls = ()  # those of one tool are read in the order of the first answer

        def read(text: str) -> Reading | None:
            nonlocal first
            first = first or calls_in(text) or ()
            return self.read(text, first)

        unparsed = "the model returned neither a tool call nor text"
        return StructuredGrouping(
            question, read, unparsed=unparsed, required=self.required, answered_only=True
        )


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


Structure = Choices | ToolCalls | JsonAnswers
"""How answers are read and compared."""


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
        calls = ToolCalls(tools, required=required)
        for name, parameters in calls.parameters.items():
            check_types(parameters, f"parameters of {name}")
        return calls
    if schema is None:
        raise InputError("required names fields of an answer: it goes with schema or tools")
    answers = JsonAnswers(schema, required=required)
    check_types(answers.schema)
    _check_required(answers.required or (), answers.schema)
    return answers


def _check_required(required: Sequence[str], schema: Schema) -> None:
    """Refuse the name of a field that the schema does not have, where it has names and lets in no others."""
    found = resolve(schema, schema, None)
    declared = found.get("properties")
    if not declared or found.get("additionalProperties"):
        return
    for name in required:
        if not any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in declared):
            raise InputError(f"required names {name!r}, no field of the schema: {meant(name, declared)}")

"""JSON as models write it: found inside prose or a code fence, with the place of every value in the text.

The places tell which tokens a field's value ends at, for its lower bound (`sample_with_bound`). Numbers are decimals,
so that 0.1 stays 0.1. A key that appears twice makes a document invalid: readers disagree about which of the two
counts.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json import JSONDecoder
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ..errors import InputError

# Dataclasses and typed dictionaries as JSON schemas; pydantic models make their own.


_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.time: {"type": "string", "format": "time"},
    Any: {},
    object: {},
}


def schema_of_type(kind: Any) -> dict[str, Any]:
    """The JSON schema of a dataclass, a TypedDict, or a type that one may have as a field.

    >>> @dataclasses.dataclass
    ... class City:
    ...     name: str
    ...     founded: int | None = None
    >>> schema_of_type(City)["required"]
    ['name']
    """
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        fields = dataclasses.fields(kind)
        unset = dataclasses.MISSING
        required = [f.name for f in fields if f.default is unset and f.default_factory is unset]
        return _object_schema(kind, [f.name for f in fields], required)
    if isinstance(kind, type) and hasattr(kind, "__required_keys__"):
        return _object_schema(
            kind, list(kind.__annotations__), [k for k in kind.__annotations__ if k in kind.__required_keys__]
        )
    if callable(made := getattr(kind, "model_json_schema", None)):
        return dict(made())
    return _generic(kind)


def _object_schema(kind: Any, names: list[str], required: list[str]) -> dict[str, Any]:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InputError(
            f"schema: {kind.__name__}: {error}: define its types where they can be found"
        ) from None
    properties = {name: schema_of_type(hints[name]) for name in names}
    return {"type": "object", "title": kind.__name__, "properties": properties, "required": required}


def _generic(kind: Any) -> dict[str, Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        made = schema_of_type(arguments[0])
        about = next((each for each in arguments[1:] if isinstance(each, str)), None)
        return made if about is None else {**made, "description": about}
    if origin in (Required, NotRequired):
        return schema_of_type(arguments[0])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of_type(each) for each in arguments]}
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return {"type": "array", "prefixItems": [schema_of_type(each) for each in arguments]}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of_type(arguments[1])}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset):
        return {"type": "array", "items": schema_of_type(arguments[0])}
    if kind in (list, tuple, set, dict):
        return {"type": "object" if kind is dict else "array"}
    raise InputError(
        f"schema: {kind!r} has no JSON schema: use str, int, float, bool, dates, enums, lists or dataclasses"
    )


_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_read_text = JSONDecoder(strict=False).raw_decode  # models write line breaks inside texts
_DEEPEST = 64
_LONGEST_NUMBER = 1000  # characters


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and its place in the text: `text[start:end]`.

    value  text, a Decimal, True, False or None; a dict of nodes for an object, a list of nodes for an array

    >>> find_json('Here: {"year": 1912}').value["year"].value
    Decimal('1912')
    """

    value: Any
    start: int
    end: int


def plain(node: Node) -> Any:
    """The value as `json.loads` gives it: numbers without a point or exponent as int, others as float.

    >>> plain(find_json('{"a": [1, 2.5, null]}'))
    {'a': [1, 2.5, None]}
    """
    value = node.value
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    return value


def find_json(text: str, openers: str = "{[") -> Node | None:
    """The JSON value in a reply: the whole of it, a fenced block, or from the first bracket on; None for none.

    openers  the brackets that the value may begin with, "" for any value, which must then be the whole text

    >>> find_json("```json\\n[1, 2]\\n```").start, find_json("no braces here"), find_json('{"a": 1')
    (8, None, None)
    """
    fence = _FENCE.search(text)
    starts = [0] if fence is None else [fence.start(1), 0]
    if openers:
        first = re.search(f"[{re.escape(openers)}]", text)
        starts += [] if first is None else [first.start()]
    for start in starts:
        try:
            node = _value(text, _skip(text, start), 0)
        except (ValueError, IndexError):
            continue
        is_container = isinstance(node.value, dict | list)
        if (is_container and text[node.start] in openers) or (
            not openers and not text[node.end :].strip(" \t\r\n`")
        ):
            return node
    return None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int) -> Node:
    """The value that begins at `at`; a ValueError or IndexError where there is none."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    first = text[at]
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _array(text, at, depth)
    if first == '"':
        value, end = _read_text(text, at)
        return Node(value, at, end)
    for word, constant in _WORDS.items():
        if text.startswith(word, at):
            return Node(constant, at, at + len(word))
    number = _NUMBER.match(text, at)
    if number is None or len(number[0]) > _LONGEST_NUMBER:
        raise ValueError("no value")
    return Node(_decimal(number[0]), at, number.end())


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    if value.as_tuple().exponent != 0 and (math.isinf(float(value)) or value.adjusted() < -400):
        raise ValueError("out of the range of a double")
    return value


def _object(text: str, at: int, depth: int) -> Node:
    start, members = at, dict[str, Node]()
    at = _skip(text, at + 1)
    while text[at] != "}":
        if members:
            at = _skip(text, _expect(text, at, ","))
        if text[at] != '"':
            raise ValueError("no key")
        key, at = _read_text(text, at)
        at = _skip(text, _expect(text, _skip(text, at), ":"))
        if key in members:
            raise ValueError("a key twice")
        members[key] = node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
    return Node(members, start, at + 1)


def _array(text: str, at: int, depth: int) -> Node:
    start, items = at, list[Node]()
    at = _skip(text, at + 1)
    while text[at] != "]":
        if items:
            at = _skip(text, _expect(text, at, ","))
        items.append(_value(text, at, depth + 1))
        at = _skip(text, items[-1].end)
    return Node(items, start, at + 1)


def _expect(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(f"expected {mark}")
    return at + 1


# JSON schemas, as far as reading an answer field by field needs them: types, formats, references, required fields.
#
# A schema guides, it does not validate: where an answer departs from it, the value itself says how it is compared.


Schema = Mapping[str, Any]
_DEEPEST_REFERENCE = 32  # references that lead to references
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (Decimal,),
    "integer": (Decimal,),
    "boolean": (bool,),
    "null": (type(None),),
}


def as_schema(source: Any) -> dict[str, Any]:
    """A JSON schema from one, from OpenAI's `response_format`, a dataclass, a TypedDict or a pydantic model.

    >>> as_schema({"type": "json_schema", "json_schema": {"name": "city", "schema": {"type": "object"}}})
    {'type': 'object'}
    >>> as_schema("city")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: schema is of type str: give a JSON schema, a dataclass, a TypedDict or a pydantic model
    """
    if isinstance(source, Mapping):
        wrapped = source.get("json_schema") if source.get("type") == "json_schema" else source
        if isinstance(wrapped, Mapping) and isinstance(wrapped.get("schema"), Mapping):
            wrapped = wrapped["schema"]
        return _checked(wrapped)
    if callable(made := getattr(source, "model_json_schema", None)):
        return _checked(made())
    if isinstance(source, type):
        return schema_of_type(source)
    raise InputError(
        f"schema is of type {type(source).__name__}: give a JSON schema, a dataclass, a TypedDict or a pydantic model"
    )


def _checked(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise InputError(f"schema is of type {type(schema).__name__}: a JSON schema is an object")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"schema cannot be written as JSON: {error}") from None
    for name, wanted in (("properties", dict), ("required", list), ("$defs", dict), ("enum", list)):
        if name in copied and not isinstance(copied[name], wanted):
            raise InputError(f"schema: {name} must be {'an object' if wanted is dict else 'a list'}")
    return copied


_SCHEMAS_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SCHEMAS_IN_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONE_SCHEMA = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else")


def check_types(schema: Schema, path: str = "schema") -> None:
    """Refuse a type that JSON does not have, wherever it stands in a schema; `path` is what errors call the schema.

    Only for schemas that somebody writes for a check: one that an endpoint has accepted is read as far as it goes.

    >>> check_types({"properties": {"year": {"type": "strng"}}})
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: schema.properties.year.type is 'strng': choose one of object, array, string, number, \
integer, boolean, null
    """
    open_schemas: list[tuple[str, Any]] = [(path, schema)]
    while open_schemas:
        at, each = open_schemas.pop()
        if isinstance(each, bool):
            continue
        if not isinstance(each, Mapping):
            raise InputError(f'{at} is {each!r}: expected a schema, an object such as {{"type": "string"}}')
        types = each.get("type", [])
        for name in types if isinstance(types, list) else [types]:
            if not isinstance(name, str) or name not in _TYPES:
                raise InputError(f"{at}.type is {name!r}: choose one of {', '.join(_TYPES)}")
        open_schemas += reversed([(f"{at}.{key}", inner) for key, inner in _subschemas(each)])


def _subschemas(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The schemas directly inside one, each with its place there."""
    for key in _SCHEMAS_BY_NAME:
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            yield from ((f"{key}.{name}", each) for name, each in inner.items())
    for key in (*_SCHEMAS_IN_LIST, *_ONE_SCHEMA):
        inner = schema.get(key)
        if isinstance(inner, list):
            yield from ((f"{key}[{place}]", each) for place, each in enumerate(inner))
        elif key in schema and key in _ONE_SCHEMA:
            yield key, inner


def resolve(schema: Any, root: Schema, node: Node | None) -> dict[str, Any]:
    """The schema of one value without references, alternatives and conjunctions, as far as the value tells."""
    return _resolve(schema, root, node, 0)


def _resolve(schema: Any, root: Schema, node: Node | None, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST_REFERENCE:
        return {}
    found = dict(schema)
    reference = found.pop("$ref", None)
    if isinstance(reference, str):
        found = {**_resolve(_referenced(reference, root), root, node, depth + 1), **found}
    for part in found.pop("allOf", None) or ():
        found = _merged(found, _resolve(part, root, node, depth + 1))
    alternatives = [*(found.pop("anyOf", None) or ()), *(found.pop("oneOf", None) or ())]
    if alternatives:
        options = [_resolve(each, root, node, depth + 1) for each in alternatives]
        found = _merged(found, next((each for each in options if _fits(each, node)), {}))
    if isinstance(found.get("type"), list):
        named = [each for each in found["type"] if _fits({"type": each}, node)]
        found["type"] = named[0] if named else None
    return found


def _referenced(reference: str, root: Schema) -> Any:
    at: Any = root
    for part in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        key = part.replace("~1", "/").replace("~0", "~")
        at = at.get(key) if isinstance(at, Mapping) else None
    if at is None:
        raise InputError(
            f"schema: {reference!r} refers to nothing: only references inside the schema are followed"
        )
    return at


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = {**other, **one}
    if "properties" in one and "properties" in other:
        both["properties"] = {**other["properties"], **one["properties"]}
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    return both


def _fits(schema: dict[str, Any], node: Node | None) -> bool:
    """Whether a value may be meant by an alternative: its type, its constants, and for an object its required keys."""
    if node is None:
        return schema.get("type") != "null"
    value, types = node.value, schema.get("type")
    if "const" in schema or "enum" in schema:
        return value in (schema["enum"] if "enum" in schema else [schema["const"]])
    named = [types] if isinstance(types, str) else types if isinstance(types, list) else list(_TYPES)
    if not any(isinstance(value, _TYPES.get(str(name), ())) for name in named):
        return False
    if not isinstance(value, dict):
        return True
    properties = schema.get("properties", {})
    constants = {key: each["const"] for key, each in properties.items() if "const" in each}
    return all(key in value for key in schema.get("required", ())) and all(
        key in value and value[key].value == constant for key, constant in constants.items()
    )


# The fields of an answer: every value of an object by its path; a list is one field, unless its places matter.


@dataclass(frozen=True, slots=True)
class Leaf:
    """One field of one answer.

    path      the keys that lead to it, joined by dots
    node      its value, None where a field that the schema declares is not in the answer
    schema    its schema, without references and alternatives
    required  whether the schema requires it, and everything that it is part of
    """

    path: str
    node: Node | None
    schema: Schema
    required: bool


def leaves(
    node: Node | None, schema: Any, root: Schema, path: str = "", *, required: bool = True
) -> Iterator[Leaf]:
    """The fields of a value: those of the schema in its order, then others that the value has.

    Fields that are neither in the value nor required are left out. A value that is no object is one field.

    >>> from .document import find_json
    >>> schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}
    >>> [(leaf.path, leaf.required, leaf.node is None) for leaf in leaves(find_json('{"a": {"c": 1}}'), schema, schema)]
    [('a.c', False, False), ('b', True, True)]
    """
    found = resolve(schema, root, node)
    if node is not None and isinstance(node.value, list) and node.value and is_ordered(found):
        for place, item in enumerate(node.value):
            yield from leaves(item, item_schema(found, place), root, f"{path}[{place}]", required=required)
        return
    declared = found.get("properties", {})
    is_object = node is not None and isinstance(node.value, dict)
    missing = node is None and declared and required
    if not (is_object and node is not None and node.value) and not missing:
        yield Leaf(path or "answer", node, found, required)
        return
    held: dict[str, Node] = node.value if node is not None else {}
    for key in [*declared, *(key for key in held if key not in declared)]:
        needed = required and key in found.get("required", ())
        if key not in held and not needed:
            continue
        own = declared.get(key, found.get("additionalProperties"))
        yield from leaves(held.get(key), own, root, f"{path}.{key}" if path else key, required=needed)


def is_ordered(schema: Schema) -> bool:
    """Whether the places in a list mean something: the schema names them, or fixes their number."""
    return bool(schema.get("prefixItems")) or (schema.get("minItems") or 0) == schema.get("maxItems", -1)


def item_schema(schema: Schema, place: int) -> Any:
    """The schema of the item at `place` in a list."""
    named = schema.get("prefixItems") or []
    return named[place] if place < len(named) else schema.get("items")

"""JSON schemas, as far as reading an answer field by field needs them: types, formats, references, required fields.

A schema guides, it does not validate: where an answer departs from it, the value itself says how it is compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .annotations import schema_of_type

if TYPE_CHECKING:
    from .document import Node

__all__ = ["Schema", "as_schema"]

Schema = Mapping[str, Any]
_DEEPEST = 32  # references that lead to references
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
    semtropy.errors.InputError: schema is a str: give a JSON schema, a dataclass, a TypedDict or a pydantic model
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
        f"schema is a {type(source).__name__}: give a JSON schema, a dataclass, a TypedDict or a pydantic model"
    )


def _checked(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise InputError(f"schema is a {type(schema).__name__}: a JSON schema is an object")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"schema cannot be written as JSON: {error}") from None
    for name, wanted in (("properties", dict), ("required", list), ("$defs", dict), ("enum", list)):
        if name in copied and not isinstance(copied[name], wanted):
            raise InputError(f"schema: {name} must be {'an object' if wanted is dict else 'a list'}")
    return copied


def resolve(schema: Any, root: Schema, node: Node | None) -> dict[str, Any]:
    """The schema of one value without references, alternatives and conjunctions, as far as the value tells."""
    return _resolve(schema, root, node, 0)


def _resolve(schema: Any, root: Schema, node: Node | None, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
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

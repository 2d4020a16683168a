"""Dataclasses and typed dictionaries as JSON schemas; pydantic models make their own."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import types
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from ..errors import InputError

__all__ = ["schema_of_type"]

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
        return _object(kind, [f.name for f in fields], required)
    if isinstance(kind, type) and hasattr(kind, "__required_keys__"):
        return _object(
            kind, list(kind.__annotations__), [k for k in kind.__annotations__ if k in kind.__required_keys__]
        )
    if callable(made := getattr(kind, "model_json_schema", None)):
        return dict(made())
    return _generic(kind)


def _object(kind: Any, names: list[str], required: list[str]) -> dict[str, Any]:
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

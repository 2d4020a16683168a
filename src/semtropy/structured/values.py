"""When two values of a field are the same without a judge: numbers, dates, enums, identifiers, true, false and null."""

from __future__ import annotations

import json
from collections.abc import Hashable
from datetime import UTC, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..meaning.normal import normalise
from ..meaning.quantity import quantity
from .document import plain

if TYPE_CHECKING:
    from .document import Node
    from .schema import Schema

__all__ = ["ABSENT", "UNPARSED", "as_text", "value_key"]

ABSENT: Hashable = ("absent",)
"""The key of a field that an answer does not have."""
UNPARSED: Hashable = ("unparsed",)
"""The key of every field of an answer that is not JSON."""

_DATES = ("date", "date-time", "time")
# Formats whose texts are names of something: one other character is another thing, however alike they look.
_IDENTIFIERS = ("uuid", "uri", "uri-reference", "iri", "email", "idn-email", "hostname", "ipv4", "ipv6")


def value_key(node: Node, schema: Schema) -> Hashable | None:
    """What a value is compared by; None for text, which is for the judge, and for objects and lists.

    >>> from .document import find_json
    >>> def key(text, **schema):
    ...     return value_key(find_json(text, ""), schema)
    >>> key("12") == key("12.0") == key('"12"', type="number"), key("12") == key("13")
    (True, False)
    >>> key('"2024-07-04"', format="date") == key('"July 4, 2024"', format="date")
    True
    >>> key('"red"', enum=["Red", "Green"]) == key('"Red"', enum=["Red", "Green"]), key('"Paris"')
    (True, None)
    """
    value = node.value
    if isinstance(value, dict | list):
        return ("empty", type(value).__name__) if not value else None
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if listed:
        chosen = _listed(value, listed)
        if chosen is not None:
            return "choice", chosen
    if value is None or isinstance(value, bool):
        return "constant", value
    if isinstance(value, Decimal):
        return None if schema.get("type") == "string" else ("number", Fraction(value))
    return _text_key(value, schema)


def _listed(value: Any, listed: list[Any]) -> int | None:
    """The place of a value among those listed; texts are compared without case and closing stops."""
    for place, each in enumerate(listed):
        if each == value and isinstance(each, bool) == isinstance(value, bool):
            return place
    if isinstance(value, str):
        spelled = [normalise(each) if isinstance(each, str) else None for each in listed]
        return spelled.index(normalise(value)) if normalise(value) in spelled else None
    return None


def _text_key(text: str, schema: Schema) -> Hashable | None:
    kind, form = schema.get("type"), schema.get("format")
    if form in _DATES:
        return _date_key(text)
    if kind in ("number", "integer"):
        amount = quantity(text)
        return ("number", amount.value) if amount is not None and amount.unit == "" else None
    if form in _IDENTIFIERS or "pattern" in schema:
        return "identifier", text.strip().casefold() if form in (
            "uuid",
            "email",
            "hostname",
        ) else text.strip()
    return None


def _date_key(text: str) -> Hashable | None:
    """A date or time by its parts, a moment by its place in time; None where it cannot be read as one."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            return "time", time.fromisoformat(text.strip())
        except ValueError:
            amount = quantity(text)
            dated = amount is not None and (amount.date is not None or amount.unit == "time")
            return ("date", amount) if dated else None
    if len(text.strip()) <= len("2024-07-04"):
        return "date", quantity(moment.date().isoformat())
    return "moment", moment.astimezone(UTC) if moment.tzinfo is not None else moment


def as_text(node: Node) -> str:
    """A value as it is shown, and as the judge reads it: text as it is, anything else as JSON.

    >>> from .document import find_json
    >>> as_text(find_json('{"a": [1, "b"]}'))
    '{"a": [1, "b"]}'
    """
    return node.value if isinstance(node.value, str) else json.dumps(plain(node), ensure_ascii=False)

"""The fields of an answer: every value of an object by its path; a list is one field, unless its places matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .schema import resolve

if TYPE_CHECKING:
    from .document import Node
    from .schema import Schema

__all__ = ["Leaf", "is_ordered", "item_schema", "leaves"]


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

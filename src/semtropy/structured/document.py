"""JSON as models write it: found inside prose or a code fence, with the place of every value in the text.

The places tell which tokens a field's value ends at, for its lower bound (`bounds`). Numbers are decimals, so that
0.1 stays 0.1. A key that appears twice makes a document invalid: readers disagree about which of the two counts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from json import JSONDecoder
from typing import Any

__all__ = ["Node", "find_json", "plain"]

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

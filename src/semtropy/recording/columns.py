"""Lossless conversion between JSON objects and typed columns, for Parquet.

A column has one type, and null where there is no value. A JSON object may hold unknown keys, an integer among
floats, or an explicit null. `pack` puts each value into its column if that loses nothing and the rest, as JSON,
into the column `extra`; `unpack` restores the object including the order of its keys. In most recordings `extra`
is empty or holds only the keys the schema does not name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import RecordingError

__all__ = ["ANSWER", "ROW", "SAMPLE", "Layout", "pack", "unpack"]


def _text(value: Any) -> bool:
    return type(value) is str and _is_utf8(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape and a column cannot hold
        return False
    return True


def _whole(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _listed(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is list and all(map(fits, value))


def _float(value: Any) -> bool:
    return type(value) is float


def _truth(value: Any) -> bool:
    return type(value) is bool


def _object(value: Any) -> bool:
    return type(value) is dict


def _tokens(value: Any) -> bool:
    return _listed(_whole)(value) or _listed(_text)(value)


Layout = Mapping[str, tuple[Callable[[Any], bool], bool]]

# Column -> (whether a value fits it, whether null in the column means an explicit null rather than a missing key).
ROW: Layout = {
    "id": (_text, False),
    "question": (_text, False),
    "context": (_text, True),
    "references": (_listed(_text), False),
    "answer": (_object, False),
    "samples": (_listed(_object), False),
    "p_true": (_float, False),
}
ANSWER: Layout = {
    "text": (_text, False),
    "logprob": (_float, False),
    "token_logprobs": (_listed(_float), False),
    "correct": (_truth, True),
}
SAMPLE: Layout = {
    "text": (_text, False),
    "logprob": (_float, False),
    "token_logprobs": (_listed(_float), False),
    "tokens": (_tokens, False),
    "complete": (_truth, False),
    "meaning": (_whole, False),
}


def pack(held: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """The object `held` as a dict of columns.

    >>> pack({"text": "4", "logprob": -1, "accuracy": 0.5}, SAMPLE)["extra"]
    '{"logprob": -1, "accuracy": 0.5}'
    """
    columns: dict[str, Any] = {}
    for name, (fits, _) in layout.items():
        value = held.get(name)
        columns[name] = value if value is not None and fits(value) else None
    rest = {key: value for key, value in held.items() if not _has_column(key, value, columns, layout)}
    if list(held) == _order(columns, layout, rest):
        columns["extra"] = json.dumps(rest) if rest else None
    else:
        columns["extra"] = json.dumps([rest, list(held)])
    return columns


def _has_column(key: str, value: Any, columns: Mapping[str, Any], layout: Layout) -> bool:
    return key in layout and (columns[key] is not None or (value is None and layout[key][1]))


def unpack(columns: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """The inverse of `pack`.

    >>> held = {"meaning": 0, "text": "4", "logprob": None, "note": {"by": "hand"}}
    >>> unpack(pack(held, SAMPLE), SAMPLE) == held
    True
    """
    extra = columns["extra"]
    if extra is None:
        return {key: columns[key] for key in _order(columns, layout, {})}
    try:
        found = json.loads(extra)
        rest, order = found if isinstance(found, list) else (found, None)
        keys = order or _order(columns, layout, rest)
        return {key: rest[key] if key in rest else columns[key] for key in keys}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RecordingError("is not what semtropy writes there", field="extra") from None


def _order(columns: Mapping[str, Any], layout: Layout, rest: Mapping[str, Any]) -> list[str]:
    """The default order of keys, which need not be stored: those of the columns, then the rest."""
    plain = [key for key in layout if key not in rest and (columns[key] is not None or layout[key][1])]
    return [*plain, *rest]

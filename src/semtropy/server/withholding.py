"""What is said of an answer that is withheld: nothing that the model wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..verdict import Outcome

if TYPE_CHECKING:
    from ..verdict import Verdict
    from .settings import Settings

__all__ = ["is_withheld", "withheld_verdict", "without_texts"]

_PARTS = re.compile(r"\[\d*\]|\.")
_OWN = frozenset({"answer", "content", "tool"})
"""Names of fields that no schema declares: those of a whole answer, and of the tool that is called."""


def is_withheld(verdict: Verdict, settings: Settings) -> bool:
    """Whether mode `block` withholds the answer that this verdict is on."""
    undecided = verdict.outcome is Outcome.UNDECIDED and settings.withhold == "undecided"
    return verdict.flagged or undecided


def withheld_verdict(payload: dict[str, Any], declared: Any = None) -> dict[str, Any]:
    """A verdict without the answer, the texts of the samples, and the names of fields that the model invented.

    declared  what the client says about the form of its answers (a schema); fields that are named in it keep their name

    >>> field = {"name": "year", "value": 1912, "meanings": [{"text": "1912", "wordings": [], "count": 3}]}
    >>> verdict = {"answer": "...", "fields": [field, {**field, "name": "Dr Smith"}], "untrusted": ["Dr Smith"]}
    >>> withheld_verdict(verdict, {"properties": {"year": {}}})["fields"]
    [{'name': 'year', 'value': None, 'meanings': [{'text': None, 'wordings': [], 'count': 3}]}]
    """
    kept = dict(payload)
    if "answer" in kept:
        kept["answer"] = None
    if "meanings" in kept:
        kept["meanings"] = [_without_text(meaning) for meaning in kept["meanings"]]
    if "fields" in kept:
        known = _OWN | _names(declared)
        kept["fields"] = [
            {**field, "value": None, "meanings": [_without_text(meaning) for meaning in field["meanings"]]}
            for field in kept["fields"]
            if _is_declared(field["name"], known)
        ]
        kept["untrusted"] = [name for name in kept["untrusted"] if _is_declared(name, known)]
    return kept


def without_texts(value: Any) -> Any:
    """A step of a check without any text of the model.

    >>> without_texts({"meanings": [{"text": "Paris", "wordings": ["Paris"], "count": 2}], "fields": [1]})
    {'meanings': [{'text': '', 'wordings': [], 'count': 2}], 'fields': []}
    """
    if isinstance(value, list):
        return [without_texts(each) for each in value]
    if not isinstance(value, dict):
        return value
    emptied: dict[str, Any] = {"text": "", "wordings": [], "fields": []}
    return {name: emptied[name] if name in emptied else without_texts(each) for name, each in value.items()}


def _without_text(meaning: dict[str, Any]) -> dict[str, Any]:
    return {**meaning, "text": None, "wordings": []}


def _is_declared(name: str, known: frozenset[str]) -> bool:
    return all(part in known for part in _PARTS.split(name) if part)


def _names(value: Any) -> frozenset[str]:
    """All keys inside, without recursion: a schema may be nested deeply."""
    waiting = [value]
    found: set[str] = set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found |= part.keys()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(found)

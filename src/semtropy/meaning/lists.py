"""Enumerations: the same items in another order, or one item more, fewer or other."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from .normal import normalise

__all__ = ["compare_lists"]

_BREAK = re.compile(r"\s*(?:,\s*and\s|,|;|\sand\s|\s&\s)\s*")
_COMPANY = re.compile(r" (?:&|and) co(?:mpany)?\b")
_LONGEST = 300
_WORDS = 4  # of an item: more is a clause, and clauses contain commas


def compare_lists(a: str, b: str) -> bool | None:
    """Whether two enumerations have the same items; None where one is no enumeration, or wording may explain it.

    >>> compare_lists("copper, tin and zinc", "zinc, copper and tin")
    True
    >>> compare_lists("copper, tin and zinc", "copper, tin and lead"), compare_lists("copper and tin", "copper")
    (False, None)
    >>> compare_lists("Rome and Carthage", "Rome, Carthage"), compare_lists("Rome, Carthage, Gaul", "Rome, Carthage")
    (True, False)
    >>> compare_lists("Paris, France", "Paris"), compare_lists("Paris, France and Spain", "Paris, France")
    (None, False)
    """
    first, second = _items(a), _items(b)
    if first is None or second is None:
        return _compare_short(a, first, b, second)
    if first == second:
        return True
    if not first & second:
        return None
    left, right = first - second, second - first
    if any(_alike(one, other) for one in left for other in right) and not _numbered(left | right):
        return None
    return False


def _compare_short(
    a: str, first: frozenset[str] | None, b: str, second: frozenset[str] | None
) -> bool | None:
    """One list, and "Rome, Carthage", which is a list beside it if all of its items are in it."""
    firm, other = (first, b) if second is None else (second, a)
    short = _items(other, fewest=2) if firm is not None else None
    if firm is None or short is None or not short <= firm:
        return None
    return short == firm


def _alike(one: str, other: str) -> bool:
    """Whether two items may be one: they share a word, or their spelling is close."""
    shared = set(one.split()) & set(other.split())
    return bool(shared) or SequenceMatcher(None, one, other, autojunk=False).ratio() >= 0.75


def _numbered(items: frozenset[str]) -> bool:
    """Whether the items differ in one short last word: "vitamin A" and "vitamin B"."""
    return all(len(item.split()) == 2 and len(item.split()[1]) <= 2 for item in items)


def _items(text: str, fewest: int = 3) -> frozenset[str] | None:
    """The items of an enumeration: `fewest`, or two joined by "and" or in lower case; None for any other text."""
    if len(text) > _LONGEST:
        return None
    plain = _COMPANY.sub(" company", normalise(text))
    if "," not in plain and ";" not in plain and " and " not in plain and " & " not in plain:
        return None
    items = [normalise(item) for item in _BREAK.split(plain)]
    joined = " and " in plain or " & " in plain or text == text.lower()  # "Paris, France" is one place
    if len(items) < (2 if joined else fewest) or not all(items):
        return None
    if any(len(item.split()) > _WORDS for item in items):
        return None
    return frozenset(items)

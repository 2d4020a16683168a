"""Numbers within longer answers: two answers whose numbers cannot be reconciled do not mean the same.

This only refutes. Each answer must have a number that the other has in no form (figures, words, Roman numerals,
another unit); an answer that merely says more is left to the judge.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .clock import read_time
from .normal import normalise, western_digits
from .quantity import SUFFIXES
from .units import UNITS
from .words import SCALES, number, ordinal

__all__ = ["contradict"]

_LONGEST = 2000
_NUMBER = re.compile(
    r"(?P<currency>(?:US|A|C)?\$|[€£¥₹₩₽])?\s?(?<![\w.])(?P<sign>[-+](?=[\d.]))?"
    r"(?P<value>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<mark>st|nd|rd|th|'?s\b)?(?:\s?(?P<scale>thousand|million|billion|trillion|bn|mn|[kKMB])(?![a-zA-Z]))?"
    r"(?:[ -]?(?P<unit>%|°\s?[CFK]\b|[a-zA-Z][a-zA-Z/]*(?:\s[a-zA-Z]+)?))?"
)
_CLOCK = re.compile(r"\b\d{1,2}(?:[:.]\d{2})?\s?[ap]\.?m\b\.?|\b\d{1,2}:\d{2}\b", re.IGNORECASE)
_ROMAN = re.compile(r"(?<=[a-z] )(?:[IVXLC]{2,7}|[IVX])\b(?!\.)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


class _Mention(NamedTuple):
    """A number: what it counts (a base unit or ""), its value in base units, and the value as written."""

    kind: str
    unit: str
    value: Fraction
    written: Fraction

    def matches(self, other: _Mention) -> bool:
        if self.kind != other.kind and "century" in (self.kind, other.kind):
            return False
        if "time" in (self.kind, other.kind):
            return self.kind == other.kind and (self.value - other.value) % 720 == 0
        if self.unit and other.unit and self.unit == other.unit:
            return (
                abs(self.value - other.value) * 200 <= abs(self.value)
                or self.written == other.written == self.value
            )
        if self.written == other.written or self.value == other.value:
            return not (self.unit and other.unit)
        years = sorted((abs(self.written), abs(other.written)))
        return years[0] < 100 and 1000 <= years[1] < 2100 and years[1] % 100 == years[0]  # '45 and 1945


class _Numbers(NamedTuple):
    """The numbers in figures or Roman numerals, which may refute, and those in words, which only match."""

    hard: tuple[_Mention, ...]
    soft: tuple[_Mention, ...]


def contradict(a: str, b: str, question: str = "") -> bool:
    """Whether each answer has a number that the other does not have.

    >>> contradict("$750,000", "5,600 students"), contradict("about 500,000 years", "5 million years")
    (True, True)
    >>> contradict("It is 324 metres tall.", "324 m (1,063 ft)"), contradict("World War 2", "World War II")
    (False, False)
    """
    if len(a) > _LONGEST or len(b) > _LONGEST:
        return False
    first, second = _numbers(a), _numbers(b)
    if not first.hard or not second.hard:
        return False
    asked = _numbers(question).hard if len(question) <= _LONGEST else ()
    for century in (False, True):
        left, right = _alone(first, second, asked, century), _alone(second, first, asked, century)
        if left and right:
            return True
    return False


def _alone(one: _Numbers, other: _Numbers, asked: tuple[_Mention, ...], century: bool) -> bool:
    """Whether `one` has a number that `other` lacks; one that the question has counts only if there is no other."""
    mine = [mention for mention in one.hard if (mention.kind == "century") == century]
    news = [mention for mention in mine if not any(mention.matches(said) for said in asked)]
    known = (*other.hard, *other.soft)
    return any(not any(mention.matches(theirs) for theirs in known) for mention in news or mine)


@lru_cache(4096)
def _numbers(text: str) -> _Numbers:
    text = western_digits(unicodedata.normalize("NFKC", text)).replace("−", "-").replace("–", "-")
    hard: list[_Mention] = []
    for clock in _CLOCK.finditer(text):
        time = read_time(normalise(clock[0]))
        if time is not None:
            hard.append(_Mention("time", "", Fraction(time[0]), Fraction(-1)))
    text = _CLOCK.sub(" ", text)
    hard += [_figure(match) for match in _NUMBER.finditer(text) if len(match["value"]) < 30]
    hard += [
        _Mention("", "", value, value) for value in map(_roman, _ROMAN.findall(text)) if value is not None
    ]
    return _Numbers(tuple(hard), tuple(_worded(text)))


def _figure(match: re.Match[str]) -> _Mention:
    written = Fraction(match["value"].replace(",", ""))
    if match["scale"]:
        scale = match["scale"].lower()
        written *= SCALES.get(scale) or SUFFIXES[scale]
    if match["sign"] == "-" and not match.string[: match.start("sign")].rstrip()[-1:].isdigit():
        written = -written
    mark, unit = match["mark"] or "", (match["unit"] or "").casefold()
    if mark in ("st", "nd", "rd", "th"):
        kind = "century" if unit.split(" ")[0] in ("century", "centuries") else ""
        return _Mention(kind, "", written, written)
    if mark:
        return _Mention("", "decade", written, written)
    base, factor = _unit(unit, match["currency"])
    return _Mention("", base, written * factor, written)


def _unit(unit: str, currency: str | None) -> tuple[str, Fraction]:
    """The base unit and factor of the word after a number, or of the currency before it; "" and 1 for other words."""
    if currency:
        return UNITS[currency.casefold()][0], Fraction(1)
    if unit.startswith("°"):
        return f"degree {unit[-1]}", Fraction(1)
    for name in (unit, unit.split(" ")[0]):
        if name in UNITS and (len(name) > 1 or name == "%"):
            return UNITS[name]
    return "", Fraction(1)


def _roman(text: str) -> Fraction | None:
    values = [_ROMAN_VALUES[letter] for letter in text]
    total = sum(-v if v < max(values[place:]) else v for place, v in enumerate(values))
    return Fraction(total) if 0 < total < 100 else None


def _worded(text: str) -> list[_Mention]:
    found = []
    words = re.findall(r"[a-z]+(?:-[a-z]+)?", text.casefold())
    for size in (1, 2, 3):
        for place in range(len(words) - size + 1):
            phrase = " ".join(words[place : place + size])
            value = number(phrase)
            if value is None:
                value = ordinal(phrase)
            if value is not None:
                kinds = ("", "century") if "centur" in text.casefold() else ("",)
                found += [_Mention(kind, "", value, value) for kind in kinds]
    return found

"""Numbers written out: "twenty-one", "two hundred and five", "1.5 million", "½", "third"."""

from __future__ import annotations

import re
from fractions import Fraction

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: place for place, word in enumerate(_ONES)} | {
    word: 10 * place for place, word in enumerate(_TENS, start=2)
}
SCALES = {
    "dozen": 12,
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_SHARES = {
    "half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4), "fourth": Fraction(1, 4),
    "fifth": Fraction(1, 5), "sixth": Fraction(1, 6), "eighth": Fraction(1, 8), "tenth": Fraction(1, 10),
    "three quarters": Fraction(3, 4), "two thirds": Fraction(2, 3),
}  # fmt: skip
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12,
}  # fmt: skip
_DIGITS = re.compile(
    r"[+-]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]{1,3})?"
)
_FRACTION = re.compile(r"(?:([+-]?[0-9]{1,15})[ ])?([+-]?[0-9]{1,15}) ?[/⁄] ?([0-9]{1,15})")
_MARK = re.compile(r"([0-9]{1,15})(?:st|nd|rd|th)")


def number(text: str) -> Fraction | None:
    """The value of a normalised text that is a number and nothing else, or None.

    >>> number("1,250.5"), number("two hundred and five"), number("1.5 million"), number("3 1/2")
    (Fraction(2501, 2), Fraction(205, 1), Fraction(1500000, 1), Fraction(7, 2))
    >>> number("1,5"), number("paris"), number("")
    (None, None, None)
    """
    text = text.strip()
    if any(c.isdigit() for c in text):
        signed = re.fullmatch(r"(?:minus|negative) (?=[0-9.])(.*)", text)
        if signed:
            value = number(signed[1])
            return None if value is None else -value
        head, _, scale = text.rpartition(" ")
        if scale in SCALES and (SCALES[scale] >= 1000 or head.isdigit()):
            value = _figures(head)
            return None if value is None else value * SCALES[scale]
        return _figures(text)
    return _spelled(text)


def share(text: str) -> Fraction | None:
    """The part of a whole that a normalised text names, or None.

    >>> share("a half"), share("three quarters"), share("one third"), share("third")
    (Fraction(1, 2), Fraction(3, 4), Fraction(1, 3), None)
    """
    bare = text.removeprefix("one ").removeprefix("a ").replace("-", " ")
    if bare in ("half", "three quarters", "two thirds") or bare != text:
        return _SHARES.get(bare)
    return None


def ordinal(text: str) -> Fraction | None:
    """The place a normalised ordinal names, or None.

    >>> ordinal("14th"), ordinal("twenty-first"), ordinal("forty")
    (Fraction(14, 1), Fraction(21, 1), None)
    """
    mark = _MARK.fullmatch(text)
    if mark:
        return Fraction(int(mark[1]))
    head, joint, last = text.rpartition("-") if "-" in text else text.rpartition(" ")
    if last in _ORDINALS:
        value = Fraction(_ORDINALS[last])
    else:
        stem = last.removesuffix("ieth") + "y" if last.endswith("ieth") else last.removesuffix("th")
        place = _SMALL.get(stem, SCALES.get(stem)) if last.endswith("th") else None
        if place is None:
            return None
        value = Fraction(place)
    if not joint:
        return value
    before = _spelled(head)
    return None if before is None or before % 10 else before + value


def _figures(text: str) -> Fraction | None:
    mixed = _FRACTION.fullmatch(text)
    if mixed:
        whole, top, bottom = mixed.groups()
        if not int(bottom):
            return None
        return Fraction(int(whole or 0)) + Fraction(int(top), int(bottom))
    if len(text) < 40 and _DIGITS.fullmatch(text):
        return Fraction(text.replace(",", ""))
    return None


def _spelled(text: str) -> Fraction | None:
    """Number words, read from left to right: what stands before a scale is multiplied by it."""
    words = text.replace("-", " ").split()
    if not words or words == ["a"]:
        return None
    if words in (["half", "a", "dozen"], ["half", "dozen"]):
        return Fraction(6)
    if words == ["dozen"]:  # the article is gone
        return Fraction(12)
    sign = 1
    if words[0] in ("minus", "negative") and len(words) > 1:
        sign, words = -1, words[1:]
    total, current, last = 0, 0, 0
    for place, word in enumerate(words):
        if word == "and" and 0 < place < len(words) - 1 and last >= 100:
            continue
        if word == "a" and place + 1 < len(words) and words[place + 1] in SCALES:
            current, last = 1, 1
        elif word in _SMALL:
            value = _SMALL[word]
            if last and not (last >= 100 or (last >= 20 and 0 < value < 10)):
                return None  # "nineteen twelve": a year said aloud, or two numbers
            current, last = current + value, value
        elif word in SCALES and last:
            scale = SCALES[word]
            last = scale
            if scale <= 100:
                current *= scale
            else:
                total, current = total + current * scale, 0
        else:
            return None
    return Fraction(sign * (total + current))

"""Calendar dates in the spellings answers use."""

from __future__ import annotations

import re

from .number_words import number

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = {name: place for place, name in enumerate(MONTHS, start=1)} | {
    name[:3]: place for place, name in enumerate(MONTHS, start=1)
}
_MONTH["sept"] = 9
_NAME = r"(?P<month>" + "|".join(sorted(_MONTH, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{3,4})"
_WEEKDAY = r"(?:on |am |den |le |el |il |em )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:the )?"
_FORMS = tuple(
    re.compile(_WEEKDAY + form)
    for form in (
        rf"{_NAME} {_DAY}(?:,? (?:of )?{_YEAR})?",
        rf"{_DAY} (?:of )?{_NAME},?(?: {_YEAR})?",
        rf"(?:in )?{_NAME},?(?: of)? {_YEAR}",
        r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})",
    )
)
_SLASHED = re.compile(r"([0-9]{1,2})[/.]([0-9]{1,2})[/.]([0-9]{4})")


def read_date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of a normalised text that is a date, 0 for a part not said; None for anything else.

    A date in figures is read only where the order cannot be mistaken.

    >>> read_date("4 july 1776"), read_date("july 1776"), read_date("july 4th")
    ((1776, 7, 4), (1776, 7, 0), (0, 7, 4))
    >>> read_date("13/2/1990"), read_date("1/2/1990"), read_date("may")
    ((1990, 2, 13), None, None)
    """
    for form in _FORMS:
        match = form.fullmatch(text)
        if match:
            parts = match.groupdict()
            name = parts["month"]
            return _checked(
                int(parts.get("year") or 0), _MONTH.get(name) or int(name), int(parts.get("day") or 0)
            )
    slashed = _SLASHED.fullmatch(text)
    if slashed:
        first, second, year = (int(part) for part in slashed.groups())
        if first == second or second > 12:
            return _checked(year, first, second)
        if first > 12:
            return _checked(year, second, first)
    return None


def _checked(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    return (year, month, day) if 1 <= month <= 12 and day <= 31 else None


# Times of day in the spellings answers use.


_NAMED = {"noon": 720, "midday": 720, "12 noon": 720, "midnight": 0, "12 midnight": 0}
_HALVES = re.compile(r"(?:at )?([0-9]{1,2})(?:[:.]([0-9]{2}))? ?([ap])\.?m")
_FIGURES = re.compile(r"(?:at )?([0-9]{1,2}):([0-9]{2})(?: ?(?:h|hrs|hours))?")
_OCLOCK = re.compile(r"(?:at )?([a-z]+|[0-9]{1,2}) o'?clock(?: in the (morning|afternoon|evening))?")
_PARTS = re.compile(r"(?:at )?(half|quarter|a quarter) (past|to) ([a-z]+|[0-9]{1,2})")


def read_time(text: str) -> tuple[int, bool] | None:
    """Minutes after midnight of a normalised text that is a time of day, and whether the half of the day is known.

    >>> read_time("3pm"), read_time("15:00"), read_time("3:00"), read_time("half past three"), read_time("paris")
    ((900, True), (900, True), (180, False), (210, False), None)
    """
    if text in _NAMED:
        return _NAMED[text], True
    halves = _HALVES.fullmatch(text)
    if halves:
        hour, minute = int(halves[1]), int(halves[2] or 0)
        return (
            (hour % 12 * 60 + minute + 720 * (halves[3] == "p"), True)
            if 1 <= hour <= 12 and minute < 60
            else None
        )
    figures = _FIGURES.fullmatch(text)
    if figures:
        hour, minute = int(figures[1]), int(figures[2])
        known = hour > 12 or hour == 0 or figures[1].startswith("0")
        return (hour * 60 + minute, known) if hour < 24 and minute < 60 else None
    return _spoken(text)


def _spoken(text: str) -> tuple[int, bool] | None:
    oclock, parts = _OCLOCK.fullmatch(text), _PARTS.fullmatch(text)
    if not (oclock or parts):
        return None
    hour = number(oclock[1] if oclock else parts[3])  # type: ignore[index]
    if hour is None or not 1 <= hour <= 12:
        return None
    minutes = int(hour) * 60
    if oclock:
        if oclock[2]:
            return int(hour) % 12 * 60 + 720 * (oclock[2] != "morning"), True
        return minutes, False
    assert parts is not None
    offset = 30 if parts[1] == "half" else 15
    return minutes + (offset if parts[2] == "past" else -offset), False

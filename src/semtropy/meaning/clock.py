"""Times of day in the spellings answers use."""

from __future__ import annotations

import re

from .words import number

__all__ = ["read_time"]

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

"""Calendar dates in the spellings answers use."""

from __future__ import annotations

import re

__all__ = ["MONTHS", "read_date"]

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
_WEEKDAY = r"(?:on )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:the )?"
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

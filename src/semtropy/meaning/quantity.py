"""Numbers as numbers, dates as dates, times as times: what a short answer amounts to, in any spelling or unit.

Only an answer that is a quantity and nothing else is read here; `mentions` reads the numbers within longer answers,
and `arithmetic` compares both.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from .clock import read_time
from .dates import read_date
from .normal import normalise
from .units import CURRENCIES, UNITS
from .words import SCALES, number, ordinal, share

__all__ = ["SUFFIXES", "Quantity", "quantity"]

_SPANS = ("hour", "day", "week", "fortnight", "month", "year", "decade", "century", "millennium")
_TEMPERATURES = {
    "c": (Fraction(1), Fraction("273.15")),
    "f": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
    "k": (Fraction(1), Fraction(0)),
}
_TEMPERATURE = re.compile(
    r"(?P<value>[+-]?[0-9.,]+)(?: ?(?:°|degrees? ?)(?P<short>[cfk])?(?P<long>celsius|centigrade|fahrenheit)?"
    r"| (?P<bare>celsius|centigrade|fahrenheit)| (?P<kelvin>k|kelvins?))"
)
_MONEY = re.compile(
    r"(?P<sign>-?)(?P<symbol>(?:us|a|c)?\$|[€£¥₹₩₽]|(?:usd|eur|gbp|jpy|chf|inr|cny) ) ?(?P<minus>-?)"
    r"(?P<value>[0-9.,]+) ?(?P<scale>[a-z]*)"
)
SUFFIXES = {"k": 10**3, "m": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
_SUFFIXED = re.compile(r"([+-]?[0-9][0-9.,]*)(?:([kKMB])|(bn|mn|tn))")
_AMOUNT = re.compile(
    r"(?P<value>[+-]?[0-9.,]+(?: (?:thousand|million|billion|trillion))?) ?"
    r"(?P<unit>%|[a-z][a-z/^0-9-]*(?: [a-z-]+)?)"
)
_NO_UNIT = ("or", "and", "to", "bc", "bce", "am", "pm")
_VARIABLE = re.compile(r"([a-z]) ?= ?(?=\S)")
_PART = re.compile(r"(?P<part>half|(?:a |one )?quarter of|three quarters of) (?:an?|one) (?P<unit>[a-z]+)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of its kind.

    unit      the base unit; "" for a bare number, "date" for a date, the thing counted for any other noun
    value     the value in the base unit
    date      year, month and day, each 0 where not given; None for anything but a date
    variable  the name in "x = 2", else ""
    written   the value in the unit it was written in; not compared
    name      the unit it was written in; not compared

    >>> quantity("5 km") == quantity("5,000 metres"), quantity("5 km") == quantity("5 miles")
    (True, False)
    """

    unit: str
    value: Fraction
    date: tuple[int, int, int] | None = None
    variable: str = ""
    written: Fraction = field(default=Fraction(0), compare=False)
    name: str = field(default="", compare=False)


def quantity(text: str) -> Quantity | None:
    """What the whole text amounts to, or None when it is more or other than a number, a date or a time.

    text  an answer, as it was sampled

    >>> quantity("twelve") == quantity("12.0") == quantity(" 12. ")
    True
    >>> quantity("4th of July, 1776") == quantity("July 4, 1776") == quantity("1776-07-04")
    True
    >>> quantity("minus 5") == quantity("-5"), quantity("1.5M") == quantity("1.5 million")
    (True, True)
    >>> quantity("about 12"), quantity("12 or 13"), quantity("Paris")
    (None, None, None)
    """
    return _quantity(text) if len(text) <= 60 else None


@lru_cache(4096)  # an answer is read again for each meaning it is compared with
def _quantity(text: str) -> Quantity | None:
    plain = _fractions(normalise(text))
    if not plain:
        return None
    variable = _VARIABLE.match(plain)
    if variable:
        found = _plain_quantity(plain[variable.end() :], text.partition("=")[2])
        return found and Quantity(found.unit, found.value, found.date, variable[1], found.written, found.name)
    return _plain_quantity(plain, text)


def _plain_quantity(plain: str, text: str) -> Quantity | None:
    date = read_date(plain)
    if date is not None:
        return Quantity("date", Fraction(0), date)
    time = read_time(plain)
    if time is not None:
        return Quantity("time" if time[1] else "time of twelve", Fraction(time[0]))
    plain = re.sub(r"^(?:in |the year |year |in the year )?([0-9]{3,4})(?: (?:ad|ce))?$", r"\1", plain)
    plain = re.sub(r"^(?:minus|negative) (?=[0-9$€£¥])", "-", plain)
    said = " ".join(text.casefold().split()).strip(" .!")
    value = share(said)  # before the article goes: "a third" is a part, "the third" a place
    if value is None:
        value = number(plain)
    if value is None:
        value = _suffixed(text)
    if value is not None:
        return Quantity("", value, written=value)
    place = ordinal(plain)
    if place is not None and not said.startswith("a "):
        return Quantity("ordinal", place, written=place)
    return _money(plain) or _temperature(plain) or _part(plain) or _amount(plain)


def _fractions(text: str) -> str:
    """Vulgar fractions, which normalisation writes with a fraction slash, set apart: "3 1/2"."""
    return re.sub(r"(?<=[0-9])([0-9]⁄)", r" \1", text) if "⁄" in text else unicodedata.normalize("NFC", text)


def _suffixed(text: str) -> Fraction | None:
    """ "2k", "1.5M", "10bn": no space before the suffix, so that "5 m" stays five metres."""
    match = _SUFFIXED.fullmatch(text.strip(" .!").replace("−", "-"))
    value = number(match[1]) if match else None
    return None if match is None or value is None else value * SUFFIXES[(match[2] or match[3]).lower()]


def _money(text: str) -> Quantity | None:
    match = _MONEY.fullmatch(text)
    if not match:
        return None
    value = number(match["value"])
    scale = match["scale"]
    factor = 1 if not scale else SCALES.get(scale, SUFFIXES.get(scale))
    if value is None or factor is None:
        return None
    value *= -factor if match["sign"] or match["minus"] else factor
    symbol = match["symbol"].strip()
    return Quantity(UNITS[symbol][0], value, written=value, name=symbol)


def _temperature(text: str) -> Quantity | None:
    match = _TEMPERATURE.fullmatch(text)
    value = number(match["value"]) if match else None
    if match is None or value is None:
        return None
    scale = "k" if match["kelvin"] else (match["short"] or (match["long"] or match["bare"] or "")[:1])
    if not scale:
        return Quantity("degree", value, written=value)
    factor, offset = _TEMPERATURES[scale]
    return Quantity("kelvin", value * factor + offset, written=value, name=scale)


def _part(text: str) -> Quantity | None:
    """A part of a unit, or one unit whose article is gone: "half a kilometre", "fortnight"."""
    match = _PART.fullmatch(text)
    if match and match["unit"] in UNITS:
        part = (
            Fraction(1, 2) if match["part"] == "half" else Fraction(3 if "three" in match["part"] else 1, 4)
        )
        return _in_unit(part, match["unit"])
    return _in_unit(Fraction(1), text) if text in _SPANS else None


def _amount(text: str) -> Quantity | None:
    """A number with the unit or the thing counted after it."""
    if re.fullmatch(r"[0-9]{2,4}s", text):
        return None  # the nineties, not ninety seconds
    match = _AMOUNT.fullmatch(text)
    if match:
        value, unit = number(match["value"]), match["unit"]
    else:
        value, unit = _spelled_amount(text)
    if value is None or unit in SCALES or number(unit) is not None or unit in _NO_UNIT:
        return None
    for name in (unit, unit.split(" ")[0]):  # "5 km long"
        if name in UNITS:
            return _in_unit(value, name)
    if not re.fullmatch(r"[^\W\d]+(?: [^\W\d]+)?", unit) or len(unit) < 3:
        return None
    return Quantity(unit.removesuffix("s"), value, written=value, name=unit)


def _spelled_amount(text: str) -> tuple[Fraction | None, str]:
    """ "five kilometres", "ten us dollars": the longest unit known by two words, or the last word."""
    words = text.split(" ")
    for size in (2, 1):
        unit = " ".join(words[-size:])
        if len(words) > size and (size == 1 or unit in UNITS):
            return number(" ".join(words[:-size])), unit
    return None, ""


def _in_unit(value: Fraction, unit: str) -> Quantity:
    base, factor = UNITS[unit]
    return Quantity(base, value * factor, written=value, name=base if base in CURRENCIES else unit)

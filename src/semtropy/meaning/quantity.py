"""Numbers as numbers and dates as dates: what a short answer amounts to, whatever its spelling or unit.

Only an answer that is a quantity and nothing else is read; anything else is left to the judge.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from .dates import read_date
from .normal import normalise
from .words import SCALES, number, ordinal, share

__all__ = ["Quantity", "quantity", "settled"]

# Factors to the first unit of each row; conversions are exact by definition.
_UNITS: dict[str, tuple[str, Fraction]] = {}
for _base, _members in {
    "metre": "m metre metres meter meters=1|km kilometre kilometres kilometer kilometers kms=1000|"
    "cm centimetre centimetres centimeter centimeters=1/100|"
    "mm millimetre millimetres millimeter millimeters=1/1000|"
    "mi mile miles=1609.344|yd yard yards=0.9144|ft foot feet=0.3048|in inch inches=0.0254",
    "gram": "g gram grams gramme grammes=1|kg kilogram kilograms kilo kilos kgs=1000|"
    "mg milligram milligrams=1/1000|"
    "tonne tonnes=1000000|lb lbs pound-weight=453.59237|oz ounce ounces=28.349523125",
    "second": "s sec secs second seconds=1|min mins minute minutes=60|h hr hrs hour hours=3600|"
    "day days=86400|week weeks=604800|fortnight fortnights=1209600",
    "month": "month months=1|year years yr yrs=12|decade decades=120|century centuries=1200|"
    "millennium millennia=12000",
    "litre": "l litre litres liter liters=1|ml millilitre millilitres milliliter milliliters=1/1000",
    "percent": "% percent per-cent pct=1",
    "dollar": "$ usd dollar dollars=1|cent cents=1/100",
    "euro": "€ eur euro euros=1",
    "pound": "£ gbp pound pounds=1",
    "yen": "¥ jpy yen=1",
    "kmh": "km/h kph kmh=1|mph=1.609344",
    "hertz": "hz hertz=1|khz kilohertz=1000|mhz megahertz=1000000|ghz gigahertz=1000000000",
    "watt": "w watt watts=1|kw kilowatt kilowatts=1000",
    "volt": "v volt volts=1",
}.items():
    for _group in _members.split("|"):
        _names, _, _factor = _group.partition("=")
        for _name in _names.split():
            _UNITS[_name] = (_base, Fraction(_factor))
_SPANS = ("hour", "day", "week", "fortnight", "month", "year", "decade", "century", "millennium")
_TEMPERATURES = {
    "c": (Fraction(1), Fraction("273.15")),
    "f": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
    "k": (Fraction(1), Fraction(0)),
}
_TEMPERATURE = re.compile(
    r"(?P<value>[+-]?[0-9.,]+) ?(?:(?:°|degrees? ?)(?P<short>[cfk])?(?P<long>celsius|centigrade|fahrenheit)?"
    r"|(?P<kelvin>k|kelvins?))"
)
_MONEY = re.compile(r"(?P<symbol>us\$|[$€£¥]) ?(?P<value>[0-9.,]+) ?(?P<scale>[a-z]*)")
_SUFFIX = {"k": 10**3, "m": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
_AMOUNT = re.compile(
    r"(?P<value>[+-]?[0-9.,]+(?: (?:thousand|million|billion|trillion))?) ?"
    r"(?P<unit>%|[a-z][a-z/-]*(?: [a-z-]+)?)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of its kind; a date is its year, month and day with 0 where not said.

    >>> quantity("5 km") == quantity("5,000 metres"), quantity("5 km") == quantity("5 miles")
    (True, False)
    """

    unit: str
    value: Fraction
    date: tuple[int, int, int] | None = None


def quantity(text: str) -> Quantity | None:
    """What the whole text amounts to, or None when it is more or other than a number or a date.

    >>> quantity("twelve") == quantity("12.0") == quantity(" 12. ")
    True
    >>> quantity("4th of July, 1776") == quantity("July 4, 1776") == quantity("1776-07-04")
    True
    >>> quantity("about 12"), quantity("12 or 13"), quantity("Paris")
    (None, None, None)
    """
    return _quantity(text) if len(text) <= 60 else None


@lru_cache(4096)  # an answer is read again for each meaning it is compared with
def _quantity(text: str) -> Quantity | None:
    plain = _fractions(normalise(text))
    if not plain:
        return None
    date = read_date(plain)
    if date is not None:
        return Quantity("date", Fraction(0), date)
    plain = re.sub(r"^(?:in |the year |year |in the year )?([0-9]{3,4})(?: (?:ad|ce))?$", r"\1", plain)
    said = " ".join(text.casefold().split()).strip(" .!")
    value = share(said)  # before the article goes: "a third" is a part, "the third" a place
    if value is None:
        value = number(plain)
    if value is not None:
        return Quantity("", value)
    place = ordinal(plain)
    if place is not None and not said.startswith("a "):
        return Quantity("ordinal", place)
    return _money(plain) or _temperature(plain) or _part(plain) or _amount(plain)


def settled(a: str, b: str) -> bool | None:
    """Whether `a` entails `b` where both are quantities and arithmetic decides; None where it does not.

    >>> settled("5 km", "5000 m"), settled("12", "13"), settled("12 apples", "12"), settled("Paris", "12")
    (True, False, None, None)
    >>> settled("July 4, 1776", "1776"), settled("1776", "July 4, 1776")
    (True, False)
    """
    first, second = quantity(a), quantity(b)
    if first is None or second is None:
        return None
    if first.date or second.date:
        return _date_entails(_as_date(first), _as_date(second))
    if {first.unit, second.unit} == {"", "percent"}:
        return _percent(first, second)
    if first.unit != second.unit:
        return _other_unit(first, second)
    if first.value == second.value:
        return True
    converted = first.unit not in ("", "ordinal") and _unit_word(a) != _unit_word(b)
    if converted and _close(first.value, second.value):
        return True  # a conversion, rounded
    return None if _rounded(first.value, second.value) else False  # rounded or wrong: the question tells


def _other_unit(a: Quantity, b: Quantity) -> bool | None:
    """Units that differ: only a bare number that is the other in some unit of its kind may mean the same.

    "120" may be two hours where minutes were asked for, and "38" is never 36 kilograms.
    """
    if "" not in (a.unit, b.unit):
        return False if a.value != b.value else None
    bare, said = (a, b) if a.unit == "" else (b, a)
    factors = {factor for base, factor in _UNITS.values() if base == said.unit} or {Fraction(1)}
    if said.unit == "kelvin":
        return None  # degrees of some scale
    for factor in factors:
        value = said.value / factor
        if _rounded(bare.value, value) or (factor != 1 and _close(bare.value, value)):
            return None
    return None if bare.value == said.value else False


def _close(a: Fraction, b: Fraction) -> bool:
    """Whether a conversion, rounded, explains the difference."""
    return abs(a - b) * 200 <= max(abs(a), abs(b))


def _rounded(a: Fraction, b: Fraction) -> bool:
    """Whether one is the other with fewer decimals: 3.14 and 3.14159, but not 52.5 and 51, or 12 and 13."""
    places = [_decimals(value) for value in (a, b)]
    return places[0] != places[1] and abs(a - b) < Fraction(1, 10 ** min(places))


def _decimals(value: Fraction) -> int:
    """How many decimals it is written with; 9 where there is no end to them."""
    return next((n for n in range(9) if (value * 10**n).denominator == 1), 9)


def _percent(a: Quantity, b: Quantity) -> bool | None:
    """A quarter is 25%; whether a bare 25 is, the question tells."""
    percent, bare = (a, b) if a.unit == "percent" else (b, a)
    if percent.value == bare.value * 100:
        return True
    return None if percent.value == bare.value else False


def _date_entails(a: tuple[int, int, int] | None, b: tuple[int, int, int] | None) -> bool | None:
    if a is None or b is None:
        return None
    return all(said == asked for said, asked in zip(a, b, strict=True) if asked)


def _as_date(amount: Quantity) -> tuple[int, int, int] | None:
    if amount.date:
        return amount.date
    year = amount.value
    return (int(year), 0, 0) if amount.unit == "" and year.denominator == 1 and 1000 <= year <= 2100 else None


def _unit_word(text: str) -> str:
    return re.sub(r"[0-9.,+ -]", "", text.casefold())


def _fractions(text: str) -> str:
    """Vulgar fractions, which normalisation writes with a fraction slash, set apart: "3 1/2"."""
    return re.sub(r"(?<=[0-9])([0-9]⁄)", r" \1", text) if "⁄" in text else unicodedata.normalize("NFC", text)


def _money(text: str) -> Quantity | None:
    match = _MONEY.fullmatch(text)
    if not match:
        return None
    value = number(match["value"])
    scale = match["scale"]
    factor = 1 if not scale else SCALES.get(scale, _SUFFIX.get(scale))
    if value is None or factor is None:
        return None
    return Quantity(_UNITS[match["symbol"].removeprefix("us")][0], value * factor)


def _temperature(text: str) -> Quantity | None:
    match = _TEMPERATURE.fullmatch(text)
    value = number(match["value"]) if match else None
    if match is None or value is None:
        return None
    scale = "k" if match["kelvin"] else (match["short"] or (match["long"] or "")[:1])
    if not scale:
        return Quantity("degree", value)
    factor, offset = _TEMPERATURES[scale]
    return Quantity("kelvin", value * factor + offset)


_PART = re.compile(r"(?P<part>half|(?:a |one )?quarter of|three quarters of) (?:an?|one) (?P<unit>[a-z]+)")


def _part(text: str) -> Quantity | None:
    """A part of a unit, or one unit whose article is gone: "half a kilometre", "fortnight"."""
    match = _PART.fullmatch(text)
    if match and match["unit"] in _UNITS:
        base, factor = _UNITS[match["unit"]]
        part = (
            Fraction(1, 2) if match["part"] == "half" else Fraction(3 if "three" in match["part"] else 1, 4)
        )
        return Quantity(base, part * factor)
    if text in _SPANS:
        base, factor = _UNITS[text]
        return Quantity(base, factor)
    return None


def _amount(text: str) -> Quantity | None:
    """A number with the unit or the thing counted after it."""
    if re.fullmatch(r"[0-9]{2,4}s", text):
        return None  # the nineties, not ninety seconds
    match = _AMOUNT.fullmatch(text)
    if match:
        value, unit = number(match["value"]), match["unit"]
    else:
        head, _, unit = text.rpartition(" ")
        value = number(head)
    if (
        value is None
        or unit in SCALES
        or number(unit) is not None
        or unit in ("or", "and", "to", "bc", "bce", "am", "pm")
    ):
        return None
    if unit in _UNITS:
        base, factor = _UNITS[unit]
        return Quantity(base, value * factor)
    if not re.fullmatch(r"[^\W\d]+(?: [^\W\d]+)?", unit) or len(unit) < 3:
        return None
    return Quantity(unit.removesuffix("s"), value)

"""What needs no judge: answers that are quantities, expressions or lists, and numbers that cannot both be right.

Values, signs, currencies and units that differ are different answers, whatever a network thinks of them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .dates import read_date, read_time
from .number_words import SCALES, number, ordinal, share
from .spelling import ABOUT, normalise, plain_signs, western_digits

# Units and currencies: the base unit each name belongs to, and its exact factor.


# Names of one unit are separated by spaces ("_" stands for a space in a name), units of one base by "|".
_TABLE = {
    "metre": "m metre metres meter meters=1|km kilometre kilometres kilometer kilometers kms=1000|"
    "cm centimetre centimetres centimeter centimeters=1/100|"
    "mm millimetre millimetres millimeter millimeters=1/1000|"
    "mi mile miles=1609.344|yd yard yards=0.9144|ft foot feet=0.3048|in inch inches=0.0254|"
    "nautical_mile nautical_miles=1852|light_year light_years light-year light-years=9460730472580800",
    "square metre": "square_metre square_metres square_meter square_meters m^2 sqm=1|"
    "ha hectare hectares=10000|acre acres=4046.8564224|"
    "square_kilometre square_kilometres square_kilometer square_kilometers km^2=1000000|"
    "square_mile square_miles=2589988.110336|square_foot square_feet sq_ft=0.09290304",
    "gram": "g gram grams gramme grammes=1|kg kilogram kilograms kilo kilos kgs=1000|"
    "mg milligram milligrams=1/1000|"
    "tonne tonnes=1000000|lb lbs pound-weight=453.59237|oz ounce ounces=28.349523125",
    "second": "s sec secs second seconds=1|ms millisecond milliseconds=1/1000|min mins minute minutes=60|"
    "h hr hrs hour hours=3600|day days=86400|week weeks=604800|fortnight fortnights=1209600",
    "month": "month months=1|year years yr yrs=12|decade decades=120|century centuries=1200|"
    "millennium millennia=12000",
    "litre": "l litre litres liter liters=1|ml millilitre millilitres milliliter milliliters=1/1000|"
    "gallon gallons gal=3.785411784|pint pints=0.473176473",
    "percent": "% percent per-cent pct=1",
    "kmh": "km/h kph kmh=1|mph=1.609344|m/s=3.6|knot knots=1.852",
    "hertz": "hz hertz=1|khz kilohertz=1000|mhz megahertz=1000000|ghz gigahertz=1000000000",
    "watt": "w watt watts=1|kw kilowatt kilowatts=1000|megawatt megawatts=1000000",
    "joule": "j joule joules=1|kj kilojoule kilojoules=1000|kcal kilocalorie kilocalories=4184|kwh=3600000",
    "volt": "v volt volts=1",
    "ampere": "amp amps ampere amperes=1",
    "byte": "byte bytes=1|kb kilobyte kilobytes=1000|mb megabyte megabytes=1000000|"
    "gb gigabyte gigabytes=1000000000|tb terabyte terabytes=1000000000000",
}
_CURRENCY_TABLE = {
    "dollar": "$ us$ usd dollar dollars us_dollar us_dollars buck bucks=1|cent cents=1/100",
    "euro": "€ eur euro euros=1",
    "pound": "£ gbp pound pounds pound_sterling pounds_sterling=1|pence=1/100",
    "yen": "¥ jpy yen=1",
    "rupee": "₹ inr rupee rupees=1",
    "won": "₩ krw won=1",
    "rouble": "₽ rub ruble rubles rouble roubles=1",
    "franc": "chf swiss_franc swiss_francs franc francs=1",
    "yuan": "cny rmb yuan renminbi=1",
    "peso": "mxn peso pesos=1",
    "australian dollar": "a$ aud australian_dollar australian_dollars=1",
    "canadian dollar": "c$ cad canadian_dollar canadian_dollars=1",
}


def _read_units(table: dict[str, str]) -> dict[str, tuple[str, Fraction]]:
    units: dict[str, tuple[str, Fraction]] = {}
    for base, members in table.items():
        for member in members.split("|"):
            names, _, factor = member.rpartition("=")
            units |= {name.replace("_", " "): (base, Fraction(factor)) for name in names.split()}
    return units


CURRENCIES = frozenset(_CURRENCY_TABLE)
UNITS = _read_units(_TABLE) | _read_units(_CURRENCY_TABLE)


# Numbers as numbers, dates as dates, times as times: what a short answer amounts to, in any spelling or unit.
#
# Only an answer that is a quantity and nothing else is read here; `mentions` reads the numbers within longer answers,
# and `arithmetic` compares both.


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

    @property
    def thing(self) -> str:
        """The noun of a count ("5 seats": "seat"); "" for a bare number, a measure, money, a date or a time."""
        return "" if self.date is not None or self.unit in _BASES else self.unit


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


# Numbers within longer answers: two answers whose numbers cannot be reconciled do not mean the same.
#
# This only refutes. Each answer must have a number that the other has in no form (figures, words, Roman numerals,
# another unit); an answer that merely says more is left to the judge.


_LONGEST = 2000
_NUMBER = re.compile(
    r"(?P<currency>(?:US|A|C)?\$|[€£¥₹₩₽])?\s?(?<![\w.])(?P<sign>[-+](?=[\d.]))?"
    r"(?P<value>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<mark>st|nd|rd|th|'?s\b)?(?:\s?(?P<scale>thousand|million|billion|trillion|bn|mn|[kKMB])(?![a-zA-Z]))?"
    r"(?:[ -]?(?P<unit>%|°\s?[CFK]\b|[a-zA-Z][a-zA-Z/]*(?:\s[a-zA-Z]+)?))?"
)
_CLOCK = re.compile(r"\b\d{1,2}(?:[:.]\d{2})?\s?[ap]\.?m\b\.?|\b\d{1,2}:\d{2}\b", re.IGNORECASE)
_MEASURED = ("high", "tall", "long", "wide", "deep")  # after a letter that is a unit then: "330 m high"
_SCALE_OF_DEGREES = re.compile(r"(?:°\s?|degrees? )?(celsius|centigrade|fahrenheit|kelvin|(?<=[° ])[cfk]\b)")
_NAME_ASKED = re.compile(
    r"\b(?:who|whom|whose|where|why|wer|wen|wem|wessen|wo|warum|où|pourquoi|quién|quiénes|dónde|por qué)\b"
    r"|\bwhich (?:treaty|country|city|town|state|place|river|island|person|man|woman|team|club|company|party|ship|film"
    r"|movie|book|novel|song|album|band|actor|actress|singer|author|writer|artist|painter|president|king|queen|empire"
    r"|general|battle|language|animal|organ)\b",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"(?<=[a-z] )(?:[IVXLC]{2,7}\b|[IVX]\b(?!\.))")
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
            return abs(self.value - other.value) * 200 <= abs(self.value)
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
    >>> contradict("It is 324 m high.", "1,063 ft"), contradict("It is 324 m high.", "It is 324 feet tall.")
    (False, True)
    >>> contradict("Born in 1900, he died in World War II.", "He died in World War II")
    False
    >>> contradict("England won in 1966.", "England, by 4 to 2.", "Who won the World Cup in 1966?")
    False
    """
    if len(a) > _LONGEST or len(b) > _LONGEST:
        return False
    first, second = _numbers(a), _numbers(b)
    if not first.hard or not second.hard:
        return False
    asked = _numbers(question).hard if len(question) <= _LONGEST else ()
    named = _NAME_ASKED.search(question) is not None
    for century in (False, True):
        left, right = (
            _alone(one, other, asked, century=century, named=named)
            for one, other in ((first, second), (second, first))
        )
        if left and right:
            return True
    return False


def _alone(
    one: _Numbers, other: _Numbers, asked: tuple[_Mention, ...], *, century: bool, named: bool
) -> bool:
    """Whether `one` has a number that `other` lacks.

    One that the question has counts only if there is no other, and not where the question asks for a name.
    """
    mine = [mention for mention in one.hard if (mention.kind == "century") == century]
    news = [mention for mention in mine if not any(mention.matches(said) for said in asked)]
    known = (*other.hard, *other.soft)
    counted = news if news or named else mine
    return any(not any(mention.matches(theirs) for theirs in known) for mention in counted)


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
    scale = _SCALE_OF_DEGREES.match(unit)
    if scale:
        kelvin, zero = _TEMPERATURES[scale[1][0]]
        return _Mention("", "degree celsius", written * kelvin + zero - Fraction("273.15"), written)
    last = not match.string[match.end() :].strip(" .!")
    base, factor = _unit(unit, match["currency"], last)
    return _Mention("", base, written * factor, written)


def _unit(unit: str, currency: str | None, last: bool) -> tuple[str, Fraction]:
    """The base unit and factor of the word after a number, or of the currency before it; "" and 1 for other words.

    A letter is a unit where it is the last of the text, or a word like "high" follows.
    """
    if currency:
        return UNITS[currency.casefold()][0], Fraction(1)
    first, _, rest = unit.partition(" ")
    for name in (unit, first):
        if name in UNITS and (len(name) > 1 or name == "%" or rest in _MEASURED or (last and not rest)):
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


# Enumerations: the same items in another order, or one item more, fewer or other.


_BREAK = re.compile(r"\s*(?:,\s*and\s|,|;|\sand\s|\s&\s)\s*")
_COMPANY = re.compile(r" (?:&|and) co(?:mpany)?\b")
_LONGEST_LIST = 300
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
    if len(text) > _LONGEST_LIST:
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


# Formulas: whether two answers that are algebraic expressions are equal.
#
# An expression is evaluated at fixed points of a large prime field (Schwartz-Zippel): two polynomials or quotients
# that agree at all of them are equal but for a chance of about 1e-17.


_PRIME = (1 << 61) - 1
_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)|(sqrt|[a-z])|([-+*/^()]))")
_RELATION = re.compile(r"<=|>=|=|<|>")
_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "≤": "<=", "≥": ">="})
_LONGEST_EXPRESSION = 80


class _Formula(NamedTuple):
    """A relation (or "") between values; `numbers` is the text where there is no variable, else ""."""

    relation: str
    values: tuple[tuple[int, ...], ...]
    numbers: str


def compare_expressions(a: str, b: str) -> bool | None:
    """Whether both are expressions and equal, or not; None where one of them is something else.

    >>> compare_expressions("a + b", "b + a"), compare_expressions("a + b", "a - b"), compare_expressions("x", "y")
    (True, False, None)
    >>> compare_expressions("3-2", "2-1"), compare_expressions("T-Rex", "T-shirt")
    (False, None)
    """
    first, second = _read_formula(a), _read_formula(b)
    if first is None and second is None:
        return None
    first, second = first or _read_formula(a, term=True), second or _read_formula(b, term=True)
    if first is None or second is None:
        return None
    if first.numbers or second.numbers:  # a score or a range: 3-2 is not 2-1
        return first.numbers == second.numbers
    return (first.relation, first.values) == (second.relation, second.values)


def _read_formula(text: str, *, term: bool = False) -> _Formula | None:
    """The formula a text is, or None; a single term like "2x" counts only where `term` is set."""
    if len(text) > _LONGEST_EXPRESSION:
        return None
    plain = plain_signs(text).rstrip(".!,;: ").translate(_SIGNS).replace("**", "^")
    if re.fullmatch(r"[0-9]+ ?: ?[0-9]+", plain):
        return _Formula("", (), plain.replace(" ", ""))
    if term and not re.fullmatch(r"[0-9]*[a-z]", plain):
        return None
    if not (term or re.search(r"[-+*/^=<>√]|sqrt\(", plain)) or re.search(r"(?!sqrt)[a-z]{3,}", plain):
        return None
    sides = _RELATION.split(plain.replace("√", "sqrt"))
    values = tuple(_evaluate(side) for side in sides)
    if len(sides) > 2 or None in values:
        return None
    relation = _RELATION.search(plain)
    numbers = "" if re.search(r"[a-z]", plain) else plain.replace(" ", "")
    return _Formula(relation[0] if relation else "", tuple(v for v in values if v is not None), numbers)


def _evaluate(text: str) -> tuple[int, ...] | None:
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        tokens.append(match[0].strip())
        place = match.end()
    try:
        return tuple(_FormulaParser(tokens, point).parse() for point in (1, 2, 3))
    except (ValueError, IndexError, RecursionError):
        return None


class _FormulaParser:
    """Recursive descent over sums, products (also implicit: 2ab), powers and square roots."""

    def __init__(self, tokens: list[str], point: int) -> None:
        self._tokens, self._place, self._point = tokens, 0, point

    def parse(self) -> int:
        value = self._sum()
        if self._place < len(self._tokens):
            raise ValueError("more follows")
        return value

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1]

    def _sum(self) -> int:
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            value = (value + sign * self._product()) % _PRIME
        return value

    def _product(self) -> int:
        value = self._signed()
        while (token := self._next()) and token not in ("+", "-", ")"):
            if token == "/":
                self._take()
                value = value * pow(self._signed(), -1, _PRIME) % _PRIME
            else:
                if token == "*":
                    self._take()
                value = value * self._signed() % _PRIME
        return value

    def _signed(self) -> int:
        if self._next() in ("+", "-"):
            return self._signed() if self._take() == "+" else -self._signed() % _PRIME
        return self._power()

    def _power(self) -> int:
        base = self._atom()
        if self._next() != "^":
            return base
        self._take()
        start = self._place
        exponent = self._signed()
        small = "".join(self._tokens[start : self._place])
        return pow(base, int(small), _PRIME) if small.isdigit() else self._opaque("^", base, exponent)

    def _atom(self) -> int:
        token = self._take()
        if token == "(":
            value = self._sum()
            if self._take() != ")":
                raise ValueError("a bracket is not closed")
            return value
        if token == "sqrt":
            return self._opaque(token, self._atom())
        if token.isalpha():
            return self._opaque(token)
        if not token[0].isdigit():
            raise ValueError(f"{token!r} is no value")
        whole, _, decimals = token.partition(".")
        return int(whole + decimals) * int(pow(10 ** len(decimals), -1, _PRIME)) % _PRIME

    def _opaque(self, *parts: object) -> int:
        """A value for a variable, or for a function whose rules are not known here."""
        digest = hashlib.blake2b(repr((self._point, parts)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") % _PRIME


_BASES = {base for base, _ in UNITS.values()} | {"kelvin", "time", "time of twelve"}
_MEASURES = _BASES - CURRENCIES - {"time", "time of twelve", "percent", "byte"}
# Where a year is asked for, the day and the month are beside the point.
_YEAR_ASKED = re.compile(
    r"\b(?:(?:what|which)(?: calendar)? year|welche[ms]? jahr|quelle année|(?:qué|cuál) año)\b", re.IGNORECASE
)
# Where the question leaves open how exact a date is, a year and a day in that year are one answer.
_WHEN_ASKED = re.compile(
    r"\bwhen (?:did|was|were|is|are|does|do|will|has|had)\b|\bwann\b|\bquand\b|\bcuándo\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\d.,/-])(?:1\d{3}|20\d{2})(?![\d,]|\.\d|s\b|\s?(?:BC|B\.C))", re.IGNORECASE)
_ABOUT = re.compile(rf"^\s*(?:it(?:'s| is) )?(?:{'|'.join(ABOUT)}|some|~)\.?\s?(?=[\d$€£])", re.IGNORECASE)
_DAYS = Fraction("30.436875")  # days in a mean Gregorian month


def conflict(a: str, b: str, question: str = "") -> bool:
    """Whether the two cannot be one answer: arithmetic rules out entailment in both directions.

    >>> conflict("$5", "€5"), conflict("July 4, 1776", "1776"), conflict("Paris", "Rome")
    (True, False, False)
    """
    return settled(a, b, question) is False and settled(b, a, question) is False


def settled(a: str, b: str, question: str = "") -> bool | None:
    """Whether `a` entails `b` where arithmetic decides; None where it does not.

    >>> settled("5 km", "5000 m"), settled("12", "13"), settled("12 apples", "12"), settled("Paris", "12")
    (True, False, None, None)
    >>> settled("July 4, 1776", "1776"), settled("1776", "July 4, 1776")
    (True, False)
    >>> settled("2 hours", "120"), settled("2 hours", "120", "How many minutes did it take?")
    (False, True)
    >>> settled("May 1, 1989", "In June 1989.", "What year was it?"), settled("1989", "May 1990", "In which year?")
    (True, False)
    >>> settled("1989", "9 November 1989", "When did the Wall fall?"), settled("1989", "9 November 1989", "Which day?")
    (True, False)
    """
    return _settled(a, b, question) if max(len(a), len(b), len(question)) <= _LONGEST else None


@lru_cache(8192)  # an answer is compared with every answer of a meaning
def _settled(a: str, b: str, question: str) -> bool | None:
    if _YEAR_ASKED.search(question):
        before, years = set(_YEAR.findall(question)), [set(_YEAR.findall(text)) for text in (a, b)]
        if all(len(each - before) == 1 for each in years):
            return years[0] - before == years[1] - before
    first, second = (quantity(_ABOUT.sub("", text)) for text in (a, b))
    if first is not None and second is not None:
        return _quantities(first, second, question)
    known = compare_expressions(a, b)
    if known is None:
        known = compare_lists(a, b)
    if known is None and contradict(a, b, question):
        return False
    return known


def _quantities(a: Quantity, b: Quantity, question: str) -> bool | None:
    if a.variable and b.variable and a.variable != b.variable:
        return False
    if a.date or b.date:
        return _date_entails(a, b, question)
    units = {a.unit, b.unit}
    if units == {"time", "time of twelve"}:
        return (a.value - b.value) % 720 == 0
    if units == {"", "percent"}:
        return _percent(a, b, question)
    if len(units) == 2:
        return _bare(a, b, question) if "" in units else _other_unit(a, b)
    if a.value == b.value:
        return True
    if a.name != b.name and a.unit != "" and _close(a.value, b.value):
        return True  # a conversion, rounded
    if a.unit in _MEASURES and _rounded(a.written, b.written):
        return True
    return _endless(a.value, b.value) or _endless(b.value, a.value)


def _other_unit(a: Quantity, b: Quantity) -> bool | None:
    """Two different units. Months and days, or two things counted, are left to the judge where they may be one."""
    if {a.unit, b.unit} == {"month", "second"}:
        months, seconds = (a, b) if a.unit == "month" else (b, a)
        return None if abs(months.value * _DAYS * 86400 / seconds.value - 1) < Fraction(1, 40) else False
    if a.unit in _BASES and b.unit in _BASES:
        return False
    if {a.unit, b.unit} == {"degree", "kelvin"} and a.written == b.written:
        return True  # 212 degrees, and 212 °F
    return None if a.written == b.written else False


def _bare(a: Quantity, b: Quantity, question: str) -> bool | None:
    """A bare number and one with a unit: the same if written alike, or converted to a unit the question names."""
    bare, said = (a, b) if a.unit == "" else (b, a)
    asked = set(question.casefold().replace("?", " ").split())
    if bare.value == said.written:
        known = said.unit in _BASES or said.unit == "degree" or said.name in asked
        return True if known else None
    for name, (base, factor) in UNITS.items():
        if base == said.unit and name in asked and len(name) > 2:
            value = said.value / factor
            if value == bare.value or (factor != 1 and _close(value, bare.value)):
                return True
    if said.unit == "kelvin" and ("celsius" in asked or "fahrenheit" in asked):
        celsius = said.value - Fraction("273.15")
        value = celsius if "celsius" in asked else celsius * Fraction(9, 5) + 32
        return _close(value, bare.value)
    return False


def _close(a: Fraction, b: Fraction) -> bool:
    """Whether a conversion, rounded, explains the difference."""
    return abs(a - b) * 200 <= max(abs(a), abs(b))


def _rounded(a: Fraction, b: Fraction) -> bool:
    """Whether one measured value is the other with fewer decimals, three digits at least.

    >>> _rounded(Fraction("78.4"), Fraction("78.37")), _rounded(Fraction("1.5"), Fraction("1.54"))
    (True, False)
    >>> _rounded(Fraction("10994"), Fraction("10998"))
    False
    """
    less, more = sorted((_places(a), _places(b)))
    coarse = a if _places(a) == less else b
    return less < more and abs(coarse) * 10**less >= 100 and 2 * abs(a - b) * 10**less <= 1


def _places(value: Fraction) -> int:
    """The decimals of a value, at most nine."""
    return next((n for n in range(9) if (value * 10**n).denominator == 1), 9)


def _endless(a: Fraction, b: Fraction) -> bool:
    """Whether `a` has no finite decimal form and `b` is its rounding: 1/3 and 0.33, but not 3.14159 and 3.14."""
    places = _places(b)
    rest = a.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest != 1 and places >= 2 and abs(a - b) * 10**places <= Fraction(1, 2)


def _percent(a: Quantity, b: Quantity, question: str) -> bool | None:
    """A quarter is 25%; whether a bare 25 is, the question tells."""
    percent, bare = (a, b) if a.unit == "percent" else (b, a)
    if percent.value == bare.value * 100:
        return True
    if percent.value != bare.value:
        return False
    return True if "percent" in question.casefold() or "%" in question else None


def _date_entails(a: Quantity, b: Quantity, question: str) -> bool | None:
    """Whether `a` says all that `b` says of a date; where the question leaves that open, either may say more."""
    first, second = _as_date(a), _as_date(b)
    if first is None or second is None:
        return None
    return _says_all(first, second) or (bool(_WHEN_ASKED.search(question)) and _says_all(second, first))


def _says_all(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    return all(said == asked for said, asked in zip(a, b, strict=True) if asked)


def _as_date(amount: Quantity) -> tuple[int, int, int] | None:
    if amount.date:
        return amount.date
    year = amount.value
    return (int(year), 0, 0) if amount.unit == "" and year.denominator == 1 and 1000 <= year <= 2100 else None

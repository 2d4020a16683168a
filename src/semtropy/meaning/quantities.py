"""What needs no judge: answers that are quantities, expressions or lists, and numbers that cannot both be right.

Values, signs, currencies and units that differ are different answers, whatever a network thinks of them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .dates import read_date, read_time
from .figures import UNIT, in_figures
from .number_words import SCALES, number, ordinal, share
from .spelling import ABOUT, normalise, plain_signs
from .units import CURRENCIES, Unit, each_time, named

# Numbers as numbers, dates as dates, times as times: what a short answer amounts to, in any spelling or unit.
#
# Only an answer that is a quantity and nothing else is read here; `contradict` reads the numbers within longer answers,
# and `settled` compares both.


_LONGEST_AMOUNT = 60  # characters
_LONGEST_NUMBER = 12  # words
_SPANS = ("hour", "day", "week", "fortnight", "month", "year", "decade", "century", "millennium")
_SYMBOL = re.compile(
    r"(?P<sign>-?) ?(?P<symbol>(?:us|a|c|r)?\$|[€£¥₹₩₽]|(?:usd|eur|gbp|jpy|chf|inr|cny|aud|cad)(?= )) ?(?=-?[0-9.])"
)
_GLUED = re.compile(r"(?<=[0-9])(?=(?!e[+-]?[0-9])/?[^\W\d_]|[%°$€£¥₹₩₽])")  # "5km"
_NO_UNIT = ("or", "and", "to", "bc", "bce", "am", "pm")
_MEASURED = frozenset({  # what may follow a unit: "330 m high"
    "high", "tall", "long", "wide", "deep", "hoch", "lang", "breit", "tief", "de", "di", "haut", "longue", "large",
    "profond", "alto", "alta", "largo", "larga", "ancho", "ancha", "profundo", "profunda", "lungo", "lunga", "profondo",
})  # fmt: skip
_ZONE = re.compile(
    r" \(?((?:central european|eastern|central|mountain|pacific)(?: standard| daylight| summer)? time"
    r"|utc|gmt|bst|ist|jst|[ce]es?t|[cemp][sd]t)\)?$"
)
_NOT_PLAIN = {"north", "south", "east", "west", "less", "fewer"}  # what says more than "5 km long"
_VARIABLE = re.compile(r"([a-z]) ?= ?(?=\S)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of its kind.

    unit      the base unit; "" for a bare number, "date" for a date, the thing counted for any other noun
    value     the value in the base unit
    date      year, month and day, each 0 where not given; None for anything but a date
    variable  the name in "x = 2", or the zone of a time; else ""
    written   the value in the unit it was written in; not compared
    name      the unit it was written in; not compared
    about     whether it is marked as approximate; not compared

    >>> quantity("5 km") == quantity("5,000 metres"), quantity("5 km") == quantity("5 miles")
    (True, False)
    >>> quantity("165 °F").name, quantity("20 dollars a month") == quantity("$240 per year")
    ('°f', True)
    """

    unit: str
    value: Fraction
    date: tuple[int, int, int] | None = None
    variable: str = ""
    written: Fraction = field(default=Fraction(0), compare=False)
    name: str = field(default="", compare=False)
    about: bool = field(default=False, compare=False)

    @property
    def measure(self) -> Unit | None:
        """The unit it was written in; None for a bare number, a count, a date or a time."""
        return named(self.name)

    @property
    def thing(self) -> str:
        """The noun of a count ("5 seats": "seat"); "" for a bare number, a measure, money, a date or a time."""
        return "" if self.date or self.unit in _NOT_COUNTED or self.measure else self.unit


def quantity(text: str, question: str = "") -> Quantity | None:
    """What the whole text amounts to, or None when it is more or other than a number, a date or a time.

    text      an answer, as it was sampled
    question  what was asked; figures are read as its language writes them

    >>> quantity("twelve") == quantity("12.0") == quantity(" 12. ")
    True
    >>> quantity("4th of July, 1776") == quantity("July 4, 1776") == quantity("1776-07-04")
    True
    >>> quantity("minus 5") == quantity("-5"), quantity("1.5M") == quantity("1.5 million")
    (True, True)
    >>> quantity("about 12"), quantity("12 or 13"), quantity("Paris")
    (None, None, None)
    """
    return read_figures(in_figures(text, question)) if len(text) <= _LONGEST_AMOUNT else None


@lru_cache(4096)  # an answer is read again for each meaning it is compared with
def read_figures(text: str) -> Quantity | None:
    """What a text with its amounts in figures (`in_figures`) amounts to, as `quantity`."""
    if len(text) > _LONGEST_AMOUNT:
        return None
    plain = _fractions(normalise(text))
    if not plain:
        return None
    variable = _VARIABLE.match(plain)
    if variable:
        found = _plain_quantity(plain[variable.end() :], text.partition("=")[2])
        return found and replace(found, variable=variable[1])
    return _plain_quantity(plain, text)


def _plain_quantity(plain: str, text: str) -> Quantity | None:
    date = read_date(plain)
    if date is not None:
        return Quantity("date", Fraction(0), date)
    time, zone = _time(plain)
    if time is not None:
        return Quantity("time" if time[1] else "time of twelve", Fraction(time[0]), variable=zone)
    plain = re.sub(r"^(?:in |the year |year |in the year )?([0-9]{3,4})(?: (?:ad|ce))?$", r"\1", plain)
    said = " ".join(text.casefold().split()).strip(" .!")
    value = share(said)  # before the article goes: "a third" is a part, "the third" a place
    if value is None:
        value = number(plain)
    if value is not None:
        return Quantity("", value, written=value)
    place = ordinal(plain)
    if place is not None and not said.startswith("a "):
        return Quantity("ordinal", place, written=place)
    return _amount(plain)


def _time(text: str) -> tuple[tuple[int, bool] | None, str]:
    """A time of day, and the zone that is named after it."""
    zone = _ZONE.search(text)
    if zone is None:
        return read_time(text), ""
    name = "".join(word[0] for word in zone[1].split()) if " " in zone[1] else zone[1]
    return read_time(text[: zone.start()]), name


def _fractions(text: str) -> str:
    """Vulgar fractions, which normalisation writes with a fraction slash, set apart: "3 1/2"."""
    return re.sub(r"(?<=[0-9])([0-9]⁄)", r" \1", text) if "⁄" in text else unicodedata.normalize("NFC", text)


def _amount(text: str) -> Quantity | None:
    """A number with a currency before it, or a unit or the thing counted after it; or one unit: "fortnight"."""
    if re.fullmatch(r"[0-9]{2,4}s", text):
        return None  # the nineties, not ninety seconds
    if text in _SPANS:
        return _in_unit(Fraction(1), text)
    symbol = _SYMBOL.match(text)
    words = _GLUED.sub(" ", text[symbol.end() :] if symbol else text).split(" ")
    for size in range(min(len(words), _LONGEST_NUMBER), 0, -1):
        value = number(" ".join(words[:size]))
        if value is not None:
            rest = " ".join(words[size:])
            if symbol is None:
                return _of(value, rest)
            return _in_unit(-value if symbol["sign"] else value, f"{symbol['symbol']} {rest}".rstrip())
    return None


def _of(value: Fraction, unit: str) -> Quantity | None:
    """An amount of a unit, or a count of things."""
    if unit in SCALES or number(unit) is not None or unit in _NO_UNIT:
        return None
    first, _, rest = unit.partition(" ")
    plain = (
        first.isalpha()
        and rest.isalpha()
        and len(rest) > 1
        and rest not in _NOT_PLAIN
        and number(rest) is None
    )
    for name in (unit, first) if plain else (unit,):  # "5 km long"
        if named(name) is not None:
            return _in_unit(value, name)
    if not re.fullmatch(r"[^\W\d]+(?: [^\W\d]+)?", unit) or len(unit) < 3:
        return None
    return Quantity(unit.removesuffix("s"), value, written=value, name=unit)


def _in_unit(value: Fraction, name: str) -> Quantity | None:
    unit = named(name)
    return None if unit is None else Quantity(unit.base, unit.to_base(value), written=value, name=name)


# Numbers within longer answers: two answers whose numbers cannot be reconciled do not mean the same.
#
# This only refutes. Each answer must have a number that the other has in no form (figures, words, Roman numerals,
# another unit); an answer that merely says more is left to the judge.


_LONGEST = 2000
_MARK = rf"(?:{'|'.join(sorted(ABOUT))})\.?(?: de)?"
_NUMBER = re.compile(
    rf"(?P<about>(?:[~≈]|(?<!\w){_MARK})\s?)?(?P<minus>(?<!\w)-(?=[A-Z]*[$€£¥]))?"
    r"(?P<currency>(?:US|A|C|R)?\$|[€£¥₹₩₽])?\s?(?<![\w.])(?P<sign>[-+](?=[\d.]))?"
    r"(?P<value>(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)(?:e[-+]?\d{1,3}\b)?)"
    r"(?P<mark>st|nd|rd|th|'?s\b)?(?:\s?(?P<scale>thousand|million|billion|trillion)(?![a-zA-Z]))?"
    r"(?:[ -]?(?P<unit>[%€£]|(?:°\s?)?[^\W\d_]+(?:[/^][^\W_]+)?(?:\s[^\W\d_]+){0,2}))?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b\d{1,2}(?:[:.]\d{2})?\s?[ap]\.?m\b\.?|\b\d{1,2}:\d{2}\b", re.IGNORECASE)
_NAME_ASKED = re.compile(
    r"\b(?:who|whom|whose|where|why|wer|wen|wem|wessen|wo|warum|où|pourquoi|quién|quiénes|dónde|por qué)\b"
    r"|\bwhich (?:treaty|country|city|town|state|place|river|island|person|man|woman|team|club|company|party|ship|film"
    r"|movie|book|novel|song|album|band|actor|actress|singer|author|writer|artist|painter|president|king|queen|empire"
    r"|general|battle|language|animal|organ)\b",
    re.IGNORECASE,
)
_CENTURY = "century of an era"  # "18th century"
_ROMAN = re.compile(r"(?<=[a-z] )(?:[IVXLC]{2,7}\b|[IVX]\b(?!\.))")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def _reconciled(a: Quantity, b: Quantity) -> bool:
    """Whether two numbers of longer answers may be one: what the words around them count is not known here."""
    if a.unit != b.unit and _CENTURY in (a.unit, b.unit):
        return False
    if "time" in (a.unit, b.unit):
        return a.unit == b.unit and (a.value - b.value) % 720 == 0
    if a.unit and b.unit and a.unit != _CENTURY:
        if a.unit != b.unit and a.unit.split("/")[0] == b.unit.split("/")[0]:
            return a.written == b.written  # "5 metres", and "5 metres an hour"
        return any(_near(x, y) or _rounded(x, y) for x, y in _in_one_unit(a, b))
    if a.written == b.written or a.value == b.value or (a.unit == b.unit and _rounded(a, b)):
        return True
    years = sorted((abs(a.written), abs(b.written)))
    return years[0] < 100 and 1000 <= years[1] < 2100 and years[1] % 100 == years[0]  # '45 and 1945


def _near(a: Quantity, b: Quantity) -> bool:
    """Whether two amounts of one kind differ by at most 0.5% in the unit of the first."""
    return abs(_in_unit_of(a, b) - a.written) * 200 <= abs(a.written)


class _Numbers(NamedTuple):
    """The numbers in figures or Roman numerals, which may refute, and those in words, which only match."""

    hard: tuple[Quantity, ...]
    soft: tuple[Quantity, ...]

    @property
    def untimed(self) -> tuple[Quantity, ...]:
        return tuple(amount for amount in self.hard if amount.unit != "time")

    @property
    def timed(self) -> bool:
        return len(self.untimed) < len(self.hard)


def contradict(a: str, b: str, question: str = "") -> bool:
    """Whether each answer has a number that the other does not have.

    >>> contradict("$750,000", "5,600 students"), contradict("about 500,000 years", "5 million years")
    (True, True)
    >>> contradict("It is 324 metres tall.", "324 m (1,063 ft)"), contradict("World War 2", "World War II")
    (False, False)
    >>> contradict("It is 324 m high.", "1,063 ft"), contradict("It is 324 m high.", "It is 324 feet tall.")
    (False, True)
    >>> contradict("The balance is -$50.", "It is $50."), contradict("It fell to minus 5 degrees.", "5 degrees")
    (True, True)
    >>> contradict("Born in 1900, he died in World War II.", "He died in World War II")
    False
    >>> contradict("England won in 1966.", "England, by 4 to 2.", "Who won the World Cup in 1966?")
    False
    """
    if len(a) > _LONGEST or len(b) > _LONGEST:
        return False
    first, second = (_numbers(in_figures(text, question)) for text in (a, b))
    if not (first.timed and second.timed):  # a time of day in one of them refutes nothing
        first, second = (numbers._replace(hard=numbers.untimed) for numbers in (first, second))
    if not first.hard or not second.hard:
        return False
    asked = _numbers(in_figures(question)).hard if len(question) <= _LONGEST else ()
    by_name = _NAME_ASKED.search(question) is not None
    for century in (False, True):
        left, right = (
            _alone(one, other, asked, century=century, by_name=by_name)
            for one, other in ((first, second), (second, first))
        )
        if left and right:
            return True
    return False


def _alone(
    one: _Numbers, other: _Numbers, asked: tuple[Quantity, ...], *, century: bool, by_name: bool
) -> bool:
    """Whether `one` has a number that `other` lacks.

    One that the question has counts only if there is no other, and not where the question asks for a name.
    """
    mine = [mention for mention in one.hard if (mention.unit == _CENTURY) == century]
    news = [mention for mention in mine if not any(_reconciled(mention, said) for said in asked)]
    known = (*other.hard, *other.soft)
    counted = news if news or by_name else mine
    return any(not any(_reconciled(mention, theirs) for theirs in known) for mention in counted)


_FROM = re.compile(
    rf"(\d[\d,.]*) ?(?:-|to|and|bis|à|a|y) ?(?=\d[\d,.]* ?({UNIT}))", re.IGNORECASE
)  # has the unit of the end


_PART = re.compile(r"(?<![\d/.,-])(?:(\d+) )?([1-9])/([2-9])(?![\d/])")  # "1/2", "2 3/4"


def _decimal(part: re.Match[str]) -> str:
    whole, above, below = (int(digits or 0) for digits in part.groups())
    return f"{whole + above / below:.9g}"


@lru_cache(4096)
def _numbers(text: str) -> _Numbers:
    text = _PART.sub(_decimal, _FROM.sub(r"\1 \2 to ", text.replace("–", "-")))
    hard: list[Quantity] = []
    for clock in _CLOCK.finditer(text):
        time = read_time(normalise(clock[0]))
        if time is not None:
            hard.append(Quantity("time", Fraction(time[0]), written=Fraction(-1)))
    text = _CLOCK.sub(" ", text)
    hard += [_figure(match) for match in _NUMBER.finditer(text) if len(match["value"]) < 30]
    hard += [_bare_number(value) for value in map(_roman, _ROMAN.findall(text)) if value is not None]
    return _Numbers(tuple(hard), tuple(_worded(text)))


def _bare_number(value: Fraction, unit: str = "") -> Quantity:
    return Quantity(unit, value, written=value)


def _figure(match: re.Match[str]) -> Quantity:
    value = Fraction(match["value"].replace(",", "")) * SCALES.get((match["scale"] or "").lower(), 1)
    after_digit = match.string[: match.start("value") - 1].rstrip()[-1:].isdigit()
    if match["minus"] or (match["sign"] == "-" and not after_digit):
        value = -value
    mark, unit = match["mark"] or "", (match["unit"] or "").casefold()
    if mark in ("st", "nd", "rd", "th"):
        return _bare_number(value, _CENTURY if unit.split(" ")[0] in ("century", "centuries") else "")
    if mark:
        return _bare_number(value, "decade")
    last = not match.string[match.end() :].strip(" .!")
    name = (match["currency"] or _unit_name(unit, last)).casefold()
    return replace(_in_unit(value, name) or _bare_number(value), about=match["about"] is not None)


def _unit_name(words: str, last: bool) -> str:
    """The unit that some words after a number begin with; "" where they do not.

    A letter is a unit where it is the last of the text, or a word like "high" follows.
    """
    first, _, rest = words.partition(" ")
    if len(first) == 1 and first.isalpha() and not (rest.split(" ")[0] in _MEASURED or (last and not rest)):
        return ""
    while words and named(words) is None:
        words = words.rpartition(" ")[0]
    return words


def _roman(text: str) -> Fraction | None:
    values = [_ROMAN_VALUES[letter] for letter in text]
    total = sum(-v if v < max(values[place:]) else v for place, v in enumerate(values))
    return Fraction(total) if 0 < total < 100 else None


def _worded(text: str) -> list[Quantity]:
    found = []
    words = re.findall(r"[a-z]+(?:-[a-z]+)?", text.casefold())
    for size in (1, 2, 3):
        for place in range(len(words) - size + 1):
            phrase = " ".join(words[place : place + size])
            value = number(phrase)
            if value is None:
                value = ordinal(phrase)
            if value is not None:
                units = ("", _CENTURY) if "centur" in text.casefold() else ("",)
                found += [_bare_number(value, unit) for unit in units]
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
_PAIR = re.compile(r"([0-9]+) ?(?:[-:]|to|by|zu|à) ?([0-9]+)")
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
    >>> compare_expressions("16:9", "16 to 9"), compare_expressions("3-1", "3:1"), compare_expressions("3:1", "1:3")
    (True, True, False)
    """
    first, second = _read_formula(a), _read_formula(b)
    if first is None and second is None:
        return None
    first, second = first or _read_formula(a, term=True), second or _read_formula(b, term=True)
    if first is None or second is None:
        return None
    if first.numbers or second.numbers:  # a score, a ratio or a range: 3-2 is not 2-1
        return first.numbers == second.numbers
    return (first.relation, first.values) == (second.relation, second.values)


def _read_formula(text: str, *, term: bool = False) -> _Formula | None:
    """The formula a text is, or None; a single term like "2x" counts only where `term` is set."""
    if len(text) > _LONGEST_EXPRESSION:
        return None
    plain = plain_signs(text).rstrip(".!,;: ").translate(_SIGNS).replace("**", "^")
    pair = _PAIR.fullmatch(plain)
    if pair:
        return _Formula("", (), f"{pair[1]}:{pair[2]}")
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


_NOT_COUNTED = {"", "date", "time", "time of twelve", "ordinal"}
_EXACT = CURRENCIES | {"percent", "byte", *_NOT_COUNTED}
# What a name may also mean: pounds are money or a weight, degrees Celsius or Fahrenheit.
_ALSO = {"pound": ("lb",), "degree": ("°c", "°f")}
# Where a year is asked for, the day and the month are beside the point.
_YEAR_ASKED = re.compile(
    r"\b(?:(?:what|which)(?: calendar)? year|welche[ms]? jahr|quelle année|(?:qué|cuál) año)\b", re.IGNORECASE
)
# Where the question leaves open how exact a date is, a year and a day in that year are one answer.
_WHEN_ASKED = re.compile(
    r"\bwhen (?:did|was|were|is|are|does|do|will|has|had)\b|\bwann\b|\bquand\b|\bcuándo\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\d.,/-])(?:1\d{3}|20\d{2})(?![\d,]|\.\d|s\b|\s?(?:BC|B\.C))", re.IGNORECASE)
_ABOUT = re.compile(
    rf"^\s*(?:it(?:'s| is) )?(?:{_MARK}(?!\w)|some(?= [\d$€£])|[~≈])\s?(?=\w|[$€£-])", re.IGNORECASE
)
_PEOPLE = re.compile(
    r"\b(?:people|persons|inhabitants|residents|population|einwohner\w*|habitant[es]*|abitanti|población|popolazione"
    r"|população)\b",
    re.IGNORECASE,
)
_CLOSE, _ROUGH = Fraction(1, 100), Fraction(1, 50)  # by how much rounding may change an amount
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
    first, second = (_approximate(in_figures(text, question)) for text in (a, b))
    if first is not None and second is not None:
        return _quantities(first, second, question)
    known = compare_expressions(a, b)
    if known is None:
        known = compare_lists(a, b)
    if known is None and contradict(a, b, question):
        return False
    return known


def _approximate(text: str) -> Quantity | None:
    """What the whole text amounts to, also after a word like "about"."""
    plain = _ABOUT.sub("", text)
    found = read_figures(plain)
    return replace(found, about=True) if found is not None and plain != text else found


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
    return _same_size(a, b)


def _same_size(a: Quantity, b: Quantity) -> bool:
    """Whether two amounts of one kind are the same, or one is the other rounded."""
    return a.value == b.value or _rounded(a, b) or _endless(a.value, b.value) or _endless(b.value, a.value)


def _other_unit(a: Quantity, b: Quantity) -> bool | None:
    """Two different units. Months and days, or two things counted, are left to the judge where they may be one."""
    if {a.unit, b.unit} == {"month", "second"}:
        months, seconds = (a, b) if a.unit == "month" else (b, a)
        return None if abs(months.value * _DAYS * 86400 / seconds.value - 1) < Fraction(1, 40) else False
    if any(_same_size(x, y) for x, y in _in_one_unit(a, b)):
        return True
    return None if a.written == b.written and not (a.measure and b.measure) else False


def _in_one_unit(a: Quantity, b: Quantity) -> list[tuple[Quantity, Quantity]]:
    """The two amounts in the ways to read them that make them one kind."""
    return [(x, y) for x in _ways(a) for y in _ways(b) if x.unit == y.unit]


def _ways(amount: Quantity) -> list[Quantity]:
    """An amount and what else it may mean: pounds a weight, and "$20 a month" the "$20" of a monthly price."""
    names = (each_time(amount.name), *_ALSO.get(amount.unit, ()))
    others = (_in_unit(amount.written, name) for name in names if name)
    return [amount, *(replace(other, about=amount.about) for other in others if other)]


def _bare(a: Quantity, b: Quantity, question: str) -> bool | None:
    """A bare number and one with a unit: the same if written alike, or in a unit the question names."""
    bare, said = (a, b) if a.unit == "" else (b, a)
    asked = set(question.casefold().replace("?", " ").split())
    if bare.value == said.written:
        people = _PEOPLE.search(said.name) and _PEOPLE.search(question)
        counted = said.unit in {word.removesuffix("s") for word in asked}
        return True if said.measure or counted or people else None
    ways = (_in_unit(bare.value, name) for name in asked if len(name) > 2)
    if any(_same_size(replace(way, about=bare.about), said) for way in ways if way and way.unit == said.unit):
        return True
    return _rounded(bare, replace(said, unit="", name="")) if said.thing else False


def _rounded(a: Quantity, b: Quantity) -> bool:
    """Whether one of two amounts of one kind is the other, rounded to the digits that it is written with.

    Zeros at the end of a whole number are no digits. A number marked as approximate may be off by 2%, and so may a
    conversion to two digits; a conversion to one digit by 1%. Otherwise three digits must agree, of measures with
    decimals or from 10,000 on; counts, money and percentages are exact, but for round ones from a million on.

    >>> def rounded(a: str, b: str) -> bool:
    ...     return _rounded(_approximate(a), _approximate(b))
    >>> rounded("78.4 °C", "78.37 °C"), rounded("1.5 km", "1.54 km"), rounded("10,994 m", "10,998 m")
    (True, False, False)
    >>> rounded("165 °F", "74 °C"), rounded("4,100 miles", "6,650 km"), rounded("5 km", "3 miles")
    (True, True, False)
    >>> rounded("about 300,000 km/s", "299,792,458 m/s"), rounded("about 380,000", "376,248"), rounded("about 20", "19")
    (True, True, False)
    >>> rounded("13.2 million", "13,205,279"), rounded("1507800", "1507808"), rounded("around 800", "793")
    (True, False, False)
    """
    years = a.unit == "" and _may_be_year(a) and _may_be_year(b)
    exact = years or a.unit in ("time", "time of twelve", "ordinal")
    return not exact and (_rounds_to(a, b) or _rounds_to(b, a))


def _rounds_to(fine: Quantity, coarse: Quantity) -> bool:
    """Whether the second is the first, rounded."""
    value, size = _in_unit_of(coarse, fine), abs(coarse.written)
    off = abs(value - coarse.written)
    if off > _ROUGH * size:
        return False
    step = _step(coarse.written)
    about, converted = fine.about or coarse.about, fine.measure != coarse.measure
    if value.denominator != 1 and not (about or converted):
        step = min(step, Fraction(1))  # beside 169.7 cm, 170 cm has three digits
    digits = size / step  # 10 to 99 for two digits
    if 2 * off > step:
        return False
    if about or converted:
        return about or digits >= 10 or off <= _CLOSE * size
    if coarse.unit in _EXACT or coarse.thing:
        return size >= 10**6 and 100 <= digits < 10**4
    return digits >= 100 and (value.denominator != 1 or size >= 10**4)


def _in_unit_of(other: Quantity, amount: Quantity) -> Fraction:
    return other.measure.from_base(amount.value) if other.measure else amount.value


@lru_cache(4096)
def _step(value: Fraction) -> Fraction:
    """The place of the last digit that is not a zero, at most nine after the point: 100 for 38,200."""
    if value.denominator == 1:
        digits = str(value.numerator)
        return Fraction(10 ** (len(digits) - len(digits.rstrip("0"))) if value else 1)
    return Fraction(1, 10 ** next((n for n in range(1, 9) if (value * 10**n).denominator == 1), 9))


def _may_be_year(amount: Quantity) -> bool:
    return amount.value.denominator == 1 and 100 <= amount.value <= 2100


def _endless(a: Fraction, b: Fraction) -> bool:
    """Whether `a` has no finite decimal form and `b` is its rounding: 1/3 and 0.33, but not 3.14159 and 3.14."""
    rest = a.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    step = _step(b)
    return rest != 1 and step * 100 <= 1 and 2 * abs(a - b) <= step


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
    year = amount.unit == "" and amount.value >= 1000 and _may_be_year(amount)
    return (int(amount.value), 0, 0) if year else None

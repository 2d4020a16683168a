"""What needs no judge: answers that are quantities, expressions or lists, and numbers that cannot both be right.

Values, signs, currencies and units that differ are different answers, whatever a network thinks of them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from .expressions import compare_expressions
from .lists import compare_lists
from .mentions import contradict
from .quantity import Quantity, quantity
from .units import UNITS

__all__ = ["conflict", "settled"]

_LONGEST = 2000  # characters
_BASES = {base for base, _ in UNITS.values()} | {"kelvin", "time", "time of twelve"}
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
    """
    return _settled(a, b, question) if max(len(a), len(b), len(question)) <= _LONGEST else None


@lru_cache(8192)  # an answer is compared with every answer of a meaning
def _settled(a: str, b: str, question: str) -> bool | None:
    first, second = quantity(a), quantity(b)
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
        return _date_entails(_as_date(a), _as_date(b))
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
    return _endless(a.value, b.value) or _endless(b.value, a.value)


def _other_unit(a: Quantity, b: Quantity) -> bool | None:
    """Two different units. Months and days, or two things counted, are left to the judge where they may be one."""
    if {a.unit, b.unit} == {"month", "second"}:
        months, seconds = (a, b) if a.unit == "month" else (b, a)
        return None if abs(months.value * _DAYS * 86400 / seconds.value - 1) < Fraction(1, 40) else False
    if a.unit in _BASES and b.unit in _BASES:
        return False
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


def _endless(a: Fraction, b: Fraction) -> bool:
    """Whether `a` has no finite decimal form and `b` is its rounding: 1/3 and 0.33, but not 3.14159 and 3.14."""
    places = next((n for n in range(9) if (b * 10**n).denominator == 1), 9)
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


def _date_entails(a: tuple[int, int, int] | None, b: tuple[int, int, int] | None) -> bool | None:
    if a is None or b is None:
        return None
    return all(said == asked for said, asked in zip(a, b, strict=True) if asked)


def _as_date(amount: Quantity) -> tuple[int, int, int] | None:
    if amount.date:
        return amount.date
    year = amount.value
    return (int(year), 0, 0) if amount.unit == "" and year.denominator == 1 and 1000 <= year <= 2100 else None

"""Numbers as numbers, dates as dates, and nothing else as either."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.meaning.number_words import number
from semtropy.meaning.quantities import conflict, quantity, settled
from semtropy.meaning.spelling import normalise

SAME = [
    ("12", "twelve"), ("1,234", "1234"), ("12.0", "12"), ("+5", "5"), ("−5", "-5"), ("1.5 million", "1,500,000"),
    ("½", "0.5"), ("3½", "3.5"), ("a dozen", "12"), ("half a dozen", "six"), ("two hundred and five", "205"),
    ("5 km", "5,000 m"), ("2 hours", "120 minutes"), ("half a kilometre", "500 metres"), ("a fortnight", "14 days"),
    ("100 °C", "212°F"), ("$5", "5 dollars"), ("$5m", "$5 million"), ("50%", "50 percent"), ("6 feet", "72 inches"),
    ("July 4, 1776", "1776-07-04"), ("4th of July 1776", "Jul 4 1776"), ("13/2/1990", "13 February 1990"),
    ("1912", "In 1912."), ("14th", "fourteenth"), ("three apples", "3 apples"), ("a third", "1/3"),
]  # fmt: skip
DIFFERENT = [
    ("12", "13"), ("5 km", "5 miles"), ("1,5", "1.5"), ("3", "3rd"), ("-5", "5"), ("50%", "50"),
    ("1600s", "1600 seconds"),
    ("July 4", "July 5"), ("July 1776", "July 4, 1776"), ("10²", "102"), ("a third", "the third"),
    ("12 apples", "12 pears"),
]  # fmt: skip
NEITHER = [
    "",
    "Paris",
    "about 12",
    "12 or 13",
    "1/2/1990",
    "May",
    "e507",
    "1e",
    ".",
    "-",
    "nineteen twelve",
    "C3PO",
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_amount(one: str, other: str) -> None:
    assert quantity(one) is not None
    assert quantity(one) == quantity(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_amount(one: str, other: str) -> None:
    assert quantity(one) is None or quantity(one) != quantity(other)


@pytest.mark.parametrize("text", NEITHER)
def test_no_amount(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("a", "b", "entailed"),
    [
        ("5 miles", "8.05 km", True),  # a conversion, rounded
        ("5 miles", "8.5 km", False),
        ("12", "13", False),
        ("3.14", "3.14159", False),  # another value
        ("12 apples", "12", None),  # the question tells
        ("12 apples", "13", False),
        ("38", "36 kilograms", False),
        ("52852", "$ 52,892", False),  # close, and not the same
        ("5208", "5250.88", False),
        ("5251", "5250.88", False),
        ("0.33", "1/3", True),
        ("5 miles", "8.05", False),
        ("12 %", "12", None),
        ("$ 4,351", "1021.5", False),
        ("2 hours", "120", False),  # unless the question asks for minutes
        ("2 hours", "130", False),
        ("$ 90", "$90.00", True),
        ("20", "68 °F", False),
        ("July 4, 1776", "1776", True),
        ("1776", "July 4, 1776", False),
        ("July 4, 1776", "1777", False),
        ("a quarter", "25%", True),
        ("a quarter", "40%", False),
        ("Paris", "12", None),
    ],
)
def test_what_arithmetic_settles(a: str, b: str, entailed: bool | None) -> None:
    assert settled(a, b) is entailed


@pytest.mark.parametrize(
    ("a", "b", "question"),
    [
        ("2 hours", "120", "How many minutes does it take?"),
        ("5 miles", "8.05", "How many kilometres is it?"),
        ("20", "68 °F", "What is it in degrees Celsius?"),
        ("12 %", "12", "What percentage of them passed?"),
        ("5", "5 km", "How far is it?"),
        ("5", "5 seasons", "How many seasons are there?"),
        ("-5", "-5 °C", "How cold is it?"),
    ],
)
def test_the_question_names_the_unit(a: str, b: str, question: str) -> None:
    assert settled(a, b, question) is True
    assert settled(b, a, question) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("100 Celsius", "100.8"), ("x = 2", "x = -2"), ("$5", "€5"), ("3.11", "3.1"), ("a + b", "a - b"),
        ("$750,000", "5,600 students"), ("5 million years", "about 500,000 years"), ("World War I", "World War II"),
        ("It was in 1912.", "in 1913, I think"), ("the 18th century", "the 19th century"), ("3pm", "3am"),
        ("about 5 km away", "roughly 5 miles"), ("-5 degrees outside", "5 degrees outside"), ("Apollo 11", "Apollo 13"),
        ("copper, tin and zinc", "copper, tin and lead"), ("The tower is 330 metres tall.", "330 g"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_both_be_right(a: str, b: str) -> None:
    assert conflict(a, b)
    assert conflict(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("It is 324 metres tall.", "324 m (1,063 ft)"), ("It is 5 km long.", "5,000 metres"),
        ("World War 2", "World War II"),
        ("Henry VIII", "Henry the Eighth"), ("in 2006", "July 10,2006"), ("the class of '45", "the class of 1945"),
        ("the 20th century", "the 1900s"), ("12 men", "twelve men"), ("Tiffany & Co.", "Tiffany & Company"),
        ("Snow White and the Seven Dwarves", "SnowWhite and the Seven Dwarves"), ("3:30", "at 3:30 pm"),
        ("Built in 1889, it is 330 m high.", "330 m"), ("The trench is 10,994 metres deep.", "10,984 m"),
        ("Paris", "Rome"), ("It has 2.5 million people.", "2,500,000"),
    ],
)  # fmt: skip
def test_numbers_that_may_be_one_answer(a: str, b: str) -> None:
    assert not conflict(a, b)
    assert not conflict(b, a)


@given(st.text(max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    quantity(text)
    assert normalise(normalise(text)) == normalise(text)


@given(st.integers(-(10**9), 10**9))
def test_figures_read_back(number: int) -> None:
    assert quantity(str(number)) == quantity(f"{number:,}")
    assert quantity(str(number)) != quantity(str(number + 1))


@pytest.mark.parametrize(
    "text",
    ["1e999999", "-9.9e+99999999", "1e999999 km", "$1e999999", "9" * 59, "trillion " * 6, "1e999 million"],
)
def test_a_huge_number_costs_nothing(text: str) -> None:
    """An answer of a few characters must not make a number of a million digits."""
    amount = quantity(text)
    assert amount is None or amount.value < 10**1100
    assert settled(text, "12") is not True
    assert number(text) is None or number(text) == amount.value  # type: ignore[union-attr]


def test_scientific_notation_within_reason() -> None:
    assert quantity("6.02e23") == quantity("602,000,000,000,000,000,000,000")
    assert quantity("1e999") == quantity("10e998")
    assert quantity("1e-3") == quantity("0.001")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("78.4 °C", "78.37 degrees Celsius", True),
        ("324 m", "324.4 metres", True),
        ("78 °C", "78.37 °C", False),
        ("1.5 km", "1.54 km", False),
        ("$78.4", "$78.37", False),
        ("3.14", "3.14159", False),
    ],
)
def test_a_measure_with_fewer_decimals_is_the_same_measure(a: str, b: str, same: bool) -> None:
    assert settled(a, b) is settled(b, a) is same


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("165°F", "74 °C"), ("4,100 miles", "6,650 km"), ("330 m", "1,083 ft"), ("50 mph", "80 km/h"),
        ("23 kg", "50 lb"), ("about 300,000 km/s", "299,792,458 m/s"), ("around 380,000", "376,248"),
        ("ca. 2960 m", "2,962 m"), ("384,400 km", "384,000 km"), ("332 million", "331,893,745"),
        ("$2.92 billion", "$2,923,000,000"), ("250 degrees", "250 °C"), ("150 tonnes", "about 330,000 pounds"),
        ("93 million miles", "150 million km"), ("$20", "$20 a month"), ("14:00 CET", "2 pm Central European Time"),
        ("16:9", "16 to 9"),
    ],
)  # fmt: skip
def test_rounding_and_units_explain_the_difference(a: str, b: str) -> None:
    assert settled(a, b) is settled(b, a) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("14 days", "30 days"), ("370,000", "400,000"), ("5", "7"), ("10%", "12%"), ("4.5%", "5%"),
        ("$20/month", "$20/year"), ("391", "421"), ("1,400 minutes", "1,440 minutes"), ("1507800", "1507808"),
        ("around 1950", "1949"), ("5 km", "3 miles"), ("about 20", "19"), ("about 170 cm", "165 cm"),
        ("37 °C", "100 °F"), ("165 °F", "75 °C"), ("$2693", "2691 dollars"), ("5 million", "5.2 million"),
        ("2 m", "6 feet"), ("3 pm EST", "3 pm PST"), ("180° W", "180° east"), ("-$50", "$50"),
        ("10,994 m", "10,998 m"), ("13 million acres", "13 million square miles per year"), ("3-1", "1-3"),
    ],
)  # fmt: skip
def test_rounding_does_not_explain_the_difference(a: str, b: str) -> None:
    assert settled(a, b) is not True
    assert settled(b, a) is not True


@pytest.mark.parametrize(
    ("a", "b", "question"),
    [
        ("2.962 m", "2962 m", "Wie hoch ist die Zugspitze?"),
        ("3,4 millones", "3.400.000", "¿Cuántos habitantes tiene Uruguay?"),
        ("9. November 1989", "9.11.1989", "Wann fiel die Mauer?"),
        ("380,000 people", "0.38 million", "What is the population of Iceland?"),
    ],
)
def test_figures_of_the_language_of_the_question(a: str, b: str, question: str) -> None:
    assert settled(a, b, question) is settled(b, a, question) is True

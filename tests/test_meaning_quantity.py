"""Numbers as numbers, dates as dates, and nothing else as either."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.meaning import normalise, quantity
from semtropy.meaning.quantity import settled
from semtropy.meaning.words import number

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
    "12:30",
    "nineteen twelve",
    "C3PO",
    "٣",
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
        ("3.14", "3.14159", None),  # rounded or wrong: the question tells
        ("12 apples", "12", None),  # the question tells
        ("12 apples", "13", False),
        ("38", "36 kilograms", False),
        ("52852", "$ 52,892", False),  # close, and not the same
        ("5208", "5250.88", False),
        ("5251", "5250.88", None),
        ("0.33", "1/3", None),
        ("5 miles", "8.05", None),
        ("12 %", "12", None),
        ("$ 4,351", "1021.5", False),
        ("2 hours", "120", None),  # minutes, perhaps
        ("2 hours", "130", False),
        ("$ 90", "$90.00", True),
        ("20", "68 °F", None),
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

"""Units by name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from semtropy.meaning.units import UNITS, each_time, named


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("km/h", "kilometres per hour"), ("mbps", "megabits per second"), ("mbit/s", "mbps"),
        ("°f", "degrees fahrenheit"), ("° c", "grad celsius"), ("degrés celsius", "celsius"),
        ("€/month", "euros a month"), ("dollars monthly", "$ per month"), ("jahre", "ans"),
        ("km^2", "kilomètres carrés"), ("mph", "miles per hour"),
    ],
)  # fmt: skip
def test_two_names_of_one_unit(one: str, other: str) -> None:
    assert named(one) is not None
    assert named(one) == named(other)


@pytest.mark.parametrize(
    "name", ["", "seats", "an", "km per seat", "°c per hour", "a day", "dollars per euro", "x" * 100]
)
def test_no_unit(name: str) -> None:
    assert named(name) is None


def test_every_unit_converts_back() -> None:
    for unit in UNITS.values():
        assert unit.from_base(unit.to_base(Fraction(7, 3))) == Fraction(7, 3)


def test_what_people_leave_out() -> None:
    assert each_time("$ a month") == "$"
    assert each_time("km/h") is each_time("m/s") is each_time("m") is None

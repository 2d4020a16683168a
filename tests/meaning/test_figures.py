"""Amounts as English writes them in figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.meaning.figures import in_figures


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("299\u202f792 km/s", "299792 km/s"), ("1'250 CHF", "1250 CHF"), ("1.234,56 €", "1234.56 €"),
        ("€18,50", "€18.50"), ("4,5 %", "4.5 %"), ("rund 1,9 Mio. Einwohner", "rund 1.9 million Einwohner"),
        ("0,52 million d'habitants", "0.52 million habitants"), ("$1.2bn a year", "$1.2 billion a year"),
        ("10tn", "10 trillion"), ("6 ft 4 in", "76 in"), ("6'4\"", "76 in"), ("2 h 15 min", "135 min"),
        ("two and a half hours", "2.5 hours"), ("a quarter of an hour", "0.25 hour"), ("−1,6 × 10⁻¹⁹ C", "-1,6e-19 C"),
        ("minus 5 °C", "-5 °C"),
    ],
)  # fmt: skip
def test_one_form(text: str, figures: str) -> None:
    assert in_figures(text) == figures


@pytest.mark.parametrize(
    ("text", "question", "figures"),
    [
        ("2.962 m", "Wie hoch ist die Zugspitze?", "2962 m"),
        ("42,195 km", "Quelle est la longueur d'un marathon ?", "42.1950 km"),
        ("anderthalb Stunden", "Wie lange dauert es?", "1.5 Stunden"),
        ("une demi-heure", "Combien de temps ?", "0.5 heure"),
        ("due ore", "Quanto dura il film?", "2 ore"),
        ("5 mil euros", "¿Cuánto cuesta?", "5 thousand euros"),
        ("um acht Uhr", "Wann öffnet die Bank?", "um 8:00"),
        ("9h30", "À quelle heure ouvre la banque ?", "9:30"),
        ("9. März 1989", "Wann war das?", "9 march 1989"),
    ],
)
def test_the_language_of_the_question(text: str, question: str, figures: str) -> None:
    assert in_figures(text, question) == figures
    assert in_figures(text, "How long is it?") != figures


@pytest.mark.parametrize(
    "text",
    [
        "1,5 or 2",
        "1,2,3",
        "192.168.0.1",
        "7 days 24 hours",
        "in 1969 300 people",
        "half a dozen",
        "once upon a time",
        "5 m",
        "3.10",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert in_figures(text) == text


@given(st.text(max_size=60), st.sampled_from(["", "Wie viel?", "À quelle heure ?"]))
def test_any_text_can_be_read(text: str, question: str) -> None:
    in_figures(text, question)


@pytest.mark.parametrize(
    "text", ["9" * 1999, "1e999 hours and a half", "1,000" * 390, "1 " * 900, "1.000." * 300]
)
def test_a_long_number_costs_nothing(text: str) -> None:
    assert in_figures(text)


@given(st.integers(0, 10**12), st.sampled_from(["", "Wie hoch ist es?"]))
def test_figures_are_read_once_as_twice(number: int, question: str) -> None:
    for text in (
        f"{number:,} m",
        f"{number:,}".replace(",", ".") + " m",
        f"{number:,}".replace(",", " ") + " m",
    ):
        once = in_figures(text, question)
        assert in_figures(once, question) == once

"""Times less exact than a date: decades, centuries, seasons, days of the week, before and after Christ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out, one_way
from ..vocabulary import words

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

_QUESTIONS = (
    "When was it?",
    "When was he born?",
    "When did it happen?",
    "In which century was it?",
    "When was it founded?",
    "",
)
_FRAMES = ("{}", "{}", "It was {}.", "It happened {}.", "She was born {}.", "It was built {}.")
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_SEASONS = ["spring", "summer", "autumn", "winter"]
_MONTHS = words("""
    January February March April May June July August September October November December
""")
_ENDS = {1: "st", 2: "nd", 3: "rd", 21: "st"}
_WORDS = {
    11: "eleventh", 12: "twelfth", 13: "thirteenth", 14: "fourteenth", 15: "fifteenth", 16: "sixteenth",
    17: "seventeenth", 18: "eighteenth", 19: "nineteenth", 20: "twentieth", 21: "twenty-first",
}  # fmt: skip


def pairs(rng: random.Random, *, test: bool, count: int) -> Iterator[Pair]:
    """Split by the year."""
    made = 0
    while made < count:
        year = rng.randint(1001, 2029)
        if held_out(f"year {year}") == test:
            made += 1
            yield from _century(year, rng)
            yield from _decade(year, rng)
            yield from _season(year, rng)
            yield from _christ(year % 900 + 2, rng)


def _told(text: str, rng: random.Random) -> str:
    told = rng.choice(_FRAMES).format(text)
    return told[0].upper() + told[1:] if told.startswith(("It", "She")) else told


def _named(century: int, rng: random.Random) -> str:
    forms = [f"the {century}{_ENDS.get(century, 'th')} century", f"the {(century - 1) * 100}s"]
    if century in _WORDS:
        forms.append(f"the {_WORDS[century]} century")
    return rng.choice(("", "in ")) + rng.choice(forms)


def _century(year: int, rng: random.Random) -> Iterator[Pair]:
    question, century = rng.choice(_QUESTIONS), year // 100 + 1
    if year % 100 == 0:
        return
    yield Pair(
        "eras", question, _told(_named(century, rng), rng), _told(_named(century, rng), rng), ENTAILMENT
    )
    yield from one_way("eras", question, _told(f"in {year}", rng), _told(_named(century, rng), rng))
    other = century + rng.choice((-2, -1, 1, 2))
    yield from both(
        "eras",
        question,
        _told(rng.choice((str(year), _named(century, rng))), rng),
        _told(_named(other, rng), rng),
        CONTRADICTION,
    )


def _decade(year: int, rng: random.Random) -> Iterator[Pair]:
    question, decade = rng.choice(_QUESTIONS), year // 10 * 10
    part = rng.choice(("", "", "early ", "late ", "mid-"))
    yield from one_way("eras", question, _told(f"in {year}", rng), _told(f"in the {decade}s", rng))
    other = decade + rng.choice((-20, -10, 10, 20))
    yield from both(
        "eras", question, _told(f"in {year}", rng), _told(f"in the {part}{other}s", rng), CONTRADICTION
    )
    yield from both(
        "eras", question, _told(f"in the {decade}s", rng), _told(f"the {other}s", rng), CONTRADICTION
    )


def _season(year: int, rng: random.Random) -> Iterator[Pair]:
    question = rng.choice(_QUESTIONS)
    season, other = rng.sample([*_SEASONS, *_MONTHS], 2)
    specific = rng.choice(
        (
            f"in the {season} of {year}",
            f"in {season} {year}",
            f"{season.title()} {year}",
            f"late in {year}",
            f"in early {year}",
        )
    )
    yield from one_way("eras", question, _told(specific, rng), rng.choice((str(year), f"in {year}")))
    yield from both(
        "eras", question, _told(f"in {season} {year}", rng), _told(f"in {other} {year}", rng), CONTRADICTION
    )
    day, other_day = rng.sample(_DAYS, 2)
    yield from both(
        "eras",
        "Which day was it?",
        _told(f"on a {day}", rng),
        rng.choice((other_day, f"It was a {other_day}.")),
        CONTRADICTION,
    )
    yield from both(
        "eras",
        "Which day was it?",
        _told(f"on {day}", rng),
        rng.choice((day, f"It was a {day}.")),
        ENTAILMENT,
    )


def _christ(year: int, rng: random.Random) -> Iterator[Pair]:
    before = rng.choice((f"{year} BC", f"{year} BCE", f"in {year} B.C.", f"{year} before Christ"))
    same = rng.choice((f"{year} BC", f"around {year} BC", f"in the year {year} BC", f"{year} BCE"))
    after = rng.choice((f"{year} AD", f"AD {year}", f"in {year} A.D.", f"{year} CE"))
    question = rng.choice(_QUESTIONS)
    yield from both("eras", question, before, same, ENTAILMENT)
    yield from both("eras", question, before, after, CONTRADICTION)
    number = (year - 1) // 100 + 1
    mark = _ENDS.get(number, "th")
    yield from one_way(
        "eras",
        question,
        before,
        rng.choice((f"in the {number}{mark} century BC", f"the {number}{mark} century BCE")),
    )
    yield from both(
        "eras",
        question,
        before,
        f"in the {number + 1}{_ENDS.get(number + 1, 'th')} century BC",
        CONTRADICTION,
    )

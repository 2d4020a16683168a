"""People's names: shorter and longer forms of one name, and other people who share a part of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, NOT_ENTAILMENT, Pair, both, held_out
from ..vocabulary import words
from .wording import say

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

_PERSON = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]*\.?)?(?: [A-Z][a-z]+)? [A-Z][a-zA-Z'-]+")
_FIRST = words("""
    James John Robert Michael William David Richard Thomas Charles Daniel Matthew Anthony Mark Paul Steven
    Andrew Peter George Edward Henry Frank Walter Arthur Albert Mary Patricia Jennifer Linda Elizabeth Barbara
    Susan Jessica Sarah Karen Nancy Margaret Anna Emma Laura Alice Helen Julia Ruth Maria Clara Rosa Ivan Pierre
    Hans Carlos Antonio Giovanni Olga
""")
_LAST = words("""
    Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Moore Jackson Martin Thompson White
    Harris Clark Lewis Walker Hall Young King Wright Scott Green Baker Adams Nelson Carter Mitchell Roberts
    Turner Phillips Campbell Parker Evans Edwards Collins Stewart Morris Murphy Cook Rogers Morgan Cooper Reed
    Bailey Kelly Howard Ward Cox Petrov Rossi Schmidt Weber Dubois Moreau Garcia Lopez Silva Santos Novak
    Kowalski Larsen Hansen Nakamura Tanaka Singh Khan Chen Wang
""")
_TITLES = (
    "Sir",
    "Dr.",
    "President",
    "Professor",
    "King",
    "Queen",
    "Lord",
    "Mr.",
    "General",
    "Captain",
    "Pope",
    "Saint",
)
_QUESTIONS = (
    "Who was it?",
    "Who wrote the book?",
    "Who won the race?",
    "Who was the first to do it?",
    "Who said so?",
    "",
)


def people(names: Sequence[str]) -> list[str]:
    """Those of the names that look like a person's first and last name."""
    return [name for name in names if _PERSON.fullmatch(name)]


def pairs(rng: random.Random, known: Sequence[str], *, test: bool, count: int) -> Iterator[Pair]:
    """`known` are names of real people; as many are made up from common first and last names."""
    known = [name for name in known if held_out(name) == test]
    for _ in range(count):
        name = rng.choice(known) if rng.random() < 0.5 else f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
        yield from _person(name, rng)


def _person(name: str, rng: random.Random) -> Iterator[Pair]:
    words = name.split()
    first, last = words[0], words[-1]
    question = rng.choice(_QUESTIONS)
    middle = rng.choice(_FIRST)
    forms = (
        last, last, f"{first[0]}. {last}", f"{rng.choice(_TITLES)} {name}", f"{rng.choice(_TITLES)} {last}",
        f"{first} {middle[0]}. {last}", f"{first} {middle} {last}", f"{last}, {first}", name.lower(), f"the {name}",
        f"{first[0]}{middle[0]} {last}", name,
    )  # fmt: skip
    yield from both("names", question, say(name, rng), say(rng.choice(forms), rng), ENTAILMENT)
    others = (
        f"{rng.choice(_FIRST)} {last}", f"{first} {rng.choice(_LAST)}", f"{rng.choice(_FIRST)} {rng.choice(_LAST)}",
        rng.choice(_LAST), f"{rng.choice(_TITLES)} {rng.choice(_LAST)}",
        f"{rng.choice(_FIRST)[0]}. {rng.choice(_LAST)}",
    )  # fmt: skip
    other = rng.choice(others)
    if other.split()[-1] != last or (first not in other and not other.startswith(first[0])):
        yield from both("names", question, say(name, rng), say(other, rng), CONTRADICTION)
    kin = rng.choice(
        ("{}'s brother", "{}'s wife", "the son of {}", "{}'s father", "{} Jr.", "a friend of {}")
    )
    if rng.random() < 0.3:
        yield from both("names", question, say(name, rng), say(kin.format(name), rng), NOT_ENTAILMENT)

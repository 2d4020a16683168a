"""Names that look alike and are not the same, and names that look different and are."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out
from ..vocabulary import words
from .abbreviations import initials
from .names import _FIRST, _LAST
from .wording import say, slip

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

_ROMAN = (
    "I",
    "II",
    "III",
    "IV",
    "V",
    "VI",
    "VII",
    "VIII",
    "IX",
    "X",
    "XI",
    "XII",
    "XIII",
    "XIV",
    "XV",
    "XVI",
)
_PLACES = words("""
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth
""")
_RULERS = words("""
    Charles Edward George James William Louis Philip Frederick Alexander Pius Gregory Ramesses Ivan Catherine
    Ferdinand Leopold
""")
_SCOPES = words("""
    International National European British American World African Canadian Royal Federal Asian Pacific Nordic
    Global Australian Irish United General Central Southern
""")
_FIELDS = words("""
    Steel Farm Energy Chess Science Space Health Football Rugby Transport Water Labour Trade Olympic Housing
    Police Film Tax Youth Radio Cancer Weather Food Space Police Ocean Bird Coal Peace Law Wheat Iron Rail
    Boxing Tennis
""")
_BODIES = words("""
    Association Organization Agency Federation Institute Council Union Bureau Society Commission Bank Office
    Fund League Party
""")


def pairs(rng: random.Random, names: Sequence[str], *, test: bool, count: int) -> Iterator[Pair]:
    """`names` are of different things."""
    by_start: dict[str, list[str]] = defaultdict(list)
    for name in sorted({name for name in names if held_out(name) == test and name.isascii()}):
        by_start[name[:4].lower()].append(name)
    crowded = [group for group in by_start.values() if len(group) > 1]
    for _ in range(count):
        one, other = rng.sample(rng.choice(crowded), 2)
        question = rng.choice(("Which is it?", "Where is it?", "Who was it?", ""))
        yield from both("lookalikes", question, say(one, rng), say(other, rng), CONTRADICTION)
        yield Pair("lookalikes", question, say(one, rng), say(slip(one, rng), rng), ENTAILMENT)
        yield from _ruler(rng)
        yield from _bodies(rng, test=test)
        yield from _families(rng)


def _ruler(rng: random.Random) -> Iterator[Pair]:
    name = rng.choice(_RULERS)
    place, other = rng.sample(range(len(_ROMAN)), 2)
    near = min(max(place + rng.choice((-1, 1)), 0), len(_ROMAN) - 1)
    question = rng.choice(("Which king was it?", "Who ruled then?", "Which pope was it?", ""))

    def form(n: int) -> str:
        return rng.choice(
            (
                f"{name} {_ROMAN[n]}",
                f"{name} the {_PLACES[n].title()}",
                f"King {name} {_ROMAN[n]}",
                f"{name} the {n + 1}th",
            )
        )

    yield Pair("lookalikes", question, say(form(place), rng), say(form(place), rng), ENTAILMENT)
    wrong = near if near != place else other
    yield from both("lookalikes", question, say(form(place), rng), say(form(wrong), rng), CONTRADICTION)


def _bodies(rng: random.Random, *, test: bool) -> Iterator[Pair]:
    """Made-up bodies: their initials, and the initials of bodies that differ in one word."""
    scope, field, body = rng.choice(_SCOPES), rng.choice(_FIELDS), rng.choice(_BODIES)
    long = f"{scope} {field} {body}"
    if rng.random() < 0.3:
        long = f"{scope} {body} of {field}"
    if held_out(long) != test:
        return
    other = rng.choice(
        (f"{scope} {rng.choice(_FIELDS)} {body}", f"{rng.choice(_SCOPES)} {field} {body}",
         f"{scope} {field} {rng.choice(_BODIES)}",
         f"{rng.choice(_SCOPES)} {rng.choice(_FIELDS)} {body}", rng.choice(_SCOPES) + " " + rng.choice(_BODIES))
    )  # fmt: skip
    short, wrong = initials(long), initials(other)
    assert short
    assert wrong
    question = rng.choice(("Which body was it?", "Which organisation was it?", "Who published it?", ""))
    shown = rng.choice((short, short, f"the {short}", ".".join(short) + "."))
    yield from both("abbreviations", question, say(shown, rng), say(long, rng), ENTAILMENT)
    yield from both("abbreviations", question, short, ".".join(short) + ".", ENTAILMENT)
    if wrong != short:
        yield from both("abbreviations", question, say(shown, rng), say(other, rng), CONTRADICTION)
        yield from both("abbreviations", question, say(short, rng), say(wrong, rng), CONTRADICTION)


def _families(rng: random.Random) -> Iterator[Pair]:
    """Two people of one family name."""
    (one, other), last = rng.sample(_FIRST, 2), rng.choice(_LAST)
    question = rng.choice(("Who was it?", "Who discovered it?", "Who is the author?", "Who found it?", ""))
    yield from both("names", question, say(f"{one} {last}", rng), say(f"{other} {last}", rng), CONTRADICTION)

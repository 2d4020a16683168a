"""Names that nobody bears, as a very small model makes them up: each is a person of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out
from ..vocabulary import words
from .wording import say

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

SOURCE = "invented"
_ONSETS = words("""
    b br c ch d dr f fr g gr h j k kr l m n p pr r s sch st t tr v w z ab al an ar be bel car cor dan del el er
    fal gar hal il jan kar kos lar len mar mel mir nor ol or pet ral ros sal sel tar tor ul var vel vol yan zel
""")
_VOWELS = words("a e i o u ia ie io ou ei au")
_CODAS = words("""
    n r s l t k m d x nd rt sk lt ns rn st ch ff ll ss tz nov vic ski escu sen berg mann ton ley ard ini etti
    aru ova enko idis akis oglu sson dottir sky wicz stein feld haus worth field bridge well quez ardo
""")
_TITLES = ("", "", "", "", "", "King ", "Sir ", "Baron ", "Count ", "Dr. ", "Queen ", "Captain ", "Mayor ")
_TAILS = (
    "",
    "",
    "",
    "",
    "",
    "",
    " of Bavaria",
    " of Hungary",
    " the Elder",
    " the Younger",
    " Jr.",
    " of Norway",
)
_QUESTIONS = (
    "Who was it?", "Who was the mayor of the town in 1908?", "Who founded the club?", "Who wrote the play?",
    "Who designed the bridge?", "Who led the party at the time?", "Who voiced the character?", "",
    "Who won the silver medal?", "Who was the architect?", "Who discovered the comet?",
)  # fmt: skip


def name(rng: random.Random) -> str:
    """A made-up name."""
    words = [_word(rng) for _ in range(rng.choice((1, 2, 2, 2, 2, 3)))]
    return rng.choice(_TITLES) + " ".join(words) + rng.choice(_TAILS)


def _word(rng: random.Random) -> str:
    middle = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(rng.choice((1, 1, 2))))
    return (middle + rng.choice(_CODAS)).capitalize()


def pairs(rng: random.Random, *, test: bool, count: int) -> Iterator[Pair]:
    """Two names are two people; one name in two wordings is one."""
    for _ in range(count):
        one, other = name(rng), name(rng)
        if held_out(one) != test or one == other:
            continue
        question = rng.choice(_QUESTIONS)
        yield from both(SOURCE, question, say(one, rng, question), say(other, rng, question), CONTRADICTION)
        if rng.random() < 0.4:
            yield from both(SOURCE, question, one, say(one, rng, question), ENTAILMENT)

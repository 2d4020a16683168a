"""More and less specific answers, and answers with a remark attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import ENTAILMENT, Pair, both, held_out, one_way
from ..vocabulary import words
from .wording import say

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

_KINDS = {
    "person": ("a man", "a person", "someone", "a famous person", "somebody", "a human being"),
    "place": ("a place", "somewhere", "a city", "a country", "somewhere in the world", "a town"),
    "work": ("a film", "a book", "a song", "a work of art", "something by a famous author"),
    "creature": ("an animal", "a living thing", "some creature"),
    "date": ("a long time ago", "some time in the past", "in the past"),
    "other": ("something", "a thing", "one of them", "it"),
}
_MODIFIERS = words("""
    old new red blue white black small large northern southern eastern western young ancient modern royal wild
    domestic electric wooden golden French German Italian Chinese African American Roman Greek famous early late
""")
_HEADS = words("""
    car house river wolf bear tree castle ship army bridge guitar violin church king train bird flower stone
    snake horse temple garden chair knife bottle shark owl cheese wine soup painter writer soldier
""")
_REMARKS = (
    "{} (as far as I know)", "{}, to be precise", "{} - that is the answer", "{}, if I remember correctly",
    "{} (the correct answer)",
    "{}, as everyone knows", "The answer is {}, no doubt about it.", "It was {}, which is well known.",
)  # fmt: skip


def pairs(
    rng: random.Random, asked: Sequence[tuple[str, str, str]], *, test: bool, count: int
) -> Iterator[Pair]:
    """`asked` are (question, answer, kind): "a city" follows from "Paris", not the other way round."""
    for _ in range(count):
        question, answer, kind = rng.choice(asked)
        vague = rng.choice(_KINDS.get(kind, _KINDS["other"]))
        yield from one_way("general", question if rng.random() < 0.7 else "", say(answer, rng), vague)
        yield from both(
            "wording", question, rng.choice(_REMARKS).format(answer), say(answer, rng), ENTAILMENT
        )
        head, modifier, other = rng.choice(_HEADS), *rng.sample(_MODIFIERS, 2)
        if held_out(head) == test:
            question = rng.choice(("What is it?", "What did they see?", ""))
            yield from one_way("general", question, f"a {modifier} {head}", f"a {head}")
            yield from one_way(
                "general", question, f"the {modifier} {other} {head}", f"the {modifier} {head}"
            )

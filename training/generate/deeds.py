"""Who did it to whom: active and passive, swapped, done and not done, by someone else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, NOT_ENTAILMENT, Pair, both, held_out, one_way
from ..vocabulary import words

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

# Past tense and participle alike.
_REGULAR = words("""
    hired rescued painted followed invited accused replaced appointed betrayed attacked visited helped blamed
    captured chased kissed married murdered interviewed photographed promoted punished recruited rejected saved
    served sued trained trusted warned welcomed outscored overtook-overtaken admired adopted advised arrested
    assisted called challenged condemned contacted copied defended described directed dismissed elected employed
    encouraged examined executed financed greeted hated honoured ignored imprisoned influenced informed inspired
    insulted joined kidnapped loved mentioned named nominated opposed paid persuaded phoned poisoned praised
    protected pursued questioned remembered sponsored supported threatened tricked wounded absorbed
    merged-merged-with bought led taught wrote-written beat-beaten knew-known saw-seen shook-shaken stole-stolen
    chose-chosen drove-driven gave-given forgave-forgiven
""")
_MADE = words("""
    wrote-written painted composed built-built designed directed invented discovered founded recorded produced
    drew-drawn filmed edited created published sold-sold carved sang-sung led-led taught-taught solved
""")
_GROUPS = (
    "The Romans", "The Greeks", "The Vikings", "France", "Spain", "Germany", "Chelsea", "Arsenal", "Apple",
    "Boeing", "Ford", "the Tigers", "the Lakers", "Peru", "Kenya",
)  # fmt: skip
_TIMES = ("", "", "", " in the end", " that year", " in 1901", " again")


def _forms(word: str) -> tuple[str, str]:
    past, _, participle = word.partition("-")
    return past, (participle or past).split("-")[0]


def pairs(rng: random.Random, names: Sequence[str], *, test: bool, count: int) -> Iterator[Pair]:
    """Split by the verb."""
    done = [word for word in _REGULAR if held_out(word) == test]
    made = [word for word in _MADE if held_out(word) == test]
    for _ in range(count):
        pool = rng.choice((names, _GROUPS))
        a, b, c = rng.sample(list(pool), 3) if pool is _GROUPS else rng.sample(names, 3)
        yield from _deed(*_forms(rng.choice(done)), a, b, c, rng)
        yield from _work(*_forms(rng.choice(made)), *rng.sample(names, 2), rng)


def _deed(past: str, participle: str, a: str, b: str, c: str, rng: random.Random) -> Iterator[Pair]:
    when, be = rng.choice(_TIMES), "were" if a.endswith("s") and a.lower().startswith("the ") else "was"
    question = rng.choice(("What happened?", "Who did it?", "", ""))
    told, swapped = f"{a} {past} {b}{when}.", f"{b} {past} {a}{when}."
    passive = f"{b} {be} {participle} by {a}{when}."
    yield from both("roles", question, told, passive, ENTAILMENT)
    yield from both("roles", question, told, swapped, NOT_ENTAILMENT)
    yield from both("roles", question, passive, swapped, NOT_ENTAILMENT)
    yield Pair("roles", question, told, f"{c} {past} {b}{when}.", NOT_ENTAILMENT)
    yield from both("negation", question, told, f"{a} never {past} {b}.", CONTRADICTION)
    if rng.random() < 0.3:
        yield from both("negation", "", f"Nobody {past} {b}.", f"No one ever {past} {b}.", ENTAILMENT)
        yield from both(
            "negation",
            "",
            f"Nobody has {participle} {b}.",
            f"{b} was never {participle} by anyone.",
            ENTAILMENT,
        )
        yield from both("negation", "", f"Nobody {past} {b}.", f"Someone {past} {b}.", CONTRADICTION)
        yield from both("negation", "", f"Nobody {past} {b}.", told, CONTRADICTION)
        yield from one_way("general", "", told, f"Someone {past} {b}.")


def _work(past: str, participle: str, a: str, b: str, rng: random.Random) -> Iterator[Pair]:
    question = f"Who {past} it?"
    forms = (
        a,
        f"{a} {past} it.",
        f"It was {participle} by {a}.",
        f"It was {a} who {past} it.",
        f"The one who {past} it was {a}.",
    )
    wrong = (
        b,
        f"{b} {past} it.",
        f"It was {participle} by {b}.",
        f"It was {b} who {past} it.",
        f"It was not {participle} by {a}.",
    )
    one, two = rng.sample(forms, 2)
    yield from both("roles", question, one, two, ENTAILMENT)
    yield from both("roles", question, rng.choice(forms), rng.choice(wrong), CONTRADICTION)

"""Amounts that are said rather than written: dozens, halves, quarters of an hour, dollars and cents, millions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out, one_way
from .numbers import spelled

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

_SHARES = (
    ("a half", "one half", "50%", "50 percent", "1/2", "0.5", "half", "fifty per cent"),
    ("a quarter", "one quarter", "25%", "25 percent", "1/4", "0.25", "one in four", "a fourth"),
    ("three quarters", "75%", "75 percent", "3/4", "0.75", "three out of four"),
    ("a third", "one third", "33%", "1/3", "about 33 percent", "one in three"),
    ("two thirds", "67%", "2/3", "about 67 percent", "two out of three"),
    ("a fifth", "one fifth", "20%", "20 percent", "1/5", "0.2", "one in five"),
    ("a tenth", "one tenth", "10%", "10 percent", "1/10", "0.1", "one in ten"),
    ("all of it", "100%", "100 percent", "the whole", "everything"),
)  # fmt: skip
_COUNTS = (
    ("a couple", 2), ("a pair", 2), ("half a dozen", 6), ("a dozen", 12), ("two dozen", 24), ("three dozen", 36),
    ("a score", 20), ("a hundred", 100), ("a thousand", 1000), ("a million", 10**6), ("none", 0), ("no one", 0),
    ("a single one", 1), ("five dozen", 60), ("half a million", 500_000), ("a trio", 3), ("a quartet", 4),
)  # fmt: skip
_PARTS = (
    ("half a", Fraction(1, 2)),
    ("a quarter of a", Fraction(1, 4)),
    ("three quarters of a", Fraction(3, 4)),
)
_WHOLES = (
    ("kilometre", "metres", 1000), ("kilometer", "m", 1000), ("metre", "centimetres", 100), ("litre", "ml", 1000),
    ("liter", "millilitres", 1000), ("kilo", "grams", 1000), ("kilogram", "g", 1000), ("hour", "minutes", 60),
    ("year", "months", 12), ("day", "hours", 24), ("century", "years", 100), ("pound", "ounces", 16),
    ("dollar", "cents", 100),
    ("minute", "seconds", 60), ("dozen", "pieces", 12), ("decade", "years", 10), ("mile", "yards", 1760),
)  # fmt: skip
_SPANS = (
    ("a fortnight", "two weeks", 14, "days"), ("a decade", "ten years", 10, "years"),
    ("a century", "one hundred years", 100, "years"),
    ("a week", "seven days", 7, "days"), ("a leap year", "366 days", 366, "days"),
    ("a millennium", "a thousand years", 1000, "years"),
    ("an hour and a half", "one and a half hours", 90, "minutes"),
    ("two and a half hours", "2.5 hours", 150, "minutes"),
    ("a year and a half", "one and a half years", 18, "months"),
    ("a day and a half", "one and a half days", 36, "hours"),
)  # fmt: skip
_FRAMES = (
    "{}",
    "{}",
    "It is {}.",
    "It was {}.",
    "The answer is {}.",
    "About {}.",
    "It took {}.",
    "Exactly {}.",
)


def pairs(rng: random.Random, *, test: bool, count: int) -> Iterator[Pair]:
    """`count` of each kind, split by the amount."""
    made = 0
    while made < count:
        seed = rng.randrange(10**6)
        if held_out(f"amount {seed}") == test:
            made += 1
            yield from _share(rng)
            yield from _count(rng)
            yield from _part(rng)
            yield from _money(seed, rng)
            yield from _large(seed, rng)
            yield from _more(seed % 900 + 5, rng)


def _said(text: str, rng: random.Random) -> str:
    told = rng.choice(_FRAMES).format(text)
    return told[0].upper() + told[1:] if rng.random() < 0.7 else told


def _share(rng: random.Random) -> Iterator[Pair]:
    question = rng.choice(("What share was it?", "How much of it?", "What proportion agreed?", ""))
    row, other = rng.sample(_SHARES, 2)
    tail = rng.choice(("", "", " of them", " of the people"))
    one, two = rng.sample(row, 2)
    yield Pair("amounts", question, _said(one + tail, rng), _said(two, rng), ENTAILMENT)
    yield from both("amounts", question, _said(one + tail, rng), _said(rng.choice(other), rng), CONTRADICTION)


def _count(rng: random.Random) -> Iterator[Pair]:
    question = rng.choice(("How many were there?", "How many came?", "How many are left?", ""))
    said, number = rng.choice(_COUNTS)
    figure = rng.choice((f"{number:,}", str(number), spelled(number) if number < 10**6 else str(number)))
    yield from both("amounts", question, _said(said, rng), _said(figure, rng), ENTAILMENT)
    wrong = rng.choice((number + 1, number * 2 + 1, number + 10, max(number - 1, 1) if number != 1 else 5))
    if wrong != number:
        yield from both("amounts", question, _said(said, rng), _said(str(wrong), rng), CONTRADICTION)
    if number == 0:
        yield from both("amounts", question, "There are none.", _said("0", rng), ENTAILMENT)
        yield from both(
            "amounts", question, "There are none left.", _said(str(rng.randint(1, 9)), rng), CONTRADICTION
        )


def _part(rng: random.Random) -> Iterator[Pair]:
    question = rng.choice(
        ("How long was it?", "How much is needed?", "How long did it take?", "How far was it?", "")
    )
    if rng.random() < 0.4:
        said, same, number, unit = rng.choice(_SPANS)
    else:
        (part, share), (whole, unit, factor) = rng.choice(_PARTS), rng.choice(_WHOLES)
        said = f"{part}{'n' if whole == 'hour' and part.endswith('a') else ''} {whole}"
        amount = share * factor
        if amount.denominator != 1:
            return
        number = int(amount)
        same = f"{spelled(number)} {unit}"
    yield from both(
        "amounts", question, _said(said, rng), _said(rng.choice((same, f"{number} {unit}")), rng), ENTAILMENT
    )
    wrong = rng.choice(
        (f"{number * 10} {unit}", f"{number + rng.randint(1, 9)} {unit}", f"{number * 2} {unit}")
    )
    yield from both("amounts", question, _said(said, rng), _said(wrong, rng), CONTRADICTION)


def _money(seed: int, rng: random.Random) -> Iterator[Pair]:
    dollars, cents = seed % 97 + 1, rng.choice((0, 5, 10, 20, 25, 50, 75, 99))
    sign, name, small = rng.choice((("$", "dollar", "cent"), ("£", "pound", "pence"), ("€", "euro", "cent")))
    figure = f"{sign}{dollars}.{cents:02}" if cents else f"{sign}{dollars}"
    plural = name + "s" * (dollars > 1)
    rest = f" and {spelled(cents)} {small}{'s' * (small == 'cent')}" if cents else ""
    said = f"{spelled(dollars)} {plural}{rest}"
    question = rng.choice(("How much did it cost?", "What was the price?", ""))
    yield from both("amounts", question, _said(figure, rng), _said(said, rng), ENTAILMENT)
    other = (
        f"{sign}{dollars + rng.choice((1, 2, 10, 90))}"
        if rng.random() < 0.5
        else f"{dollars * 10 + 5} {name}s"
    )
    yield from both("amounts", question, _said(said, rng), _said(other, rng), CONTRADICTION)


def _large(seed: int, rng: random.Random) -> Iterator[Pair]:
    scale, zeros = rng.choice((("thousand", 3), ("million", 6), ("billion", 9)))
    tenths = seed % 97 + 2
    figure = f"{tenths / 10:g} {scale}"
    question = rng.choice(
        ("How many people live there?", "What is the population?", "How many were sold?", "")
    )
    full = f"{tenths * 10 ** (zeros - 1):,}"
    tail = rng.choice(("", "", " people"))
    yield from both("amounts", question, _said(figure + tail, rng), _said(full, rng), ENTAILMENT)
    wrong = rng.choice(
        (
            f"{tenths} {scale}",
            f"{tenths / 10:g} {rng.choice(('thousand', 'million', 'billion'))}",
            f"{tenths * 10**zeros:,}",
        )
    )
    if wrong != figure:
        yield from both("amounts", question, _said(figure + tail, rng), _said(wrong, rng), CONTRADICTION)


def _more(number: int, rng: random.Random) -> Iterator[Pair]:
    """Bounds: what a number is more than, and what it is not."""
    thing = rng.choice(
        ["goals", "books", "people", "points", "wins", "cars", "letters", "stamps", "songs", "islands"]
    )
    question = rng.choice((f"How many {thing} were there?", f"How many {thing} did he have?", ""))
    low, high = rng.randint(1, number - 1), number + rng.randint(1, number)
    above = rng.choice(("more than {}", "over {}", "at least {}", "above {}"))
    below = rng.choice(("fewer than {}", "less than {}", "under {}", "at most {}"))
    frame = rng.choice(("{} " + thing, "He had {} " + thing + ".", "There were {} " + thing + ".", "{}"))
    exact = rng.choice((str(number), f"{number} {thing}", f"There were {number}.", spelled(number)))
    yield from one_way("amounts", question, exact, frame.format(above.format(low)))
    yield from one_way("amounts", question, exact, frame.format(below.format(high)))
    yield from both("amounts", question, exact, frame.format(above.format(high)), CONTRADICTION)
    yield from both("amounts", question, exact, frame.format(below.format(low)), CONTRADICTION)

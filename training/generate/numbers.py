"""Numbers, amounts and dates in words: the same in another spelling or unit, near misses, and less exact ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out, one_way
from ..vocabulary import words

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

_ONES = words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
""")
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_MONTHS = words("""
    January February March April May June July August September October November December
""")
_THINGS = words("""
    apples books players countries children people cars votes goals seats members islands days years pages
    chapters episodes medals wins bones planets states legs strings keys letters sides students points tickets
    trees houses
""")
_UNITS = (
    ("km", "kilometres", "metres", 1000), ("kilometers", "km", "m", 1000), ("m", "metres", "cm", 100),
    ("kg", "kilograms", "grams", 1000), ("hours", "hrs", "minutes", 60), ("minutes", "mins", "seconds", 60),
    ("days", "days", "hours", 24), ("weeks", "weeks", "days", 7), ("years", "yrs", "months", 12),
    ("feet", "ft", "inches", 12), ("yards", "yd", "feet", 3), ("litres", "liters", "ml", 1000),
    ("pounds", "lb", "ounces", 16), ("tonnes", "metric tons", "kg", 1000), ("decades", "decades", "years", 10),
    ("centuries", "centuries", "years", 100), ("cm", "centimetres", "millimetres", 10),
    ("dollars", "USD", "cents", 100),
)  # fmt: skip
_SENTENCES = (
    "{}", "{}", "There are {}.", "It has {}.", "The answer is {}.", "There were {} in total.", "It is {}.",
    "He had {}.", "She counted {}.", "They have {} altogether.", "About half of them, {}.", "Exactly {}.",
)  # fmt: skip
_WHEN = (
    "When did it happen?",
    "When was he born?",
    "When did the war end?",
    "On what date was it signed?",
    "",
)
_TOLD = ("{}", "{}", "It was {}.", "It happened in {}.", "In {}.", "He was born in {}.", "The year was {}.")


def spelled(number: int) -> str:
    """A number below a million in words.

    >>> spelled(42), spelled(305), spelled(12000)
    ('forty-two', 'three hundred and five', 'twelve thousand')
    """
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        rest = f" and {spelled(number % 100)}" if number % 100 else ""
        return f"{_ONES[number // 100]} hundred{rest}"
    rest = f" {spelled(number % 1000)}" if number % 1000 else ""
    return f"{spelled(number // 1000)} thousand{rest}"


def near(number: int, rng: random.Random) -> int:
    """Another number that looks much like this one."""
    while True:
        other = rng.choice(
            (number + rng.randint(1, 3), number - rng.randint(1, 3), number * 10, number // 10, number + 10,
             int(str(number)[::-1]), number + 100)
        )  # fmt: skip
        if other != number and other >= 0:
            return other


def pairs(rng: random.Random, *, test: bool, count: int) -> Iterator[Pair]:
    """Counts, amounts and dates in equal parts, split by the number."""
    made = 0
    while made < count:
        number = rng.choice((rng.randint(1, 30), rng.randint(1, 300), rng.randint(1, 20000)))
        if held_out(f"number {number}") == test:
            made += 1
            yield from _counts(number, rng)
            yield from _amounts(number, rng)
            yield from _dates(number % 28 + 1, rng.randint(1000, 2030), rng)


def _counts(number: int, rng: random.Random) -> Iterator[Pair]:
    thing, other_thing = rng.sample(_THINGS, 2)
    question = rng.choice((f"How many {thing} are there?", f"How many {thing} did they have?", ""))
    forms = [str(number), f"{number:,}", spelled(number), spelled(number)]
    wrong = near(number, rng)
    wrongs = [str(wrong), f"{wrong:,}", spelled(wrong)]

    def dress(form: str) -> str:
        text = f"{form} {thing}" if rng.random() < 0.5 else form
        text = rng.choice(_SENTENCES).format(text)
        return text[0].upper() + text[1:]

    yield Pair("numbers", question, dress(rng.choice(forms)), dress(rng.choice(forms)), ENTAILMENT)
    yield from both("numbers", question, dress(rng.choice(forms)), dress(rng.choice(wrongs)), CONTRADICTION)
    if rng.random() < 0.4:
        yield from both("numbers", "", f"{number} {thing}", f"{number} {other_thing}", CONTRADICTION)
    if number > 3 and rng.random() < 0.5:
        vague = rng.choice(
            (f"more than {rng.randint(1, number - 1)}", f"over {rng.randint(1, number - 1)}", "several", "a few",
             f"fewer than {number + rng.randint(1, 9)}", f"at least {rng.randint(1, number)}", "some", "many")
        )  # fmt: skip
        yield from one_way("general", question, dress(rng.choice(forms)), f"{vague} {thing}")
        off = rng.choice(
            (f"more than {number + rng.randint(0, 9)}", f"fewer than {rng.randint(1, number)}", "none")
        )
        yield from both("numbers", question, dress(rng.choice(forms)), f"{off} {thing}", CONTRADICTION)


def _amounts(number: int, rng: random.Random) -> Iterator[Pair]:
    unit, short, small, factor = rng.choice(_UNITS)
    amount = number % 400 + 1
    question = rng.choice(("How long is it?", "How much is it?", "How far is it?", ""))
    same = rng.choice((f"{amount * factor} {small}", f"{amount * factor:,} {small}", f"{amount} {short}"))
    whole = rng.choice((f"{amount} {unit}", f"{spelled(amount)} {unit}"))
    frame = rng.choice(("{}", "It is {}.", "About {}.", "It measures {}.", "The answer is {}."))
    other_frame = "{}" if "About" not in frame and rng.random() < 0.5 else frame
    yield from both("units", question, frame.format(whole), other_frame.format(same), ENTAILMENT)
    wrong = rng.choice(
        (f"{amount * factor * 10} {small}", f"{amount} {small}", f"{near(amount, rng)} {unit}",
         f"{max(amount * factor // 10, 1)} {small}", f"{amount} {rng.choice(_UNITS)[2]}")
    )  # fmt: skip
    if wrong not in (same, f"{amount} {short}", f"{amount * factor} {small}"):
        yield from both("units", question, frame.format(whole), other_frame.format(wrong), CONTRADICTION)


def _dates(day: int, year: int, rng: random.Random) -> Iterator[Pair]:
    month = rng.randrange(12)
    question = rng.choice(_WHEN)

    def full(d: int, m: int, y: int) -> str:
        name = _MONTHS[m] if rng.random() < 0.7 else _MONTHS[m][:3]
        mark = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(d, "th")
        return rng.choice(
            (f"{d} {name} {y}", f"{name} {d}, {y}", f"{name} {d}{mark}, {y}", f"the {d}{mark} of {_MONTHS[m]} {y}",
             f"{y}-{m + 1:02}-{d:02}", f"{d}{mark} {name} {y}")
        )  # fmt: skip

    def told(text: str) -> str:
        return rng.choice(_TOLD).format(text).replace("in the ", "on the ")

    date = told(full(day, month, year))
    yield Pair("dates", question, date, told(full(day, month, year)), ENTAILMENT)
    wrong = rng.choice(
        (full(day % 28 + 1, month, year), full(day, (month + rng.randint(1, 11)) % 12, year),
         full(day, month, year + rng.choice((-10, -1, 1, 2, 10, 100))))
    )  # fmt: skip
    yield from both("dates", question, date, told(wrong), CONTRADICTION)
    if rng.random() < 0.6:
        general = rng.choice(
            (
                str(year),
                f"{_MONTHS[month]} {year}",
                f"the {year // 10 * 10}s",
                f"in {year}",
                f"in {_MONTHS[month]}",
            )
        )
        yield from one_way("general", question, date, told(general))
    else:
        other = str(year + rng.choice((-100, -10, -1, 1, 3, 10)))
        yield from both("dates", question, told(str(year)), told(other), CONTRADICTION)
        yield Pair("dates", question, told(str(year)), told(str(year)), ENTAILMENT)
        yield from one_way("general", question, told(str(year)), f"in the {year // 10 * 10}s")

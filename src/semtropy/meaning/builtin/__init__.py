"""The judge that ships: a small cross-encoder, int8, on the CPU, with arithmetic for what arithmetic settles.

How it was made and what it can do is in the model card (docs/judge-card.md); `training/` makes it again.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import InputError
from ..normal import normalise
from ..onnx import OnnxEncoder
from ..quantity import settled
from ..shorten import pieces, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...nouns import Floats
    from ..partition import Triple

__all__ = ["FOLDER", "Builtin"]

FOLDER = Path(__file__).parent
_SAME, _UNRELATED, _OPPOSED = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_REVISION = 2  # of what is settled without the network; part of the name, so that no cache mixes two
_LIMIT = 512
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
        self._encoder = OnnxEncoder(folder / "judge.onnx", folder / "tokenizer.json", threads=threads)
        self._remembered = lru_cache(4096)(self._reading)
        self._shortened = lru_cache(128)(self._shorten)

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The probability of entailment, a value a triple."""
        return np.asarray(self.relations(batch)[:, 0])

    def relations(self, batch: Sequence[Triple]) -> Floats:
        """Probabilities of entailment, neutral and contradiction, a row a triple."""
        known = [self._known(a, b) for _, a, b in batch]
        todo = zip(batch, known, strict=True)
        grids = [self._pairs(*triple) if row is None else [] for triple, row in todo]
        flat = [pair for grid in grids for row in grid for pair in row]
        judged = iter(self._calibrated(self._encoder.logits(flat)) if flat else ())
        rows = []
        for row, grid in zip(known, grids, strict=True):
            if row is None:
                # Every piece of b must follow from some piece of a: the weakest of the best.
                best = [max((next(judged) for _ in line), key=lambda p: p[0]) for line in grid]
                row = min(best, key=lambda p: p[0])
            rows.append(row)
        return np.array(rows, dtype=float).reshape(-1, 3)

    def _pairs(self, question: str, a: str, b: str) -> list[list[tuple[str, str]]]:
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

    def _calibrated(self, logits: Floats) -> Floats:
        """Probabilities with the log-odds of entailment scaled and shifted as fitted on held-out answers."""
        logits = logits - logits.max(axis=1, keepdims=True)
        rest = np.logaddexp(logits[:, 1], logits[:, 2])
        odds = self._scale * (logits[:, 0] - rest) + self._shift
        entailment = 1 / (1 + np.exp(-odds))
        others = np.exp(logits[:, 1:] - rest[:, None]) * (1 - entailment)[:, None]
        return np.column_stack([entailment, others])

    def _known(self, a: str, b: str) -> tuple[float, float, float] | None:
        """What needs no network: the same words (accents aside, which it cannot see), and arithmetic.

        Texts that differ only in what its vocabulary lacks (some scripts, signs) look the same to it and are not.
        """
        first, second = self._read(a), self._read(b)
        if first.normal == second.normal:
            return _SAME
        if not first.normal or not second.normal:
            return _UNRELATED
        arithmetic = settled(a, b)
        if arithmetic is not None:
            return _SAME if arithmetic else _OPPOSED
        if first.tokens != second.tokens:
            return None
        return _UNRELATED if self._encoder.unknown in first.tokens else _SAME

    def _read(self, text: str) -> _Reading:
        """What the pairs of a text need of it, remembered: an answer is compared with many meanings."""
        return self._remembered(text) if len(text) <= _MEMORABLE else self._reading(text)

    def _reading(self, text: str) -> _Reading:
        normal = normalise(text)
        return _Reading(normal, tuple(self._encoder.ids(normal)), len(self._encoder.ids(text)))

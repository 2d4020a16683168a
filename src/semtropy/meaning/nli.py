"""Any NLI checkpoint as the judge: a folder in ONNX form, or a name or folder that transformers loads.

The question stands in front of both answers, as in the paper. Which output means entailment is read from the
checkpoint's config, never assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import InputError, MissingExtra
from ..input_files import read_json
from .onnx import OnnxEncoder
from .shorten import pieces, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..nouns import Floats
    from .partition import Triple

__all__ = ["Labels", "Nli", "load_nli", "read_labels"]

_SPECIAL = 8  # room for the special tokens of any layout
_LIMIT = 512


class Encoder(Protocol):
    """Pairs of texts in, logits out."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]: ...

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Labels:
    """Which output is `entailment`, and `neutral` and `contradiction` where the checkpoint has three."""

    entailment: int
    neutral: int | None = None
    contradiction: int | None = None

    @property
    def columns(self) -> list[int] | None:
        """Entailment, neutral, contradiction; None where the checkpoint does not tell the last two apart."""
        places = [self.entailment, self.neutral, self.contradiction]
        known = [place for place in places if place is not None]
        return known if len(known) == 3 else None


def read_labels(id2label: Mapping[int | str, str], source: str = "config.json") -> Labels:
    """Find the outputs by their names.

    >>> read_labels({0: "contradiction", 1: "neutral", 2: "entailment"}).entailment
    2
    >>> read_labels({"0": "ENTAILMENT", "1": "not_entailment"}).entailment
    0
    """
    named = {label.casefold().strip(): int(place) for place, label in id2label.items()}

    def find(stem: str) -> int | None:
        return next((place for label, place in named.items() if label.startswith(stem)), None)

    entailment = find("entail")
    if entailment is None:
        raise InputError(
            f"{source}: id2label is {dict(id2label)}: none of the labels is 'entailment', so its outputs "
            "cannot be interpreted; write the labels into the checkpoint's config.json"
        )
    return Labels(entailment, find("neutral"), find("contradict"))


class Nli:
    """Entailment by an NLI cross-encoder. Long questions are shortened; long answers go in by pieces."""

    def __init__(self, encoder: Encoder, labels: Labels, *, name: str, limit: int = _LIMIT) -> None:
        self._encoder, self._labels, self.name, self._limit = encoder, labels, name, limit
        if labels.columns is not None:
            self.relations = self._relations

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The probability of entailment, a value a triple."""
        return np.asarray(self._probabilities(batch)[:, self._labels.entailment])

    def _relations(self, batch: Sequence[Triple]) -> Floats:
        return np.take(self._probabilities(batch), self._labels.columns or (), axis=1)

    def _probabilities(self, batch: Sequence[Triple]) -> Floats:
        spread = [self.pairs(*triple) for triple in batch]
        flat = [pair for grid in spread for row in grid for pair in row]
        logits = self._encoder.logits(flat) if flat else np.zeros((0, 2))
        raised = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        each = iter(raised / raised.sum(axis=1, keepdims=True))
        entailment = self._labels.entailment
        rows = []
        for grid in spread:
            # Every piece of b must follow from some piece of a: the weakest of the best.
            best = [max((next(each) for _ in row), key=lambda p: p[entailment]) for row in grid]
            rows.append(min(best, key=lambda p: p[entailment]))
        return np.array(rows).reshape(len(batch), -1)

    def pairs(self, question: str, a: str, b: str) -> list[list[tuple[str, str]]]:
        """What the encoder sees: a row a piece of b, in it a pair a piece of a; nearly always one of each."""
        offsets = self._encoder.offsets
        lengths = [max(len(offsets(text)), 1) for text in (a, b)]
        room = self._limit - _SPECIAL
        if sum(lengths) > room:
            half = room // 2
            return [[(one, two) for one in pieces(a, offsets, half)] for two in pieces(b, offsets, half)]
        short = shorten(question, offsets, (room - sum(lengths)) // 2)
        return [[(f"{short} {a}".strip(), f"{short} {b}".strip())]]


def load_nli(name: str) -> Nli:
    """A folder with model.onnx, tokenizer.json and config.json, or a checkpoint that transformers finds."""
    folder = Path(name)
    if (folder / "model.onnx").is_file():
        config_path = folder / "config.json"
        if not config_path.is_file():
            raise InputError(f"{config_path}: no such file; its id2label says which output means entailment")
        config = read_json(config_path)
        if not isinstance(config, dict):
            raise InputError(f"{config_path}: expected an object with id2label")
        labels = read_labels(config.get("id2label", {}), str(config_path))
        encoder = OnnxEncoder(folder / "model.onnx", folder / "tokenizer.json")
        limit = min(int(config.get("max_position_embeddings", _LIMIT)), _LIMIT)
        return Nli(encoder, labels, name=f"nli:{name}", limit=limit)
    return _load_transformers(name)


def _load_transformers(name: str) -> Nli:
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise MissingExtra("transformers", extra="transformers") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True)
        model = AutoModelForSequenceClassification.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise InputError(f"judge nli:{name}: could not be loaded ({error})") from error
    labels = read_labels(model.config.id2label, f"{name}/config.json")
    positions = getattr(model.config, "max_position_embeddings", 0) or 0
    limit = min(positions if positions > 0 else _LIMIT, _LIMIT)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Nli(TorchEncoder(model.eval().to(device), tokenizer), labels, name=f"nli:{name}", limit=limit)


class TorchEncoder:
    """A transformers sequence classifier, in batches of pairs of like length."""

    def __init__(self, model: Any, tokenizer: Any, *, batch: int = 32) -> None:
        self._model, self._tokenizer, self._batch = model, tokenizer, batch

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where the tokens of a text stand in it."""
        encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [tuple(place) for place in encoded["offset_mapping"]]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """One row of logits a pair; none is ever truncated."""
        import torch

        order = sorted(range(len(pairs)), key=lambda place: sum(map(len, pairs[place])))
        rows: list[Any] = [None] * len(pairs)
        for start in range(0, len(order), self._batch):
            places = order[start : start + self._batch]
            first, second = zip(*(pairs[place] for place in places), strict=True)
            encoded = self._tokenizer(list(first), list(second), padding=True, return_tensors="pt")
            with torch.inference_mode():
                logits = self._model(**encoded.to(self._model.device)).logits.double().cpu().numpy()
            for place, row in zip(places, logits, strict=True):
                rows[place] = row
        return np.array(rows, dtype=float)

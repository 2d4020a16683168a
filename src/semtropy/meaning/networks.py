"""Any NLI checkpoint as the judge: a folder in ONNX form, or a name or folder that transformers loads.

The question stands in front of both answers, as in the paper. Which output means entailment is read from the
checkpoint's config, never assumed.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import InputError, MissingExtra
from ..files import read_json
from . import wordpiece

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..nouns import Floats
    from .partition import Triple

    Offsets = Callable[[str], Sequence[tuple[int, int]]]


# Fitting a pair into a judge's input: long questions lose their middle, answers lose nothing.


_GAP = " … "


def shorten(question: str, offsets: Offsets, room: int) -> str:
    """The question in about `room` tokens: its beginning and, twice as much, its end, where a prompt asks.

    >>> words = lambda text: [(m.start(), m.end()) for m in __import__("re").finditer(r"\\S+", text)]
    >>> shorten("one two three four five six seven eight nine ten", words, 6)
    'one two … eight nine ten'
    >>> shorten("who won?", words, 6), shorten("who won the cup?", words, 0)
    ('who won?', '')
    """
    places = offsets(question)
    if len(places) <= room:
        return question
    kept = max(room - 1, 0)  # one for the gap
    head, tail = kept // 3, kept - kept // 3
    if kept < 3:
        return question[places[-kept][0] :] if kept else ""
    head += kept % 3 > 0
    tail = kept - head
    return question[: places[head - 1][1]] + _GAP + question[places[-tail][0] :]


def pieces(text: str, offsets: Offsets, room: int) -> list[str]:
    """The whole text, cut into as few pieces of at most `room` tokens as it takes: nothing is dropped.

    >>> words = lambda text: [(m.start(), m.end()) for m in __import__("re").finditer(r"\\S+", text)]
    >>> pieces("one two three four five", words, 2)
    ['one two', 'three four', 'five']
    """
    places = offsets(text)
    if len(places) <= room:
        return [text]
    starts = range(0, len(places), room)
    return [text[places[start][0] : places[min(start + room, len(places)) - 1][1]] for start in starts]


def nearest(parts: Sequence[str], text: str, most: int = 2) -> list[str]:
    """The few parts that share most with a text, by words that few of the parts have: all of them where they are few.

    >>> nearest(["He was born in Lund.", "He died in Rome.", "He liked tea."], "He died in 1901.", 1)
    ['He died in Rome.']
    """
    if len(parts) <= most:
        return list(parts)
    bags = [set(part.casefold().split()) for part in parts]
    common = Counter(word for bag in bags for word in bag)
    own = set(text.casefold().split())
    weights = [sum(1 / common[word] for word in bag & own) for bag in bags]
    return [parts[n] for n in sorted(sorted(range(len(parts)), key=lambda n: -weights[n])[:most])]


# A cross-encoder in ONNX form on the CPU: pairs of texts in, logits out, each pair on its own.
#
# Pairs run one by one, at their own length, so that a probability does not depend on what else was asked with
# it (int8 activations are scaled over a whole batch) and no time goes into padding; several run at once on
# threads.


class OnnxEncoder:
    """`model` is an ONNX file, `tokenizer` a tokenizer.json; `threads` pairs run at once.

    Where the ONNX file has a tokenizer.json among its metadata, that one is used.
    """

    def __init__(self, model: Path, tokenizer: Path, *, threads: int | None = None) -> None:
        for path in (model, tokenizer):
            if not path.is_file():
                raise InputError(f"{path}: no such file; an ONNX judge needs its model and tokenizer.json")
        self._session = _shared_session(model)
        own = self._session.get_modelmeta().custom_metadata_map.get("tokenizer.json")
        self._tokenizer = _load_tokenizer(own or tokenizer.read_text("utf-8"))
        self._inputs = [item.name for item in self._session.get_inputs()]
        self._threads = threads if threads is not None else _cores()
        self._pool = ThreadPoolExecutor(self._threads, "semtropy-judge") if self._threads > 1 else None

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where the tokens of a text stand in it."""
        places: list[tuple[int, int]] = self._tokenizer.encode(_sound(text), add_special_tokens=False).offsets
        return places

    def ids(self, text: str) -> list[int]:
        """The tokens of a text: texts with the same tokens are one to the model."""
        tokens: list[int] = self._tokenizer.encode(_sound(text), add_special_tokens=False).ids
        return tokens

    @property
    def unknown(self) -> int | None:
        """The token for what the vocabulary lacks: the model cannot tell such pieces apart."""
        token: int | None = self._tokenizer.token_to_id("[UNK]")
        return token

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """One row of logits a pair; none is ever truncated."""
        run = map if self._pool is None or len(pairs) == 1 else self._pool.map
        return np.array(list(run(self._run, pairs)), dtype=float)

    def _run(self, pair: tuple[str, str]) -> Floats:
        encoding = self._tokenizer.encode(_sound(pair[0]), _sound(pair[1]))
        feeds = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        arrays = {name: np.array([feeds[name]], dtype=np.int64) for name in self._inputs}
        return np.asarray(self._session.run(None, arrays)[0][0], dtype=float)


def _sound(text: str) -> str:
    """Half a surrogate pair has no form that a tokenizer takes: one replacement character for each."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(2)
def _load_tokenizer(content: str) -> Any:
    if (known := wordpiece.load(content)) is not None:
        return known
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "this judge splits words in a way that needs the package tokenizers: pip install tokenizers"
        ) from None
    tokenizer = Tokenizer.from_str(content)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "[MASK]" in an answer is six characters, nothing to be filled in
    return tokenizer


def _shared_session(path: Path) -> Any:
    """The network in the file, kept for the next judge of this process; threads may run it at the same time."""
    found = path.stat()
    return _kept_session(path.absolute(), (found.st_mtime_ns, found.st_size), os.getpid())


@lru_cache(3)  # a judge has two networks, or three with the larger one
def _kept_session(path: Path, version: tuple[int, int], process: int) -> Any:
    return _load_session(path)


def _load_session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnxruntime", extra="local") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _cores() -> int:
    """The cores this process may use, at most 8; at most OMP_NUM_THREADS, which Ray sets to those of a worker."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(usable, 8, int(asked) if asked.isdecimal() and int(asked) > 0 else 8)


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
        """Supports, contradicts, silent; None where the checkpoint does not tell the last two apart."""
        places = [self.entailment, self.contradiction, self.neutral]
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
            self.relation = self._relation

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The probability of entailment, a value a triple."""
        return np.asarray(self._probabilities(batch)[:, self._labels.entailment])

    def _relation(self, batch: Sequence[Triple]) -> Floats:
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
            parts = pieces(a, offsets, half)
            return [[(one, two) for one in nearest(parts, two)] for two in pieces(b, offsets, half)]
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
        encoded = self._tokenizer(
            text,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )
        return [tuple(place) for place in encoded["offset_mapping"]]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """One row of logits a pair; none is ever truncated."""
        import torch

        order = sorted(range(len(pairs)), key=lambda place: sum(map(len, pairs[place])))
        rows: list[Any] = [None] * len(pairs)
        for start in range(0, len(order), self._batch):
            places = order[start : start + self._batch]
            first, second = zip(*(pairs[place] for place in places), strict=True)
            # Special tokens in a text are characters like any others: an answer must not hide behind "[PAD]".
            encoded = self._tokenizer(
                list(first), list(second), padding=True, split_special_tokens=True, return_tensors="pt"
            )
            with torch.inference_mode():
                logits = self._model(**encoded.to(self._model.device)).logits.double().cpu().numpy()
            for place, row in zip(places, logits, strict=True):
                rows[place] = row
        return np.array(rows, dtype=float)

"""A cross-encoder in ONNX form on the CPU: pairs of texts in, logits out, each pair on its own.

Pairs run one by one, at their own length, so that a probability does not depend on what else was asked with
it (int8 activations are scaled over a whole batch) and no time goes into padding; several run at once on
threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..nouns import Floats

__all__ = ["OnnxEncoder"]


class OnnxEncoder:
    """`model` is an ONNX file, `tokenizer` a tokenizer.json; `threads` pairs run at once."""

    def __init__(self, model: Path, tokenizer: Path, *, threads: int | None = None) -> None:
        for path in (model, tokenizer):
            if not path.is_file():
                raise InputError(f"{path}: no such file; an ONNX judge needs its model and tokenizer.json")
        self._tokenizer = _load_tokenizer(tokenizer)
        self._session = _load_session(model)
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


def _load_tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("tokenizers", extra="local") from None
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


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

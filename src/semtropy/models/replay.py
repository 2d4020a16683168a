"""`replay:RECORDING`: answers from a stored run instead of a model, for what-if runs under other rules."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, RecordingError
from ..nouns import Sample

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["Replay", "replay"]

Row = Mapping[str, Any]


class Replay:
    """Draws, with replacement, from the samples stored for a question.

    `rows` are dicts of the recording schema. Below half the recording's temperature the stored low-temperature
    answer is given. A question with a context is also found as context, line break, question.

    >>> model = Replay([{"question": "Capital of France?", "answer": {"text": "Paris"},
    ...                  "samples": [{"text": "Paris", "logprob": -0.1}]}])
    >>> model.sample("Capital of France?", 2, rng=np.random.default_rng(0))[1].text
    'Paris'
    """

    def __init__(
        self,
        rows: Iterable[Row],
        *,
        temperature: float = 1.0,
        eos_included: bool = True,
        name: str = "replay",
    ) -> None:
        self.name, self.temperature, self.eos_included = name, temperature, eos_included
        self._rows: dict[str, Row] = {}
        for row in rows:
            self._rows.setdefault(str(row["question"]), row)
            if row.get("context"):
                self._rows[f"{row['context']}\n{row['question']}"] = row

    def sample(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` of the stored samples of the question `prompt`."""
        row = self._rows.get(prompt)
        if row is None:
            raise ModelError(f"the recording has no such question ({len(self._rows)} others)")
        if temperature < self.temperature / 2 and row.get("answer"):
            return [self._sample(row["answer"])] * n
        stored = row["samples"]
        if not stored:
            return []
        drawn = np.random.default_rng(rng).integers(len(stored), size=n)
        return [self._sample(stored[k]) for k in drawn]

    def _sample(self, stored: Mapping[str, Any]) -> Sample:
        tokens, logprobs = stored.get("tokens"), stored.get("token_logprobs")
        logprob = stored.get("logprob")
        if logprob is None and logprobs:
            logprob = float(sum(logprobs))
        return Sample(
            stored["text"],
            logprob if self.eos_included else None,
            tuple(tokens) if tokens is not None else None,
            tuple(logprobs) if logprobs is not None else None,
            stored.get("complete", True),
        )


def replay(path: str) -> Replay:
    """The recording at `path` (JSON lines, plain or gzipped) as a model."""
    try:
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if path.endswith(".gz") else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise RecordingError(f"cannot be read: {error}", path=path) from error
    rows = [_row(line, number, path) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not rows or "semtropy_recording" not in rows[0]:
        raise RecordingError("expected the header of a recording", path=path, line=1)
    header = rows[0]
    for number, row in enumerate(rows[1:], 2):
        for field in ("question", "samples"):
            if field not in row:
                raise RecordingError("is missing", path=path, line=number, field=field)
    return Replay(
        rows[1:],
        temperature=header.get("temperature") or 1.0,
        eos_included=header.get("eos_included") is True,
        name=f"replay:{path}",
    )


def _row(line: str, number: int, path: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise RecordingError(f"not JSON: {error}", path=path, line=number) from error
    if not isinstance(row, dict):
        raise RecordingError("expected an object", path=path, line=number)
    return row

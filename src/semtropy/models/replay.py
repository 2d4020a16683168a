"""`replay:RECORDING`: a model that draws from the samples of a recording, to repeat a run with other rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..conversation import last_question
from ..errors import ModelError
from ..recording import Recording, Row, read_recording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator

    from ..conversation import Prompt
    from ..nouns import Sample


class Replay:
    """Draws with replacement from the recorded samples of a question.

    Below half the temperature of the recording, the recorded answer is returned instead. A question with a context is
    also found under context, line break, question.

    >>> row = Row({"id": "1", "question": "Capital of France?", "samples": [{"text": "Paris", "logprob": -0.1}]})
    >>> Replay([row]).sample("Capital of France?", 2, rng=np.random.default_rng(0))[1].text
    'Paris'
    """

    def __init__(self, rows: Recording | Iterable[Row], *, name: str = "replay") -> None:
        self.name = name
        self._rows: dict[str, Row] = {}
        for row in rows:
            self._rows.setdefault(row.question, row)
            if row.context:
                self._rows[f"{row.context}\n{row.question}"] = row

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` of the stored samples of the question `prompt`, or of the last one of a conversation."""
        row = self._rows.get(last_question(prompt))
        if row is None:
            raise ModelError(f"the recording has no such question ({len(self._rows)} others)")
        recorded = row.header.temperature or 1.0
        if row.answer is not None and temperature < recorded / 2:
            return [row.judged_sample()] * n
        samples = row.samples
        if not samples:
            return []
        return [samples[k] for k in np.random.default_rng(rng).integers(len(samples), size=n)]


def replay(path: str) -> Replay:
    """The recording at `path` as a model."""
    return Replay(read_recording(path), name=f"replay:{path}")

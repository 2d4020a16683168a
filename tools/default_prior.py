"""Fit the prior that semtropy ships: `python -m tools.default_prior RECORDING ...`.

The one that ships was fitted on recordings of four models: SmolLM2-135M-Instruct (facts, which ship with semtropy),
Qwen2.5-Coder-1.5B-Instruct (TriviaQA and SVAMP), Llama-3.2-3B-Instruct and Llama-2-7b-chat (SVAMP). It combines a fit
to each, so that no model or dataset decides alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from semtropy.estimators import Prior
from semtropy.recording import Recording, read_recording

TARGET = Path(__file__).parents[1] / "src" / "semtropy" / "estimators" / "default_prior.json"
QUESTIONS = 150  # of each recording, or all it has
NEGLIGIBLE = 0.1  # five fits together have many components: fewer of each keep a check quick


def default_prior(recordings: Iterable[Recording]) -> Prior:
    """Fits to the first questions of each recording, combined; it counts as untrained, so that users are told."""
    fits = [Prior.fit(recording.rows[:QUESTIONS], negligible=NEGLIGIBLE) for recording in recordings]
    return replace(Prior.combine(fits), trained_on=0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("give the recordings to fit on")
    default_prior(read_recording(path) for path in sys.argv[1:]).save(TARGET)

"""The recording that ships with the package: something to evaluate before having anything of one's own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["example_recording"]


def example_recording() -> Path:
    """Where the shipped recording is: 43 questions, 100 samples each of SmolLM2-135M, graded.

    >>> example_recording().name
    'facts--smollm2.jsonl.gz'
    """
    return Path(str(files("semtropy"))) / "data" / "facts--smollm2.jsonl.gz"

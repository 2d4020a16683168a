"""Studies, as three programs: `generate` recordings, `evaluate` estimators on them, `calibrate` their scores."""

from importlib.resources import files
from pathlib import Path

__all__ = ["example_recording"]


def example_recording() -> Path:
    """The path of the shipped recording: 43 graded questions, with 100 samples each of SmolLM2-135M.

    >>> example_recording().name
    'facts--smollm2.jsonl.gz'
    """
    return Path(str(files("semtropy"))) / "data" / "facts--smollm2.jsonl.gz"

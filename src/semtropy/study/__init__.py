"""Studies, as three programs: `generate` recordings, `evaluate` estimators on them, `calibrate` their scores."""

from .example import example_recording

__all__ = ["example_recording"]

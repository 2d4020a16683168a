"""Recordings: stored runs of questions, samples, meanings and grades, which every study reads."""

from .draws import Draws
from .formats import Stream, open_recording, read_recording, read_rows, write_recording
from .jsonlines import Writer
from .limits import Limits
from .schema import Answer, Header, Recording, Row

__all__ = [
    "Answer",
    "Draws",
    "Header",
    "Limits",
    "Recording",
    "Row",
    "Stream",
    "Writer",
    "open_recording",
    "read_recording",
    "read_rows",
    "write_recording",
]

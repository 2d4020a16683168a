"""Recordings: stored runs of questions, samples, meanings and grades, which every study reads."""

from .formats import open_recording, read_recording, write_recording
from .jsonlines import Writer
from .limits import Limits
from .schema import Answer, Header, Recording, Row

__all__ = [
    "Answer",
    "Header",
    "Limits",
    "Recording",
    "Row",
    "Writer",
    "open_recording",
    "read_recording",
    "write_recording",
]

"""Reads and writes recordings in any format: JSON lines (plain or gzip), Parquet, or the folder of a store.

The format of an existing file is recognised by its first bytes; that of a new file is chosen by its name.
"""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import RecordingError
from .header import Header
from .jsonlines import read_lines, write_lines
from .limits import Limits
from .parts import read_store
from .schema import Recording, Row

__all__ = [
    "Stream",
    "check_recording_output",
    "open_recording",
    "read_recording",
    "read_rows",
    "write_recording",
]

PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class Stream:
    """A recording being read.

    header  its first line
    rows    an iterator over its rows, which can be used once

    >>> Stream(Header.make(model="m"), iter([])).header.model
    'm'
    """

    header: Header
    rows: Iterator[Row]


def open_recording(
    path: str | os.PathLike[str], *, allow_empty: bool = False, limits: Limits | None = None
) -> Stream:
    """The header of a recording and an iterator over its rows, in the order of the file.

    path         a file, or the folder of a store
    allow_empty  whether a recording without questions is allowed
    limits       what the file may unpack to; by default `Limits()`, or none with SEMTROPY_LIMITS=off

    Returns:
        a value with `header`, the first line, and `rows`, an iterator over the questions that can be used once.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.jsonl")
    >>> write_recording(path, Header.make(model="m"), [{"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}]}])
    1
    >>> stream = open_recording(path)
    >>> stream.header.model, next(stream.rows).question
    ('m', '2 + 2?')
    """
    place = Path(path)
    parts = _reader(place, limits or Limits.default())
    header = next(parts)
    assert isinstance(header, Header)
    rows = (part for part in parts if isinstance(part, Row))
    return Stream(header, rows if allow_empty else _not_empty(rows, str(path)))


def read_rows(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a recording one at a time.

    path  a file, or the folder of a store

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.jsonl")
    >>> write_recording(path, Header.make(model="m"), [{"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}]}])
    1
    >>> [row.id for row in read_rows(path)]
    ['1']
    """
    return open_recording(path).rows


def read_recording(
    path: str | os.PathLike[str], *, allow_empty: bool = False, limits: Limits | None = None
) -> Recording:
    """A whole recording, in memory.

    path         a file, or the folder of a store
    allow_empty  whether a recording without questions is allowed
    limits       what the file may unpack to; by default `Limits()`, or none with SEMTROPY_LIMITS=off

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.jsonl.gz")
    >>> write_recording(path, Header.make(model="m"), [{"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}]}])
    1
    >>> recording = read_recording(path)
    >>> recording.header.model, recording.rows[0].samples[0].text
    ('m', '4')
    """
    stream = open_recording(path, allow_empty=allow_empty, limits=limits)
    with _collector_paused():
        return Recording(stream.header, tuple(stream.rows))


def write_recording(
    path: str | os.PathLike[str], header: Header | Mapping[str, Any], rows: Iterable[Row | Mapping[str, Any]]
) -> int:
    """Write a recording in the format given by its name (.jsonl, .jsonl.gz, .parquet); return the number of rows.

    path    the file to write; it appears under its name only once it is complete
    header  the first line: a `Header`, or a mapping with its keys
    rows    the questions: `Row`s, or mappings with their keys

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.jsonl")
    >>> rows = [{"id": "1", "question": "2 + 2?", "samples": [{"text": "4", "logprob": -0.1}]}]
    >>> write_recording(path, {"semtropy_recording": 1, "model": "m", "temperature": 1.0, "eos_included": True}, rows)
    1
    """
    _check_name(path)
    if Path(path).name.endswith(".parquet"):
        count: int = import_module(".parquet", __package__).write_parquet(path, header, rows)
        return count
    return write_lines(path, header, rows)


def check_recording_output(path: str | os.PathLike[str], *sources: str | os.PathLike[str]) -> None:
    """Raise a `RecordingError` where a recording could not be written, or would replace a source, before any work."""
    target = Path(path)
    _check_name(path)
    if any(os.path.realpath(source) == os.path.realpath(path) for source in sources):
        raise RecordingError("the output is the input: name another file", path=str(path))
    if target.is_dir():
        raise RecordingError("cannot be written: it is a folder. Choose another name", path=str(path))
    if not target.parent.is_dir():
        raise RecordingError(
            f"cannot be written: {target.parent} is not a folder. Create it, or choose another place",
            path=str(path),
        )


def _check_name(path: str | os.PathLike[str]) -> None:
    if not Path(path).name.endswith((".jsonl", ".jsonl.gz", ".parquet")):
        raise RecordingError(
            "the name of a recording must end in .jsonl, .jsonl.gz or .parquet", path=str(path)
        )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector: rows hold no cycles, and looking for some takes a third of the reading time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _reader(path: Path, limits: Limits) -> Iterator[Header | Row]:
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            return read_store(path, limits)
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            raise RecordingError(
                "is a pipe, and a recording is read more than once: write it to a file first", path=str(path)
            )
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror or error}", path=str(path)) from None
    if magic == PARQUET_MAGIC:
        parts: Iterator[Header | Row] = import_module(".parquet", __package__).read_parquet(path, limits)
        return parts
    return read_lines(path, limits)


def _not_empty(rows: Iterator[Row], path: str) -> Iterator[Row]:
    first = next(rows, None)
    if first is None:
        raise RecordingError("the recording holds no questions", path=path)
    yield from chain([first], rows)

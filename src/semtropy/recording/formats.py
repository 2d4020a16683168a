"""Reads and writes recordings in any format: JSON lines (plain or gzip), Parquet, or the folder of a store.

The format of an existing file is recognised by its first bytes; that of a new file is chosen by its name.
"""

from __future__ import annotations

import errno
import functools
import gc
import hashlib
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import RecordingError, StoreError
from ..files import cannot_read
from .jsonlines import named_header, parse_line, read_lines, write_lines
from .limits import LIFT, Limits, gunzip, json_values, too_many_values
from .schema import Header, Recording, Row

# Reading the folder of a store: its manifest, its parts, and the rows in the order of the questions.
#
# The layout is described in `store`, which writes it. Reading takes no lock and is safe while a run is writing.


MANIFEST = "manifest.json"
FORMAT = 1
SURVEYS = 10  # attempts to list the parts while a writer is packing them
_PART = re.compile(r"(part|pack)-(\d{8})(?:-(\d{8}))?-([0-9a-f]{8})\.jsonl(\.gz)?")
_INDEX = re.compile(rb'\{"id":"(?:[^"\\]|\\.)*","index":(\d{1,18}),')


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One file of rows: its first and last commit, and the checksum in its name."""

    first: int
    last: int
    checksum: str
    path: Path

    @classmethod
    def parse(cls, path: Path) -> Part | None:
        """The part at `path`, or None if that is not the name of a part."""
        found = _PART.fullmatch(path.name)
        if found is None:
            return None
        first = int(found[2])
        return cls(first, int(found[3] or first), found[4], path)

    @property
    def packed(self) -> bool:
        """Whether this is a pack: many commits in one compressed file that is never removed."""
        return self.path.suffix == ".gz"

    def read(self, limits: Limits | None = None) -> bytes:
        """The rows as bytes, verified against the checksum."""
        try:
            raw = read_stored(self.path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise RecordingError(cannot_read(error), path=str(self.path)) from None
        limits = limits or Limits.default()
        allowed, most = limits.unpacked_bytes(len(raw)), limits.most_values(len(raw))
        try:
            data = gunzip(raw, allowed) if self.packed else raw
        except (OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"not a readable gzip file ({error})", path=str(self.path)) from error
        if len(data) > max(allowed, len(raw)):
            raise RecordingError(f"unpacks to more than {allowed:,} bytes: {LIFT}", path=str(self.path))
        if self.packed and json_values(data) > most:
            raise RecordingError(too_many_values(most), path=str(self.path))
        if checksum(data) != self.checksum:
            raise RecordingError(
                f"the file has changed since it was written (checksum {checksum(data)}, not {self.checksum})",
                path=str(self.path),
            )
        return data

    def lines(self, limits: Limits | None = None) -> list[bytes]:
        """The rows as lines of JSON without their newlines."""
        return self.read(limits).split(b"\n")[:-1]


def read_stored(path: Path) -> bytes:
    """The bytes of a file of a store; a folder from others may hold a pipe, which blocks, or a link to a device."""
    if stat.S_ISREG(found := path.stat().st_mode) or stat.S_ISDIR(found):
        return path.read_bytes()
    raise OSError(errno.EINVAL, "it is not a file")


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder with a manifest."""
    return (Path(path) / MANIFEST).is_file()


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a store: the recording's `header` and the `identity` that a resumed run must share."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(read_stored(path))
    except FileNotFoundError as error:
        raise StoreError(
            f"{folder} has no {MANIFEST}: it is not a folder written by `semtropy generate`"
        ) from error
    except OSError as error:
        raise RecordingError(cannot_read(error), path=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"not JSON ({error})", path=str(path)) from error
    if not isinstance(manifest, dict) or manifest.get("semtropy_store") != FORMAT:
        raise RecordingError(f"expected semtropy_store {FORMAT}", path=str(path), field="semtropy_store")
    for field in ("header", "identity"):
        if not isinstance(manifest.get(field), dict):
            raise RecordingError("expected an object", path=str(path), field=field)
    named_header(manifest["header"], str(path))
    return manifest


def store_parts(folder: str | os.PathLike[str]) -> list[Part]:
    """The parts in order, without those that a pack replaces."""
    found = filter(None, map(Part.parse, Path(folder).iterdir()))
    live: list[Part] = []
    for part in sorted(found, key=lambda part: (part.first, -part.last)):
        if not live or part.first > live[-1].last:
            live.append(part)
    return live


def row_lines(folder: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield every row of a store as the line of JSON that was written, in the order of the questions.

    Questions finish in any order on a cluster; rows are sorted by their `index`. Memory holds one number per row, the
    parts not yet packed and a few packs. While a writer is active, the rows committed before reading began are read.
    """
    return (line for _, _, line in _ordered(folder))


def _ordered(
    folder: str | os.PathLike[str], limits: Limits | None = None
) -> Iterator[tuple[Part, int, bytes]]:
    """Yield part, line number and line of every row, sorted by `index`; rows without one follow in commit order."""
    parts, loose, places = _survey(folder, limits)
    packed = functools.lru_cache(maxsize=64)(lambda number: parts[number].lines(limits))
    for _, number, at in places:
        lines = loose[number] if number in loose else packed(number)
        yield parts[number], at + 1, lines[at]


Survey = tuple[list[Part], dict[int, list[bytes]], list[tuple[float, int, int]]]


def _survey(folder: str | os.PathLike[str], limits: Limits | None) -> Survey:
    """The parts, the lines of those a writer may still pack and remove, and the sorted position of every row."""
    for _ in range(SURVEYS):
        parts, loose, places = store_parts(folder), {}, []
        try:
            for number, part in enumerate(parts):
                lines = part.lines(limits)
                places += [(_index(line), number, at) for at, line in enumerate(lines)]
                if not part.packed:
                    loose[number] = lines
        except FileNotFoundError:
            continue  # packed meanwhile: its rows are in the pack now
        return parts, loose, sorted(places)
    raise StoreError(f"{folder} changed every time it was read: is another program removing its files?")


def _index(line: bytes) -> float:
    found = _INDEX.match(line)
    return int(found[1]) if found else math.inf


def read_store(folder: str | os.PathLike[str], limits: Limits | None = None) -> Iterator[Header | Row]:
    """Yield the header, then the rows; a run may still be writing."""
    header = Header(read_manifest(folder)["header"])
    yield header
    for part, number, line in _ordered(folder, limits):
        yield parse_row(line, header, part, number)


def parse_row(line: bytes, header: Header, part: Part, number: int) -> Row:
    """Parse a line of a part; errors name part, line and field."""
    name = str(part.path)
    return Row(parse_line(line + b"\n", name, number), header=header, path=name, line=number)


def row_question(line: bytes, path: str | os.PathLike[str]) -> tuple[str, str]:
    """The id of the row on a line read from `path`, and a digest of what was asked."""
    try:
        row = json.loads(line)
        return str(row["id"]), question_digest(row)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordingError(f"not a row ({error})", path=str(path)) from error


def question_digest(row: Mapping[str, Any]) -> str:
    """A digest of what a row asks: its question, its context and the answers that count as correct."""
    asked = [row.get("question"), row.get("context"), list(row.get("references") or ())]
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).hexdigest()


def checksum(data: bytes) -> str:
    """The CRC-32 of `data` in hexadecimal, as in the name of a part."""
    return f"{zlib.crc32(data):08x}"


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
        raise RecordingError(cannot_read(error), path=str(path)) from None
    if magic == PARQUET_MAGIC:
        parts: Iterator[Header | Row] = import_module(".parquet", __package__).read_parquet(path, limits)
        return parts
    return read_lines(path, limits)


def _not_empty(rows: Iterator[Row], path: str) -> Iterator[Row]:
    first = next(rows, None)
    if first is None:
        raise RecordingError("the recording holds no questions", path=path)
    yield from chain([first], rows)

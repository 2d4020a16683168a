"""Reading the folder of a store: its manifest, its parts, and the rows in the order of the questions.

The layout is described in `store`, which writes it. Reading takes no lock and is safe while a run is writing.
"""

from __future__ import annotations

import errno
import functools
import json
import math
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RecordingError, StoreError
from .header import Header
from .jsonlines import named_header, parse_line
from .limits import LIFT, Limits, gunzip
from .schema import Row

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Part",
    "checksum",
    "is_store",
    "parse_row",
    "read_manifest",
    "read_store",
    "read_stored",
    "row_id",
    "row_lines",
    "store_parts",
]

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
            raise RecordingError(f"cannot be read: {error.strerror}", path=str(self.path)) from None
        allowed = (limits or Limits.default()).unpacked_bytes(len(raw))
        try:
            data = gunzip(raw, allowed) if self.packed else raw
        except (OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"not a readable gzip file ({error})", path=str(self.path)) from error
        if len(data) > max(allowed, len(raw)):
            raise RecordingError(f"unpacks to more than {allowed:,} bytes: {LIFT}", path=str(self.path))
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
        raise RecordingError(f"cannot be read: {error.strerror or error}", path=str(path)) from None
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


def row_id(line: bytes, path: str | os.PathLike[str]) -> str:
    """The id of the row on a line read from `path`."""
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordingError(f"not a row ({error})", path=str(path)) from error


def checksum(data: bytes) -> str:
    """The CRC-32 of `data` in hexadecimal, as in the name of a part."""
    return f"{zlib.crc32(data):08x}"

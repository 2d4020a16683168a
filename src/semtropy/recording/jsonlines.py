"""Recordings as JSON lines, plain or gzip: a header line, then one line per question, streamed both ways."""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn

from ..errors import RecordingError
from ..files import cannot_read, cannot_write, replacing
from .limits import LIFT, Limits, json_values, too_many_values
from .schema import Header, Row, find_unwritable, shown

GZIP_MAGIC = b"\x1f\x8b"
LINE_COST = 32  # added to the length of each line, so that a billion empty ones meet the limit too


def read_lines(path: Path, limits: Limits | None = None) -> Iterator[Header | Row]:
    """Yield the header, then the rows in the order of the file; memory holds one row and the ids so far."""
    name = str(path)
    header: Header | None = None
    lines_of_ids: dict[str, int] = {}
    for line, text in _numbered(path, limits or Limits.default()):
        fields = parse_line(text, name, line)
        if header is None:
            header = named_header(fields, name, line)
            yield header
            continue
        row = Row(fields, header=header, path=name, line=line)
        first = lines_of_ids.setdefault(row.id, line)
        if first != line:
            row.fail(f"{shown(row.id)} is already the id of line {first}: ids must be unique", "id")
        yield row
    if header is None:
        raise RecordingError(
            'the file is empty: a recording starts with a header {"semtropy_recording": 1, ...}', path=name
        )


def named_header(fields: dict[str, Any], name: str, line: int | None = None) -> Header:
    """The header made from `fields`; errors name the file it was read from."""
    try:
        return Header(fields)
    except RecordingError as error:
        raise RecordingError(error.message, path=name, line=line, field=error.field) from None


def _numbered(path: Path, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of every line that is not blank."""
    line = unpacked = values = 0
    try:
        allowed = most = sys.maxsize
        with ExitStack() as stack:
            # Bytes, because only b"\\n" ends a line of JSON: text mode would also split at other separators.
            stream: IO[bytes] | gzip.GzipFile = stack.enter_context(path.open("rb"))
            if stream.read(2) == GZIP_MAGIC:
                stream = stack.enter_context(gzip.open(path, "rb"))
                size = path.stat().st_size
                allowed, most = limits.unpacked_bytes(size), limits.most_values(size)
            else:
                stream.seek(0)
            longest = min(limits.line + 1, sys.maxsize)
            for line, text in enumerate(iter(lambda: stream.readline(longest), b""), start=1):
                unpacked, values = unpacked + len(text) + LINE_COST, values + json_values(text)
                beyond = None
                if len(text) > limits.line:
                    beyond = f"the line is longer than {limits.line:,} bytes: {LIFT}"
                elif unpacked > allowed:
                    beyond = f"the file unpacks to more than {allowed:,} bytes: {LIFT}"
                elif values > most:
                    beyond = too_many_values(most)
                if beyond is not None:
                    raise RecordingError(beyond, path=str(path), line=line)
                if not text.isspace():
                    yield line, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordingError(
            f"the gzip data is truncated or damaged ({error}); the lines before are intact",
            path=str(path),
            line=line + 1,
        ) from None
    except OSError as error:
        raise RecordingError(cannot_read(error), path=str(path)) from None


class _DuplicateKey(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKey(next(key for key in keys if keys.count(key) > 1))
    return held


# A duplicate key would silently lose a value; NaN and Infinity are parsed here so that the error can name their
# field.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def parse_line(text: bytes, name: str, line: int) -> dict[str, Any]:
    """Parse one line of the file `name` as a JSON object; every fault is a `RecordingError`."""
    try:
        fields = _DECODER.decode(text.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise RecordingError(f"is not UTF-8 text (byte {error.start + 1})", path=name, line=line) from None
    except _DuplicateKey as error:
        raise RecordingError(
            "the key is used twice in one object", path=name, line=line, field=str(error)
        ) from None
    except json.JSONDecodeError as error:
        hint = "" if text.endswith(b"\n") else "; the file ends here: was it truncated?"
        # What is missing at the end is missing in this line.
        column = min(error.pos, len(error.doc.rstrip("\r\n"))) + 1
        message = f"is not JSON ({error.msg.lower()}, column {column}){hint}"
        raise RecordingError(message, path=name, line=line) from None
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"is not JSON that can be read ({error})", path=name, line=line) from None
    if not isinstance(fields, dict):
        raise RecordingError(f"expected an object, found {text[:40]!r}", path=name, line=line)
    if b"NaN" in text or b"Infinity" in text:
        found = find_unwritable(fields)
        if found:
            raise RecordingError(found[1], path=name, line=line, field=found[0])
    return fields


def refuse_repeated(row: Row, ids: set[str], path: str) -> None:
    """Add the id of a row that is to be written to `ids`, where it is not yet."""
    if row.id in ids:
        raise RecordingError(
            f"{shown(row.id)} was already written: ids must be unique", path=path, field="id"
        )
    ids.add(row.id)


class Writer:
    """Writes a recording row by row; a context manager.

    path    the file to write (.jsonl or .jsonl.gz); it appears under its name only once it is complete
    header  the first line: a `Header`, or a mapping with its keys

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.jsonl.gz")
    >>> with Writer(path, Header.make(model="m", dataset="d")) as writer:
    ...     writer.write({"id": "1", "question": "2 + 2?", "samples": [{"text": "4"}]})
    >>> writer.written
    1
    """

    def __init__(self, path: str | os.PathLike[str], header: Header | Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.header = header if isinstance(header, Header) else Header(header)
        self.written = 0
        self._ids: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Writer:
        try:
            partial = self._stack.enter_context(replacing(self.path))
            plain = self._stack.enter_context(partial.open("wb"))
        except OSError as error:
            self._cannot(error)
        self._stream: IO[bytes] | gzip.GzipFile = plain
        try:
            if self.path.suffix == ".gz":
                # No name and no time in the gzip header: the same recording gives the same bytes.
                packed = gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0, compresslevel=6)
                self._stream = self._stack.enter_context(packed)
            self._put(self.header, 1)
        except BaseException as error:  # `with` calls `__exit__` only after this method has returned
            with suppress(OSError):
                self._stack.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def write(self, row: Row | Mapping[str, Any]) -> None:
        """Append one question, validated as on reading."""
        line, path = self.written + 2, str(self.path)
        checked = row if isinstance(row, Row) else Row(row, header=self.header, path=path, line=line)
        refuse_repeated(checked, self._ids, path)
        self._put(checked, line)
        self.written += 1

    def _put(self, fields: Header | Row, line: int) -> None:
        held = fields.fields
        try:
            # Escaped to ASCII, so that a lone surrogate in an answer is preserved.
            text = json.dumps(held if isinstance(held, dict) else dict(held), allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            field, reason = find_unwritable(held) or ("", "cannot be written as JSON")
            raise RecordingError(reason, path=str(self.path), line=line, field=field) from None
        try:
            self._stream.write(text.encode("ascii") + b"\n")
        except OSError as error:
            self._cannot(error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stack.__exit__(kind, error, trace)  # writes the last bytes, and renames the file
        except OSError as failure:
            if failure is not error:
                self._cannot(failure)

    def _cannot(self, error: OSError) -> NoReturn:
        raise RecordingError(cannot_write(error), path=str(self.path)) from None


def write_lines(
    path: str | os.PathLike[str], header: Header | Mapping[str, Any], rows: Iterable[Row | Mapping[str, Any]]
) -> int:
    """Write a whole recording; return the number of rows."""
    with Writer(path, header) as writer:
        for row in rows:
            writer.write(row)
    return writer.written

"""Reads rows of questions from a file or a folder of files: JSON lines, JSON, CSV, Parquet, Arrow; gzip or not.

A text file (.txt) has one question per line. It is read where it is named, but not as part of a folder.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, MissingExtra, RecordingError
from ...input_files import read_bytes, text_lines
from ...recording.limits import LIFT, Limits, gunzip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SUFFIXES", "Record", "read_records"]

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet", ".arrow", ".jsonl.gz", ".json.gz", ".csv.gz")
TEXT = (".txt", ".txt.gz")


@dataclass(frozen=True, slots=True)
class Record:
    """One raw row and its place, for errors that name it. `line` counts rows in JSON, Parquet and Arrow files."""

    fields: Mapping[str, Any]
    path: str
    line: int

    def fail(self, message: str, field: str) -> RecordingError:
        """An error that names file, line and field."""
        return RecordingError(message, path=self.path, line=self.line, field=field)


def read_records(path: Path, *, inside: str | None = None) -> Iterator[Record]:
    """The rows of a file, or of all files of a folder by name; with `inside`, of that member of a folder or wheel."""
    if path.suffix in (".whl", ".zip") and inside is not None:
        try:
            with zipfile.ZipFile(path) as archive:
                data = _member(archive, archive.getinfo(inside), path)
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"is not a wheel ({error}): download it again", path=str(path)) from None
        yield from _parse(data, inside, f"{path}:{inside}")
        return
    if inside is not None:
        path = path / inside
    if not path.exists():
        raise InputError(f"{path} does not exist: give a file or a folder of {', '.join(SUFFIXES)}")
    files = sorted(file for file in path.rglob("*") if _is_readable(file)) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} has no file of questions: expected {', '.join(SUFFIXES)}")
    for file in files:
        try:
            data = read_bytes(file)
        except InputError as error:
            raise RecordingError(str(error)) from None  # names the file already
        yield from _parse(data, file.name, str(file))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    """A file of a wheel."""
    _refuse_bomb(info.file_size, path.stat().st_size, f"{path}:{info.filename}")
    with archive.open(info) as file:
        return file.read(info.file_size)


def _refuse_bomb(unpacked: int, size: int, path: str) -> None:
    allowed = Limits.default().unpacked_bytes(size)
    if unpacked > allowed:
        raise RecordingError(f"unpacks to more than {allowed:,} bytes: {LIFT}", path=path)


def _is_readable(file: Path) -> bool:
    return file.name.endswith(SUFFIXES) and not file.name.startswith(".") and file.is_file()


def _parse(data: bytes, name: str, path: str) -> Iterator[Record]:
    if name.endswith(".gz"):
        data, name = _gunzip(data, path), name.removesuffix(".gz")
    if name.endswith((".parquet", ".arrow")):
        yield from _arrow(data, name, path)
        return
    text = _decode(data, path)
    if name.endswith(".jsonl"):
        lines = enumerate(text.split("\n"), start=1)
        yield from (_record(_json(line, path, n), path, n) for n, line in lines if line.strip())
    elif name.endswith(".json"):
        yield from _json_rows(text, path)
    elif name.endswith(".csv"):
        yield from _csv_rows(text, path)
    elif name.endswith(".txt"):
        lines = enumerate(text_lines(text), start=1)
        yield from (Record({"question": line}, path, n) for n, line in lines if line)
    else:
        raise InputError(f"{path} has an unknown format: expected {', '.join((*SUFFIXES, *TEXT))}")


def _gunzip(data: bytes, path: str) -> bytes:
    try:
        unpacked = gunzip(data, Limits.default().unpacked_bytes(len(data)))
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError(f"is not complete gzip data ({error}): compress it again", path=path) from None
    _refuse_bomb(len(unpacked), len(data), path)
    return unpacked


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordingError("is not UTF-8 text: save the file as UTF-8", path=path, line=line) from None


def _csv_rows(text: str, path: str) -> Iterator[Record]:
    csv.field_size_limit(2**31 - 1)  # contexts may be long
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = list(reader.fieldnames or ())
        for name in names:
            if names.count(name) > 1:
                raise RecordingError("is the name of two columns: rename one", path=path, line=1, field=name)
        yield from (Record(row, path, reader.line_num) for row in reader)
    except csv.Error as error:
        raise RecordingError(f"is not CSV ({error})", path=path, line=reader.reader.line_num) from None


def _json_rows(text: str, path: str) -> Iterator[Record]:
    held = _json(text, path, None)
    if isinstance(held, dict):  # {"data": [...]}: one list among other keys
        lists = [value for value in held.values() if isinstance(value, list)]
        if len(lists) != 1:
            raise RecordingError("expected a list of questions", path=path)
        held = lists[0]
    if not isinstance(held, list):
        raise RecordingError("expected a list of questions", path=path)
    yield from (_record(fields, path, n) for n, fields in enumerate(held, start=1))


def _arrow(data: bytes, name: str, path: str) -> Iterator[Record]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("pyarrow", extra="study") from error
    from ...recording.parquet import column_values

    number = 0
    try:
        for batch in _parquet_batches(data, path) if name.endswith(".parquet") else _ipc_batches(data, path):
            columns = [column_values(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                number += 1
                yield Record(dict(zip(batch.schema.names, values, strict=True)), path, number)
    except RecordingError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RecordingError(f"cannot be read as {Path(name).suffix}: {reason}", path=path) from None


def _parquet_batches(data: bytes, path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    from ...recording.parquet import check_parquet_size, text_columns

    rows = check_parquet_size(io.BytesIO(data), Limits.default(), path)
    with pq.ParquetFile(io.BytesIO(data)) as file:
        texts = text_columns(file)
    with pq.ParquetFile(io.BytesIO(data), read_dictionary=texts) as file:
        yield from file.iter_batches(batch_size=rows)


def _ipc_batches(data: bytes, path: str) -> Iterator[Any]:
    """The batches of an Arrow stream in small pieces; what they unpack to is bounded."""
    import pyarrow as pa

    unpacked = 0
    for batch in pa.ipc.open_stream(data):
        batch.validate(full=True)  # offsets in the file are used as they are: they could point at any memory
        unpacked += batch.nbytes
        _refuse_bomb(unpacked, len(data), path)
        yield from (batch.slice(start, 1024) for start in range(0, batch.num_rows, 1024))


def _json(text: str, path: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RecordingError(f"is not JSON ({error})", path=path, line=line) from None
    except RecursionError:
        raise RecordingError("is nested too deeply", path=path, line=line) from None


def _record(fields: Any, path: str, line: int) -> Record:
    if not isinstance(fields, dict):
        raise RecordingError("expected an object", path=path, line=line)
    return Record(fields, path, line)

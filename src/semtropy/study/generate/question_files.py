"""Rows of questions from a file or a folder of files: JSON lines, JSON, CSV, Parquet, Arrow; gzip or not."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, MissingExtra, RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SUFFIXES", "Record", "read_records"]

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet", ".arrow", ".jsonl.gz", ".json.gz", ".csv.gz")


@dataclass(frozen=True, slots=True)
class Record:
    """One raw row and where it stands, for errors that name the place."""

    fields: Mapping[str, Any]
    path: str
    line: int

    def fail(self, message: str, field: str) -> RecordingError:
        """An error that names file, line and field."""
        return RecordingError(message, path=self.path, line=self.line, field=field)


def read_records(path: Path, *, inside: str | None = None) -> Iterator[Record]:
    """The rows of a file, of a folder's files in the order of their names, or of a member of a zip or wheel.

    `line` counts lines in JSON lines and CSV, rows elsewhere.
    """
    if path.suffix in (".whl", ".zip") and inside is not None:
        with zipfile.ZipFile(path) as archive:
            yield from _parse(archive.read(inside), inside, f"{path}:{inside}")
        return
    if inside is not None:
        path = path / inside
    if not path.exists():
        raise InputError(f"{path} does not exist: give a file or a folder of {', '.join(SUFFIXES)}")
    files = sorted(file for file in path.rglob("*") if _known(file.name)) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} has no file of questions: expected {', '.join(SUFFIXES)}")
    for file in files:
        yield from _parse(file.read_bytes(), file.name, str(file))


def _known(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(".")


def _parse(data: bytes, name: str, path: str) -> Iterator[Record]:
    if name.endswith(".gz"):
        data, name = gzip.decompress(data), name.removesuffix(".gz")
    if name.endswith((".parquet", ".arrow")):
        yield from _arrow(data, name, path)
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordingError(f"is not UTF-8 text (byte {error.start + 1})", path=path) from None
    if name.endswith(".jsonl"):
        lines = enumerate(text.split("\n"), start=1)
        yield from (_record(_json(line, path, n), path, n) for n, line in lines if line.strip())
    elif name.endswith(".json"):
        yield from _json_rows(text, path)
    elif name.endswith(".csv"):
        reader = csv.DictReader(io.StringIO(text, newline=""))
        yield from (Record(row, path, reader.line_num) for row in reader)
    else:
        raise InputError(f"{path} is of no known kind: expected {', '.join(SUFFIXES)}")


def _json_rows(text: str, path: str) -> Iterator[Record]:
    held = _json(text, path, None)
    if isinstance(held, dict):  # {"data": [...]}, or one list of values a column
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
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow", extra="study") from error
    try:
        parquet = name.endswith(".parquet")
        table = pq.read_table(io.BytesIO(data)) if parquet else pa.ipc.open_stream(data).read_all()
    except pa.ArrowException as error:
        raise RecordingError(f"cannot be read as {Path(name).suffix}: {error}", path=path) from error
    number = 0
    for batch in table.to_batches(max_chunksize=1024):
        for fields in batch.to_pylist():
            number += 1
            yield Record(fields, path, number)


def _json(text: str, path: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RecordingError(f"is not JSON ({error})", path=path, line=line) from None


def _record(fields: Any, path: str, line: int) -> Record:
    if not isinstance(fields, dict):
        raise RecordingError("expected an object", path=path, line=line)
    return Record(fields, path, line)

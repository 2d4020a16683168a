"""Reads and writes recordings in any format: JSON lines (plain or gzip), Parquet, or the folder of a store.

The format of an existing file is recognised by its first bytes; that of a new file is chosen by its name.
"""

from __future__ import annotations

import gc
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from ..errors import InputError, RecordingError
from ..files import cannot_read
from .jsonlines import read_lines, write_lines
from .limits import Limits
from .schema import Header, Recording, Row
from .store import is_store, parse_row, read_manifest, read_store, store_parts

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
    """Raise an `InputError` where a recording could not be written, or would replace a source, before any work."""
    target = Path(path)
    _check_name(path)
    if any(os.path.realpath(source) == os.path.realpath(path) for source in sources):
        raise InputError(f"{path}: the output is the input: name another file")
    if target.is_dir():
        raise InputError(f"{path}: cannot be written: it is a folder. Choose another name")
    if not target.parent.is_dir():
        raise InputError(
            f"{path}: cannot be written: {target.parent} is not a folder. Create it, or choose another place"
        )


def _check_name(path: str | os.PathLike[str]) -> None:
    if not Path(path).name.endswith((".jsonl", ".jsonl.gz", ".parquet")):
        raise InputError(f"{path}: the name of a recording must end in .jsonl, .jsonl.gz or .parquet")


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


# What a recording holds, whether it is sound, and one file of it.


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over a recording; None where unknown."""

    header: dict[str, Any]
    questions: int
    samples: int
    tokens: int | None
    graded: int
    correct: int
    clustered: int
    p_true: int
    parts: int | None


def summarise(path: str | os.PathLike[str]) -> Summary:
    """Count questions, samples, grades and so on of a recording; memory holds one row at a time."""
    stream = open_recording(path, allow_empty=True)
    questions = samples = tokens = graded = correct = clustered = p_true = 0
    tokens_known = True
    for row in stream.rows:
        held = row["samples"]
        questions += 1
        samples += len(held)
        for sample in held:
            lengths = sample.get("tokens") or sample.get("token_logprobs")
            tokens += len(lengths or ())
            tokens_known = tokens_known and lengths is not None
        grade = (row.get("answer") or {}).get("correct")
        graded += grade is not None
        correct += grade is True
        clustered += row.clustered
        p_true += row.p_true is not None
    parts = len(store_parts(path)) if is_store(path) else None
    known = tokens if tokens_known and samples else None
    header = dict(stream.header)
    return Summary(header, questions, samples, known, graded, correct, clustered, p_true, parts)


def verify(path: str | os.PathLike[str]) -> list[str]:
    """The faults of a recording, one sentence each; an empty list if there are none.

    Reads every byte and checks the checksums of a folder's parts, the schema of every row, duplicate ids, and that the
    probabilities of a question's distinct sequences do not sum above 1.
    """
    faults: list[str] = []
    if not is_store(path):
        try:
            for row in open_recording(path).rows:
                faults += _mass_faults(row)
        except RecordingError as error:
            faults.append(str(error))
        return faults
    header = Header(read_manifest(path)["header"])
    first_seen: dict[str, str] = {}
    indices: set[int] = set()
    for part in store_parts(path):
        try:
            lines = part.lines()
        except RecordingError as error:
            faults.append(str(error))
            continue
        for number, line in enumerate(lines, start=1):
            try:
                row = parse_row(line, header, part, number)
            except RecordingError as error:
                faults.append(str(error))
                continue
            if type(index := row.get("index")) is int:
                indices.add(index)
            place = f"{part.path.name}, line {number}"
            if first_seen.setdefault(row.id, place) != place:
                faults.append(f"{place}: id {row.id!r} is already used in {first_seen[row.id]}")
            faults += _mass_faults(row)
    return faults + _missing_parts(path, indices)


def _missing_parts(path: str | os.PathLike[str], indices: set[int]) -> list[str]:
    """The parts that were removed, where questions are missing too: another run may have asked them again."""
    if len(indices) == max(indices, default=-1) + 1:
        return []
    parts = store_parts(path)
    gaps = [(a.last + 1, b.first - 1) for a, b in pairwise(parts) if b.first > a.last + 1]
    if parts and parts[0].first:
        gaps.insert(0, (0, parts[0].first - 1))
    return [
        f"{path}: part {first:08d}{'' if first == last else f' to {last:08d}'} is missing: run `semtropy generate` "
        "again to ask its questions"
        for first, last in gaps
    ]


def _mass_faults(row: Row) -> Iterator[str]:
    mass = probability_mass(row)
    if mass > 1 + 1e-3:
        yield f"{row.path}, line {row.line}: the probabilities of its distinct sequences sum to {mass:.4f}, above 1"


def probability_mass(row: Row) -> float:
    """The total probability of a question's distinct complete sequences; at most 1 up to rounding."""
    seen = {
        sample.tokens if sample.tokens is not None else (sample.text, sample.logprob): sample.logprob
        for sample in row.samples
        if sample.complete and sample.logprob is not None
    }
    return math.fsum(math.exp(logprob) for logprob in seen.values() if logprob is not None)


def export(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Write a recording as one file (.jsonl, .jsonl.gz or .parquet), rows in the order of the questions."""
    check_recording_output(target, source)
    stream = open_recording(source, allow_empty=True)
    return write_recording(target, stream.header, stream.rows)

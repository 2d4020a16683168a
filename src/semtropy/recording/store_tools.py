"""Operations on recordings and recording folders: summarise, verify, merge, export."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RecordingError, StoreError
from .formats import open_recording, write_recording
from .header import Header
from .parts import is_store, parse_row, read_manifest, row_id, row_lines, store_parts
from .store import RecordingStore

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from .schema import Row

__all__ = ["Summary", "export", "merge", "probability_mass", "summarise", "verify"]

_COMMIT = 256  # rows per commit when stores are merged


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


def merge(sources: Sequence[str | os.PathLike[str]], target: str | os.PathLike[str]) -> int:
    """Copy the rows of several folders of one run (its shards) into `target`; return the number of rows.

    Rows are copied byte for byte. Folders of different runs are refused, as are two different rows with the same id.
    `target` may already hold some of the rows.
    """
    if not sources:
        raise StoreError("nothing to merge: name at least one folder")
    manifest = read_manifest(sources[0])
    identity, header = manifest["identity"], manifest["header"]
    with RecordingStore(target, identity=identity, header=header) as store:
        held = {row_id(line, target): hashlib.sha256(line).digest() for line in row_lines(target)}
        for source in sources:
            _refuse_stranger(source, sources[0], target)
            fresh: dict[str, bytes] = {}
            for line in row_lines(source):
                name, digest = row_id(line, source), hashlib.sha256(line).digest()
                if held.setdefault(name, digest) != digest:
                    raise StoreError(f"{source}: the row {name!r} differs from that of an earlier folder")
                fresh[name] = line + b"\n"
                if len(fresh) == _COMMIT:
                    store.commit_lines(fresh)
                    fresh = {}
            store.commit_lines(fresh)
        store.pack()
        return len(store.done)


def _refuse_stranger(
    source: str | os.PathLike[str], first: str | os.PathLike[str], target: str | os.PathLike[str]
) -> None:
    if Path(source).resolve() == Path(target).resolve():
        raise StoreError(f"{target} is both a source and the target: choose another target")
    here, there = read_manifest(first)["identity"], read_manifest(source)["identity"]
    if here != there:
        keys = ", ".join(key for key in sorted({*here, *there}) if here.get(key) != there.get(key))
        raise StoreError(f"{source} is another run than {first}: they differ in {keys}")


def export(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Write a recording as one file (.jsonl, .jsonl.gz or .parquet), rows in the order of the questions."""
    stream = open_recording(source, allow_empty=True)
    return write_recording(target, stream.header, stream.rows)

"""Crash-safe storage of a recording while it is being written: a folder of immutable parts.

    run/
      manifest.json                    the recording's header, and the identity that a resumed run must share
      part-00000000-7f3a90c1.jsonl     the rows of one commit: its number and the CRC-32 of its bytes
      pack-00000001-00000256-....jsonl.gz   256 commits in one compressed file
      lock                             held by the writer; the operating system releases it when the writer ends

A part is written under a temporary name, synced and renamed, so a commit is complete or absent. Parts are never
changed; a pack replaces the parts whose numbers it spans, with the same rows byte for byte.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import json
import math
import os
import socket
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import RecordingError, StoreError
from ..files import explained, open_own
from .formats import (
    FORMAT,
    MANIFEST,
    Part,
    checksum,
    is_store,
    open_recording,
    parse_row,
    question_digest,
    read_manifest,
    read_stored,
    row_lines,
    row_question,
    store_parts,
    write_recording,
)
from .schema import Header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from .schema import Row

PACK_AFTER = 256  # commits; keeps the folder of a million questions below a few thousand files


class RecordingStore:
    """The writer of a recording folder, of which there is one at a time; a context manager.

    `identity` holds everything a resumed run must share with the first (model, prompt, dataset, temperature ...);
    `header` is the first line of the recording. A folder with another identity is refused.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, identity: Mapping[str, Any], header: Mapping[str, Any]
    ) -> None:
        self.folder = Path(folder)
        self._lock: IO[bytes] | None = None
        with explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _take_lock(self.folder)
        try:
            with explained(self.folder):
                self._open(dict(identity), dict(header))
        except BaseException:
            self.close()
            raise

    def _open(self, identity: dict[str, Any], header: dict[str, Any]) -> None:
        for leftover in self.folder.glob("*.tmp"):
            leftover.unlink()
        if is_store(self.folder):
            _refuse_difference(self.folder, read_manifest(self.folder)["identity"], identity)
        else:
            if any(map(Part.parse, self.folder.iterdir())):
                raise StoreError(f"{self.folder} holds parts but no {MANIFEST}: choose another folder")
            manifest = {"semtropy_store": FORMAT, "identity": identity, "header": header}
            _write(self.folder / MANIFEST, _manifest_text(manifest))
        self.header: dict[str, Any] = read_manifest(self.folder)["header"]
        live = store_parts(self.folder)
        for path in self.folder.iterdir():
            superseded = Part.parse(path)
            if superseded is not None and superseded not in live:
                path.unlink()  # a kill fell between writing a pack and removing its parts
        self._next = live[-1].last + 1 if live else 0
        self._loose = [part for part in live if not part.packed]
        self._done = dict(row_question(line, part.path) for part in live for line in part.lines())

    @property
    def done(self) -> frozenset[str]:
        """The ids of the questions that are stored."""
        return frozenset(self._done)

    def check_question(self, question: Mapping[str, Any]) -> bool:
        """Whether the question with this `id` is stored; a `StoreError` where it was another one.

        question  its keys as a row has them
        """
        known = self._done.get(str(question["id"]))
        if known is not None and known != question_digest(question):
            raise StoreError(
                f"{self.folder}: question {question['id']!r} is not the one that was answered: its text, context or "
                "references changed. Choose another folder, or give it another id"
            )
        return known is not None

    def commit(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows, all or none; after this returns they survive a kill or a power cut."""
        self.commit_lines({str(row["id"]): encode_row(row) for row in rows})

    def commit_lines(self, lines: Mapping[str, bytes]) -> None:
        """Add rows given as lines by id, byte for byte; ids that are already stored are skipped."""
        fresh = {name: line for name, line in lines.items() if name not in self._done}
        if not fresh:
            return
        data = b"".join(fresh.values())
        path = self.folder / f"part-{self._next:08d}-{checksum(data)}.jsonl"
        with explained(self.folder):
            _write(path, data)
        self._loose.append(Part(self._next, self._next, checksum(data), path))
        self._next += 1
        self._done.update(row_question(line, path) for line in fresh.values())
        if len(self._loose) >= PACK_AFTER:
            self.pack()

    def amend_header(self, **fields: Any) -> None:
        """Set fields of the header that only the first answers tell, completely or not at all."""
        self.header |= fields
        with explained(self.folder):
            manifest = {**read_manifest(self.folder), "header": self.header}
            _write(self.folder / MANIFEST, _manifest_text(manifest))

    def pack(self) -> None:
        """Merge the loose parts into one compressed file; concurrent readers see each row exactly once."""
        if len(self._loose) < 2:
            return
        first, last = self._loose[0].first, self._loose[-1].last
        data = b"".join(part.read() for part in self._loose)
        with explained(self.folder):
            name = f"pack-{first:08d}-{last:08d}-{checksum(data)}.jsonl.gz"
            _write(self.folder / name, gzip.compress(data, 6, mtime=0))
            for part in self._loose:
                part.path.unlink()
        self._loose = []

    def remember(self, name: str, value: object) -> None:
        """Store a JSON value beside the rows, completely or not at all."""
        with explained(self.folder):
            _write(self.folder / name, json.dumps(value, indent=1).encode() + b"\n")

    def recall(self, name: str) -> Any:
        """The value stored under `name`, or None."""
        path = self.folder / name
        try:
            return json.loads(read_stored(path))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"not JSON ({error})", path=str(path)) from error

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> RecordingStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def encode_row(row: Mapping[str, Any]) -> bytes:
    """A row as one line of JSON; NaN and infinity are errors."""
    try:
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise RecordingError(
            f"row {row.get('id')!r} holds a number that JSON cannot represent ({error})"
        ) from error
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate in an answer can only be written escaped
        return json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _manifest_text(manifest: Mapping[str, Any]) -> bytes:
    return (json.dumps(manifest, ensure_ascii=False, indent=1) + "\n").encode()


def _write(path: Path, data: bytes) -> None:
    """Write, sync, rename, sync the folder; on failure no file is left."""
    draft = path.with_name(path.name + ".tmp")
    try:
        with open_own(draft, new=True) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _take_lock(folder: Path) -> IO[bytes]:
    """An exclusive lock the operating system releases when this process ends, however it ends."""
    path = folder / "lock"
    if path.is_symlink() or (path.exists() and not path.is_file()):
        kind = "a link" if path.is_symlink() else "not a file"
        raise StoreError(f"{path}: the lock is {kind}, and semtropy does not write there: delete it")
    file = open_own(path)
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:  # pragma: no cover - exercised on Windows only
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            file.close()
            raise
        file.seek(0)
        holder = file.read().decode("utf-8", "replace").strip() or "another process"
        file.close()
        raise StoreError(f"{folder} is being written by {holder}: one writer at a time") from error
    file.seek(0)
    file.truncate()
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    file.flush()
    return file


def _refuse_difference(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    known = {"endpoint": here.get("endpoint"), **there}  # version 0.2 did not store where it asked
    differing = [key for key in sorted({*known, *here}) if known.get(key) != here.get(key)]
    if differing:
        details = "; ".join(
            f"{key} was {_brief(there.get(key))}, is {_brief(here.get(key))}" for key in differing
        )
        raise StoreError(
            f"{folder} holds another run: {details}. Choose another folder, or the settings it was begun with"
        )


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


# Operations on recordings and recording folders: summarise, verify, merge, export.


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
        held = {row_question(line, target)[0]: hashlib.sha256(line).digest() for line in row_lines(target)}
        for source in sources:
            _refuse_stranger(source, sources[0], target)
            fresh: dict[str, bytes] = {}
            for line in row_lines(source):
                name, digest = row_question(line, source)[0], hashlib.sha256(line).digest()
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
    # Shards of one run may have asked the same model at different addresses.
    here, there = ({**read_manifest(folder)["identity"], "endpoint": None} for folder in (first, source))
    if here != there:
        keys = ", ".join(key for key in sorted({*here, *there}) if here.get(key) != there.get(key))
        raise StoreError(f"{source} is another run than {first}: they differ in {keys}")


def export(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Write a recording as one file (.jsonl, .jsonl.gz or .parquet), rows in the order of the questions."""
    stream = open_recording(source, allow_empty=True)
    return write_recording(target, stream.header, stream.rows)

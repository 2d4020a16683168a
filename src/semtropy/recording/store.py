"""Crash-safe storage of a recording while it is being written, and after: a folder of immutable parts.

    run/
      manifest.json                    the recording's header, and the identity that a resumed run must share
      part-00000000-7f3a90c1.jsonl     the rows of one commit: its number and the CRC-32 of its bytes
      pack-00000001-00000256-....jsonl.gz   256 commits in one compressed file
      lock                             held by the writer; the operating system releases it when the writer ends

A part is written under a temporary name, synced and renamed, so a commit is complete or absent. Parts are never
changed; a pack replaces the parts whose numbers it spans, with the same rows byte for byte. Reading takes no lock and
is safe while a run is writing.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gzip
import hashlib
import json
import math
import os
import re
import socket
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import RecordingError, StoreError
from ..files import cannot_read, explained, open_own
from .jsonlines import named_header, parse_line
from .limits import Limits, gunzip
from .schema import Header, Row

if TYPE_CHECKING:
    from types import TracebackType

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
        try:
            data = gunzip(raw, limits or Limits.default(), str(self.path)) if self.packed else raw
        except (OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"not a readable gzip file ({error})", path=str(self.path)) from error
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


# The writer.


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
        empty = not any(map(Part.parse, folder.iterdir()))
        way_out = (
            "It has no answers yet: delete it, or choose another folder"
            if empty
            else "Choose another folder, or the settings it was begun with"
        )
        raise StoreError(f"{folder} holds another run: {details}. {way_out}")


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


_COMMIT = 256  # rows per commit when stores are merged


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

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
import json
import os
import socket
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import RecordingError, StoreError
from .parts import FORMAT, MANIFEST, Part, checksum, is_store, read_manifest, read_stored, row_id, store_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

__all__ = ["RecordingStore", "encode_row"]

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
        self._lock: IO[str] | None = None
        with _explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _take_lock(self.folder)
        try:
            with _explained(self.folder):
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
        self._done = {row_id(line, part.path) for part in live for line in part.lines()}

    @property
    def done(self) -> frozenset[str]:
        """The ids of the questions that are stored."""
        return frozenset(self._done)

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
        with _explained(self.folder):
            _write(path, data)
        self._loose.append(Part(self._next, self._next, checksum(data), path))
        self._next += 1
        self._done.update(fresh)
        if len(self._loose) >= PACK_AFTER:
            self.pack()

    def amend_header(self, **fields: Any) -> None:
        """Set fields of the header that only the first answers tell, completely or not at all."""
        self.header |= fields
        with _explained(self.folder):
            manifest = {**read_manifest(self.folder), "header": self.header}
            _write(self.folder / MANIFEST, _manifest_text(manifest))

    def pack(self) -> None:
        """Merge the loose parts into one compressed file; concurrent readers see each row exactly once."""
        if len(self._loose) < 2:
            return
        first, last = self._loose[0].first, self._loose[-1].last
        data = b"".join(part.read() for part in self._loose)
        with _explained(self.folder):
            name = f"pack-{first:08d}-{last:08d}-{checksum(data)}.jsonl.gz"
            _write(self.folder / name, gzip.compress(data, 6, mtime=0))
            for part in self._loose:
                part.path.unlink()
        self._loose = []

    def remember(self, name: str, value: object) -> None:
        """Store a JSON value beside the rows, completely or not at all."""
        with _explained(self.folder):
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
        with draft.open("wb") as file:
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


def _take_lock(folder: Path) -> IO[str]:
    """An exclusive lock the operating system releases when this process ends, however it ends."""
    file = (folder / "lock").open("a+", encoding="utf-8")
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
        holder = file.read().strip() or "another process"
        file.close()
        raise StoreError(f"{folder} is being written by {holder}: one writer at a time") from error
    file.seek(0)
    file.truncate()
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    file.flush()
    return file


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn errors of the operating system into a `StoreError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            way_out = (
                "the disk is full. What was finished is safe: free some space and run the same command again"
            )
        elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            way_out = "it cannot be written (read-only, or no permission): choose another folder with --out"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST):
            way_out = "it is a file, not a folder: choose another folder with --out"
        else:
            way_out = error.strerror or str(error)
        raise StoreError(f"{folder}: {way_out}") from error


def _refuse_difference(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    differing = [key for key in sorted({*there, *here}) if there.get(key) != here.get(key)]
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

"""What an interrupted `semtropy cluster` or `semtropy relate` had done: one line per question, beside the output.

The first line says what is being done, and with which judge. Each further line has the question's id, a digest of the
texts that were judged, and what was found. Lines are in the order of the recording. A run takes up those at the
beginning that are of the very texts it reads, and drops the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..output_files import lock

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    from ..recording import Row

__all__ = ["JudgingJournal", "digest_of"]


def digest_of(row: Row) -> str:
    """A digest of what a judge reads of a question: its text, its answer, and its samples' texts and tokens."""
    answer = None if row.answer is None else row.answer.text
    read = [row.question, answer, [[sample.text, list(sample.tokens or ())] for sample in row.samples]]
    return hashlib.blake2b(json.dumps(read).encode(), digest_size=16).hexdigest()


class JudgingJournal:
    """Findings by question, flushed as they come; a context manager that holds the file open.

    path   the file
    key    what is being done: a journal with another key is started anew
    valid  whether a finding that was read has the right form

    A last line that was cut short is dropped; any other damage is an `InputError` that names the file and line, and so
    is a journal that another process is writing. Memory holds one line.
    """

    def __init__(self, path: Path, key: dict[str, Any], valid: Callable[[Any], bool]) -> None:
        self.path, self.resumed = path, 0
        self._key, self._valid = key, valid
        self._entries, self._finished = 0, False
        self._file: IO[bytes]

    def __enter__(self) -> JudgingJournal:
        try:
            self.path.touch()
            self._file = self.path.open("r+b")
        except OSError as error:
            raise self._cannot(error) from None
        if not lock(self._file):
            self._file.close()
            raise InputError(f"{self.path}: another process is writing the same output: wait for it to end")
        try:
            whole = self._check()
            self._cut(whole)
            if not whole:
                self._write(self._key)
        except InputError:  # `with` calls `__exit__` only after this method has returned
            with suppress(OSError):
                self._file.close()
            raise
        return self

    def _check(self) -> int:
        """The length of the lines that can be used, in bytes; 0 where they were written for another key."""
        whole = 0
        for place, line in enumerate(iter(self._file.readline, b""), start=1):
            if not line.endswith(b"\n"):
                break  # cut short
            entry = self._parse(line, place)
            if place == 1 and entry != self._key:
                return 0
            if place > 1 and not self._is_entry(entry):
                raise self._damaged(place)
            whole += len(line)
            self._entries = place - 1
        return whole

    def _is_entry(self, entry: Any) -> bool:
        match entry:
            case [str(), str(), found]:
                return self._valid(found)
        return False

    def _parse(self, line: bytes, place: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError):  # also bytes that are no UTF-8
            raise self._damaged(place) from None

    def _damaged(self, place: int) -> InputError:
        return InputError(
            f"{self.path}, line {place}: damaged journal of an interrupted run; delete this file to start over"
        )

    def pending(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows from the first on that has no finding; those before it are counted in `resumed`."""
        waiting = iter(rows)
        self.rewind()
        end = self._file.tell()
        for row in waiting:
            line = self._file.readline()
            if not line or json.loads(line)[:2] != [row.id, digest_of(row)]:
                self._cut(end)
                yield row
                break
            end = self._file.tell()
            self.resumed += 1
        else:
            self._cut(end)
        yield from waiting

    def _cut(self, end: int) -> None:
        self._file.seek(end)
        self._file.truncate()

    def add(self, label: str, digest: str, found: Any) -> None:
        """Keep what was found of the next row: its id, the digest of its texts, and the finding."""
        self._write([label, digest, found])
        self._entries += 1

    def _write(self, entry: Any) -> None:
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._cannot(error) from None

    def _cannot(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: cannot be written: {error.strerror or error}")

    def rewind(self) -> None:
        """Go back to the first line, for `finding`."""
        self._file.seek(0)
        self._file.readline()

    def finding(self, row: Row) -> Any:
        """What was found of the row, which is the next one that was judged."""
        line = self._file.readline()
        label, digest, found = json.loads(line) if line else (None, None, None)
        if (label, digest) != (row.id, digest_of(row)):
            raise InputError(
                f"question {row.id} changed while it was judged: run the same command again, on a recording that "
                "nothing writes to"
            )
        return found

    def finished(self) -> None:
        """The output is whole: nothing is left to resume, and the file is removed at the end."""
        self._finished = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()  # tries again to write what a full disk did not take
        except OSError as error:
            if kind is None:
                raise self._cannot(error) from None
        finally:
            if self._finished or not self._entries:
                with suppress(OSError):
                    self.path.unlink()

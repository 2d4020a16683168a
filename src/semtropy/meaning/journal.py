"""What an interrupted `semtropy cluster` had done: one line per question, beside the output.

The first line names the judge and the mode. Each further line has the question's id, a digest of the texts that were
grouped, and their meanings: meanings are taken up again only for the very texts they were made of.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from ..recording import Row

__all__ = ["ClusterJournal", "digest_of"]


def digest_of(row: Row) -> str:
    """A digest of what grouping reads of a question: its text, its answer, and its samples' texts and tokens."""
    answer = None if row.answer is None else row.answer.text
    read = [row.question, answer, [[sample.text, list(sample.tokens or ())] for sample in row.samples]]
    return hashlib.blake2b(json.dumps(read).encode(), digest_size=16).hexdigest()


class ClusterJournal:
    """Meanings by question, flushed as they come; a context manager that holds the file open.

    A journal of another judge or mode is started anew. A last line that was cut short is dropped; any other damage is
    an `InputError` that names the file and line.
    """

    def __init__(self, out: Path, key: dict[str, Any]) -> None:
        self.path = out.with_name(f".{out.name}.clustering")
        self._key = key
        self._meanings: dict[str, tuple[str, list[int]]] = {}

    def __len__(self) -> int:
        return len(self._meanings)

    def __enter__(self) -> ClusterJournal:
        try:
            if self.path.is_file():
                self._read(self.path.read_bytes())
            fresh = self.path.with_name(f"{self.path.name}.new")
            lines = [self._key, *([label, *entry] for label, entry in self._meanings.items())]
            fresh.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            fresh.replace(self.path)
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from None
        return self

    def _read(self, data: bytes) -> None:
        """Take up what an earlier run had done."""
        lines = data.split(b"\n")
        lines.pop()  # after the last line break: nothing, or a line that was cut short
        entries = [self._parse(line, place) for place, line in enumerate(lines, start=1)]
        if not entries or entries[0] != self._key:
            return
        for place, entry in enumerate(entries[1:], start=2):
            match entry:
                case [str(label), str(digest), [*meanings]] if all(
                    type(m) is int and m >= 0 for m in meanings
                ):
                    self._meanings[label] = digest, meanings
                case _:
                    raise self._damaged(place)

    def _parse(self, line: bytes, place: int) -> Any:
        try:
            return json.loads(line)
        except ValueError:  # also bytes that are no UTF-8
            raise self._damaged(place) from None

    def _damaged(self, place: int) -> InputError:
        return InputError(
            f"{self.path}, line {place}: damaged journal of an interrupted run; delete this file to start over"
        )

    def meanings(self, row: Row) -> list[int] | None:
        """The meanings of a row's samples, and of its answer, if these very texts were grouped; else None."""
        digest, meanings = self._meanings.get(row.id, ("", []))
        texts = len(row.samples) + (row.answer is not None)
        return meanings if digest == digest_of(row) and len(meanings) == texts else None

    def add(self, row: Row, meanings: list[int]) -> None:
        """Keep the meanings of a row's samples and of its answer."""
        digest = digest_of(row)
        self._meanings[row.id] = digest, meanings
        try:
            self._file.write(json.dumps([row.id, digest, meanings]) + "\n")
            self._file.flush()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from None

    def finished(self) -> None:
        """The output is whole: nothing is left to resume."""
        self.path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        self._file.close()

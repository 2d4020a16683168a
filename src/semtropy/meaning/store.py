"""Judgements on disk: one SQLite file that runs and processes share, bounded in rows."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .partition import Triple

__all__ = ["JudgementStore", "key_of"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS judgements (
    key BLOB PRIMARY KEY, entailment REAL NOT NULL, neutral REAL, contradiction REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ages (place INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL);
"""
_CHUNK = 500


def key_of(judge: str, triple: Triple) -> bytes:
    """What a judgement is filed under: a digest of the judge's name and the texts, so no prompt is kept.

    >>> key_of("exact", ("q", "a", "b")) == key_of("exact", ("q", "ab", ""))
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (judge, *triple):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


class JudgementStore:
    """Judgements by key. Writers wait for each other; the oldest rows go when there are more than `rows`."""

    def __init__(self, path: str | Path, *, rows: int = 2_000_000) -> None:
        if rows < 1:
            raise InputError(f"rows is {rows}: a cache holds at least one judgement")
        self.path, self.rows = Path(path), rows
        self._lock = threading.Lock()
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            weakref.finalize(self, self._db.close)  # Python 3.13 warns of connections that nobody closed
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the file into an `InputError` that says what to do."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{self.path}: no cache of judgements ({error}): name another file, or delete this one"
            ) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[float, ...]]:
        """What is known of the keys."""
        found: dict[bytes, tuple[float, ...]] = {}
        with self._lock, self._explained():
            for start in range(0, len(keys), _CHUNK):
                part = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                for key, *values in self._db.execute(
                    f"SELECT * FROM judgements WHERE key IN ({marks})", part
                ):
                    found[key] = tuple(value for value in values if value is not None)
                    if not all(type(value) is float and 0 <= value <= 1 for value in found[key]):
                        raise sqlite3.DataError("a judgement is no probability")
        return found

    def put(self, rows: Iterable[tuple[bytes, tuple[float, ...]]]) -> None:
        """File judgements; what another process filed meanwhile stays."""
        filled = [(key, *values, *(None,) * (3 - len(values))) for key, values in rows]
        with self._lock, self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for row in filled:
                    fresh = self._db.execute(
                        "INSERT OR IGNORE INTO judgements VALUES (?, ?, ?, ?)", row
                    ).rowcount
                    if fresh:
                        self._db.execute("INSERT INTO ages (key) VALUES (?)", row[:1])
                self._trim()
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    self._db.execute("ROLLBACK")
                raise

    def _trim(self) -> None:
        first, last = self._db.execute("SELECT min(place), max(place) FROM ages").fetchone()
        over = 0 if first is None else last - first + 1 - self.rows
        if over > 0:
            bound = (first + over,)
            self._db.execute(
                "DELETE FROM judgements WHERE key IN (SELECT key FROM ages WHERE place < ?)", bound
            )
            self._db.execute("DELETE FROM ages WHERE place < ?", bound)

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM judgements").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

"""A judge that remembers: in memory and, on request, in a file that runs and processes share."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import weakref
from collections import OrderedDict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..nouns import Floats, Judge
    from .partition import Triple


# What a judge may have beside `entails`, and a judge around another one hands on.


def hand_on(judge: object, wrapper: object) -> None:
    """Give a wrapper the judge's own name, and what else it has beside `entails`.

    None of them needs a judgement, so that there is nothing to cache, bound or time.

    >>> from semtropy.meaning.judges import Exact
    >>> wrapper = type("Wrapper", (), {})()
    >>> hand_on(Exact(), wrapper)
    >>> hasattr(wrapper, "unlike")
    False
    """
    for name in ("name", "explain", "unlike", "sentences", "competes", "identity", "warnings"):
        if hasattr(judge, name):
            setattr(wrapper, name, getattr(judge, name))


# Judgements on disk: one SQLite file that runs and processes share, bounded in rows.


_SCHEMA = """
CREATE TABLE IF NOT EXISTS judgements (
    key BLOB PRIMARY KEY, supports REAL NOT NULL, contradicts REAL, silent REAL
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


class Cached:
    """Another judge with a cache of its judgements, in memory and optionally in a file.

    judge     the judge that is asked where the cache has no answer
    path      an SQLite file that keeps judgements between runs and processes; None for memory only
    capacity  the number of judgements kept in memory
    rows      the number of judgements kept in the file; the oldest are dropped first

    `asked` counts the judgements handed in, `judged` those that reached the judge; the rest were hits.
    Judgements of different judges never mix in one file: the judge's `name` is part of the key.

    >>> from semtropy.meaning import ScriptedJudge
    >>> judge = Cached(ScriptedJudge({("a", "b"): 1.0}))
    >>> judge.entails([("q", "a", "b"), ("q", "a", "b")]).tolist(), judge.asked, judge.judged, judge.hits
    ([1.0, 1.0], 2, 1, 1)
    """

    def __init__(
        self, judge: Judge, *, path: str | Path | None = None, capacity: int = 100_000, rows: int = 2_000_000
    ) -> None:
        if capacity < 1:
            raise InputError(f"capacity is {capacity}: a cache holds at least one judgement")
        self.judge = judge
        self.name: str = getattr(judge, "name", type(judge).__name__)
        self.asked = self.judged = 0
        self._capacity = capacity
        self._memory: OrderedDict[bytes, tuple[float, ...]] = OrderedDict()
        self._store = None if path is None else JudgementStore(path, rows=rows)
        self._lock = threading.RLock()
        if hasattr(judge, "relation"):
            self.relation = self._relation
        hand_on(judge, self)

    @property
    def hits(self) -> int:
        """How many judgements did not reach the judge."""
        return self.asked - self.judged

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The judge's probabilities, each distinct triple asked at most once."""
        return np.array([values[0] for values in self._values(batch, "entails")])

    def _relation(self, batch: Sequence[Triple]) -> Floats:
        return np.array(self._values(batch, "relation")).reshape(-1, 3)

    def _values(self, batch: Sequence[Triple], kind: str) -> list[tuple[float, ...]]:
        """What the judge says of each triple: one probability (kind `entails`) or three (`relation`)."""
        ask: Callable[[Sequence[Triple]], Floats] = getattr(self.judge, kind)
        keys = [key_of(f"{self.name}/{kind}", triple) for triple in batch]
        with self._lock:
            self.asked += len(keys)
            known = self._recall(keys)
            missing = {key: triple for key, triple in zip(keys, batch, strict=True) if key not in known}
            if missing:
                answers = np.asarray(ask(list(missing.values())), dtype=float).reshape(len(missing), -1)
                fresh = {key: tuple(row) for key, row in zip(missing, answers.tolist(), strict=True)}
                self.judged += len(fresh)
                if self._store is not None:
                    unread = getattr(self.judge, "is_unread", lambda triple: False)  # no judgement to keep
                    self._store.put(item for item in fresh.items() if not unread(missing[item[0]]))
                known |= fresh
            for key in dict.fromkeys(keys):
                self._memory[key] = known[key]
                self._memory.move_to_end(key)
            while len(self._memory) > self._capacity:
                self._memory.popitem(last=False)
        return [known[key] for key in keys]

    def _recall(self, keys: Sequence[bytes]) -> dict[bytes, tuple[float, ...]]:
        known = {key: self._memory[key] for key in keys if key in self._memory}
        if self._store is not None:
            known |= self._store.get([key for key in dict.fromkeys(keys) if key not in known])
        return known

    def close(self) -> None:
        """Let go of the file, if there is one."""
        if self._store is not None:
            self._store.close()

"""A judge that remembers: in memory and, on request, in a file that runs and processes share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .optional import hand_on
from .store import JudgementStore, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ..nouns import Floats, Judge
    from .partition import Triple

__all__ = ["Cached"]


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
        if hasattr(judge, "relations"):
            self.relations = self._relations
        hand_on(judge, self)

    @property
    def hits(self) -> int:
        """How many judgements did not reach the judge."""
        return self.asked - self.judged

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The judge's probabilities, each distinct triple asked at most once."""
        return np.array([values[0] for values in self._values(batch, "entails", self.judge.entails)])

    def _relations(self, batch: Sequence[Triple]) -> Floats:
        ask: Callable[[Sequence[Triple]], Floats] = self.judge.relations  # type: ignore[attr-defined]
        return np.array(self._values(batch, "relations", ask)).reshape(-1, 3)

    def _values(
        self, batch: Sequence[Triple], kind: str, ask: Callable[[Sequence[Triple]], Floats]
    ) -> list[tuple[float, ...]]:
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
                    self._store.put(fresh.items())
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

"""A map over independent pieces of work, in this process or in several, with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

__all__ = ["ParallelMap", "ProgressCallback", "available_cores", "parallel_map"]

A = TypeVar("A")
B = TypeVar("B")
# Called with the name of a step, its pieces done so far, and its pieces in total.
ProgressCallback = Callable[[str, int, int], None]


def available_cores() -> int:
    """How many cores this process may use; all of the machine where the system does not say.

    >>> available_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class ParallelMap:
    """Applies a function to items, keeps their order, and reports progress."""

    mapper: Callable[..., Iterable[Any]]
    progress: ProgressCallback | None

    def __call__(self, step: str, function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        for done, result in enumerate(self.mapper(function, items), start=1):
            if self.progress is not None:
                self.progress(step, done, len(items))
            yield result


@contextmanager
def parallel_map(processes: int, progress: ProgressCallback | None) -> Iterator[ParallelMap]:
    """A map over `processes` processes, started afresh (spawned); over this one where `processes` is 1."""
    if processes <= 1:
        yield ParallelMap(map, progress)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield ParallelMap(pool.map, progress)

"""A map over independent pieces of work, in this process, in several or on a cluster, with progress."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ..engines import WorkEngine

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
    """Applies a function to items, keeps their order, and reports progress.

    mapper    applies a function to items: `map`, or one over processes or machines
    progress  called after each item
    near      the same for functions that read files, which other machines may not have
    """

    mapper: Callable[..., Iterable[Any]]
    progress: ProgressCallback | None
    near: Callable[..., Iterable[Any]]

    def __call__(self, step: str, function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        """The results of one step, in order."""
        return self._watched(step, self.mapper(function, items), len(items))

    def read(self, step: str, function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        """The results of a step that reads files."""
        return self._watched(step, self.near(function, items), len(items))

    def _watched(self, step: str, results: Iterable[B], total: int) -> Iterator[B]:
        for done, result in enumerate(results, start=1):
            if self.progress is not None:
                self.progress(step, done, total)
            yield result


@contextmanager
def parallel_map(
    processes: int, progress: ProgressCallback | None, engine: WorkEngine | None = None
) -> Iterator[ParallelMap]:
    """A map over `processes` processes, started afresh (spawned); over this one where `processes` is 1.

    With an `engine`, a map by that engine instead.
    """
    if engine is not None:
        yield ParallelMap(partial(_apply, engine), progress, map)
        return
    if processes <= 1:
        yield ParallelMap(map, progress, map)
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent) as pool:
        yield ParallelMap(pool.map, progress, pool.map)


def _end_with_parent() -> None:
    """End this worker when the process that started it is killed; it would wait for work for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="semtropy-parent", daemon=True).start()


def _apply(engine: WorkEngine, function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    return engine(partial(partial, map, function), items)

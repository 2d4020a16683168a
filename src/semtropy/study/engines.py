"""Engines apply work to a stream of items, in this process or on a Ray cluster, with the same results."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from ..errors import InputError, MissingExtra, ModelError, SemtropyError, one_line, unknown

# What engines have in common, and the engine of this process.
#
# Work is a function from an iterable of items to an iterator over their results, one per item and in order. It is
# made where it runs: what makes it is pickled, and what it holds, such as a judge or a model, is not.


A = TypeVar("A")
B = TypeVar("B")
MakeWork = Callable[[], Callable[[Iterable[A]], Iterator[B]]]


class WorkEngine(Protocol):
    """Applies work to items; the results come in the order of the items.

    An error that the work raises for an item is raised after the results of the items before it. `batch` is the number
    of items that a worker is given at a time, where there are several workers.
    """

    def __call__(self, make: MakeWork[A, B], items: Iterable[A], *, batch: int = 1) -> Iterator[B]: ...


def work_here(make: MakeWork[A, B], items: Iterable[A], *, batch: int = 1) -> Iterator[B]:
    """The engine of this process: the work reads the items as it needs them.

    >>> list(work_here(lambda: lambda items: (item + 1 for item in items), [1, 2]))
    [2, 3]
    """
    return make()(items)


ENGINES = ("local", "ray")


def load_work_engine(name: str, **options: Any) -> WorkEngine:
    """The engine of that name; `options` are those of `RayEngine`.

    >>> load_work_engine("slurm")
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: no engine is called 'slurm': choose one of local, ray
    """
    if name == "local":
        return work_here
    if name != "ray":
        raise unknown("engine", name, ENGINES)
    import_ray()  # fails now, not after the work has begun, where Ray is missing
    return RayEngine(**options)


# The engine of a cluster: Ray Data with a pool of actors that each make the work once.
#
# Items stream through the pool with Ray's back-pressure. Lost actors are restarted and their items worked on again.
# Results come back to this process, which alone reads and writes files.

MOST_BLOCKS = 5000
SHARES = 4  # batches per worker, at least: none waits long for the last one
PORTION = 4000  # items per worker that are handed to Ray at once: memory holds no more of a recording


def import_ray() -> Any:
    """Ray, or an error that names the extra."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", extra="ray") from error
    return ray


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Applies work on a Ray cluster: at `address`, or in RAY_ADDRESS, else one started on this machine.

    workers  the number of actors; None for as many as the cluster has room for
    cpus     the number of CPUs each of them takes
    gpus     the number of GPUs each of them takes
    """

    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers is {self.workers}: at least 1")

    def __call__(self, make: MakeWork[A, B], items: Iterable[A], *, batch: int = 1) -> Iterator[B]:
        """The results in the order of the items, which are read a portion at a time.

        Batches are smaller than `batch` where there would be few for each worker.
        """
        waiting, workers = iter(items), self._start()
        while portion := list(islice(waiting, PORTION * workers)):
            batch = max(1, min(batch, len(portion) // (SHARES * workers)))
            early: dict[int, tuple[list[B], SemtropyError | None]] = {}
            due = 0
            for place, results, error in self.in_any_order(make, portion, batch=batch):
                early[place] = results, error
                while due in early:
                    ready, failure = early.pop(due)
                    yield from ready
                    if failure is not None:
                        raise failure
                    due += 1

    def in_any_order(
        self, make: MakeWork[A, B], items: Sequence[A], *, batch: int = 1
    ) -> Iterator[tuple[int, list[B], SemtropyError | None]]:
        """For each batch, as it is finished: its place, its results, and the error that ended it early."""
        if not items:
            return
        workers = self._start()
        ray = import_ray()
        left = set(range(-(-len(items) // batch)))
        try:
            for row in self._stream(make, items, batch, workers):
                if row["place"] in left:  # a batch whose node was lost may have been worked on twice
                    left.remove(row["place"])
                    results, error = pickle.loads(row["results"])
                    yield row["place"], results, error
        except ray.exceptions.RayError as error:
            raise ModelError(
                f"the Ray cluster failed with {min(len(left) * batch, len(items))} questions left "
                f"({type(error).__name__}: {one_line(str(error), 300)}). Run the same command again: generate, cluster "
                "and relate continue where they stopped"
            ) from error

    def _start(self) -> int:
        """Connect to the cluster; return the number of workers."""
        ray = import_ray()
        if not ray.is_initialized():
            _connect(ray, self.address)
        if self.workers is not None:
            return self.workers
        there = ray.cluster_resources()
        rooms = [there.get(kind, 0) / each for kind, each in (("CPU", self.cpus), ("GPU", self.gpus)) if each]
        return max(1, int(min(rooms, default=1)))

    def _stream(
        self, make: MakeWork[A, B], items: Sequence[A], batch: int, workers: int
    ) -> Iterator[dict[str, Any]]:
        import ray.data as data

        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.verbose_progress = False
        _quieten()
        batches = [
            {"place": place, "items": pickle.dumps(items[start : start + batch])}
            for place, start in enumerate(range(0, len(items), batch))
        ]
        # A block is the unit of work and of loss: one batch, or more where there are more than MOST_BLOCKS batches.
        blocks = min(MOST_BLOCKS, len(batches))
        worked = data.from_items(batches, override_num_blocks=blocks).map_batches(
            _Worker,
            fn_constructor_args=(make,),
            batch_size=1,
            batch_format="pyarrow",
            compute=data.ActorPoolStrategy(size=min(workers, blocks)),
            num_cpus=self.cpus,
            num_gpus=self.gpus,
        )
        return iter(worked.iter_rows())


def _connect(ray: Any, address: str | None) -> None:
    """Connect to the cluster at `address` or in RAY_ADDRESS, or start one."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors are raised here
    found = address or os.environ.get("RAY_ADDRESS")
    try:
        if found and re.fullmatch(r"[^/]+:\d+", found):  # Ray itself would wait for minutes
            host, _, port = found.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        at = f"at {found}" if found else "on this machine"
        reason = one_line(str(error), 200)
        raise SemtropyError(
            f"no Ray cluster {at} ({reason}): start one with `ray start --head`, or give its --address"
        ) from error


def _quieten() -> None:
    """Keep the messages of Ray and Ray Data off the terminal; they stay in their log files.

    Ray prints what happens to its nodes, a lost one for instance, to standard output, which belongs to the results of
    the command. It has no public switch for that.
    """
    worker: Any = sys.modules.get("ray._private.worker")
    if hasattr(worker, "_worker_logs_enabled"):
        worker._worker_logs_enabled = False
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)


class _Worker:
    """One actor: makes its work at the first batch, so that an error in making it is one of that batch."""

    def __init__(self, make: MakeWork[Any, Any]) -> None:
        self._make = make
        self._work: Callable[[Iterable[Any]], Iterator[Any]] | None = None

    def __call__(self, table: Any) -> Any:
        import pyarrow

        [row] = table.to_pylist()
        results: list[Any] = []
        failure: SemtropyError | None = None
        try:
            work = self._work = self._work or self._make()
            for result in work(pickle.loads(row["items"])):
                results.append(result)  # noqa: PERF402  # what comes before a failure is kept
        except SemtropyError as error:
            failure = error
        except Exception as error:
            failure = ModelError(f"a worker failed ({type(error).__name__}: {one_line(str(error), 300)})")
        held = pyarrow.array([pickle.dumps((results, failure))], pyarrow.large_binary())
        return pyarrow.table({"place": [row["place"]], "results": held})

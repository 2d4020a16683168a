"""Engines run the tasks of `generate`: in this process, against an endpoint, or on a Ray cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError
from ...nouns import Model
from ..engines import RayEngine
from .driver import Outcome, QuestionTask, TaskBackend, drive, drive_async

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .requests import GenerationPlan

MakeModel = Callable[
    [], Model
]  # called in the process that runs the model; this is pickled, the model is not

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Runs tasks and yields their outcomes as they finish, in any order; closing the iterator stops the work."""

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]: ...


def load_engine(name: str, make_model: MakeModel, **options: Any) -> Engine:
    """The engine of that name.

    name        "local": in this process, or against an endpoint; "ray": on a Ray cluster
    make_model  called without arguments where the model runs; returns the model
    options     keyword arguments of the engine, such as `batch=` and `concurrency=` of "local"

    >>> load_engine("slurm", lambda: None)
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: no engine is called 'slurm': choose one of local, ray
    """
    if name not in ENGINES:
        raise InputError(f"no engine is called {name!r}: choose one of {', '.join(ENGINES)}")
    return LocalEngine(make_model, **options) if name == "local" else RayGeneration(make_model, **options)


# The engine of one machine: batches in process, or concurrent requests to an endpoint.


class LocalEngine:
    """Answers questions in this process.

    An asynchronous model answers up to `concurrency` questions at once; any other answers `batch` questions at a time.
    Questions in progress when the process is killed are drawn again by the next run. The model is created once, at
    the first question.
    """

    def __init__(self, make_model: MakeModel, *, batch: int = 1, concurrency: int = 1) -> None:
        if batch < 1 or concurrency < 1:
            raise InputError(f"batch is {batch} and concurrency is {concurrency}: both are at least 1")
        self._make_model, self._batch, self._concurrency = make_model, batch, concurrency
        self._backend: TaskBackend | None = None

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]:
        """The outcomes, as questions finish."""
        if self._backend is None:
            self._backend = TaskBackend(self._make_model(), plan)
        awaitable = hasattr(self._backend.model, "asample") or hasattr(self._backend.model, "acomplete")
        if awaitable and self._concurrency > 1:
            yield from self._run_async(tasks, plan, self._backend)
        else:
            for start in range(0, len(tasks), self._batch):
                yield from drive(tasks[start : start + self._batch], plan, self._backend)

    def _run_async(
        self, tasks: Sequence[QuestionTask], plan: GenerationPlan, backend: TaskBackend
    ) -> Iterator[Outcome]:
        queue = iter(tasks)
        loop = asyncio.new_event_loop()
        running: set[asyncio.Task[Outcome]] = set()
        try:
            while True:
                room = self._concurrency - len(running)
                running |= {
                    loop.create_task(drive_async(task, plan, backend)) for task in islice(queue, room)
                }
                if not running:
                    return
                waiting = asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                done, running = loop.run_until_complete(waiting)
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            if running:
                loop.run_until_complete(asyncio.wait(running))
            aclose = getattr(backend.model, "aclose", None)
            if aclose is not None:  # its connections belong to this loop
                loop.run_until_complete(aclose())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


# The engine of a cluster for `generate`: a pool of workers that each hold a model.


class RayGeneration:
    """Answers questions on a Ray cluster; `options` are those of `RayEngine`, with one worker by default.

    Each worker has a model and answers `batch` questions at a time.
    """

    def __init__(
        self, make_model: MakeModel, *, batch: int = 1, workers: int | None = None, **options: Any
    ) -> None:
        if batch < 1:
            raise InputError(f"batch is {batch}: at least 1")
        self._make_model, self._batch = make_model, batch
        self._engine = RayEngine(workers=1 if workers is None else workers, **options)

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]:
        """The outcomes as they arrive, one per question."""
        make = partial(_answering, self._make_model, plan)
        for _, outcomes, error in self._engine.in_any_order(make, tasks, batch=self._batch):
            yield from outcomes
            if error is not None:
                raise error


def _answering(
    make_model: MakeModel, plan: GenerationPlan
) -> Callable[[Iterable[QuestionTask]], Iterator[Outcome]]:
    backend = TaskBackend(make_model(), plan)
    return lambda tasks: iter(drive(list(tasks), plan, backend))

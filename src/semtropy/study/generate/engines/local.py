"""The engine of one machine: batches in process, or concurrent requests to an endpoint."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from ....errors import InputError
from ..driver import Backend, Outcome, QuestionTask, drive, drive_async

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..requests import GenerationPlan
    from . import MakeModel

__all__ = ["LocalEngine"]


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
        self._backend: Backend | None = None

    def run(self, tasks: Sequence[QuestionTask], plan: GenerationPlan) -> Iterator[Outcome]:
        """The outcomes, as questions finish."""
        if self._backend is None:
            self._backend = Backend(self._make_model(), plan)
        awaitable = hasattr(self._backend.model, "asample") or hasattr(self._backend.model, "acomplete")
        if awaitable and self._concurrency > 1:
            yield from self._run_async(tasks, plan, self._backend)
        else:
            for start in range(0, len(tasks), self._batch):
                yield from drive(tasks[start : start + self._batch], plan, self._backend)

    def _run_async(
        self, tasks: Sequence[QuestionTask], plan: GenerationPlan, backend: Backend
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

"""Checks under way and checks remembered: identical questions share one run, and followers see all of its steps."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..inquiry import Step
    from ..verdict import Verdict

__all__ = ["Run", "Runs"]

Steps = Callable[[], AsyncIterator["Step"]]


class Run:
    """One inquiry that any number of clients follow. When the last of them leaves, it stops."""

    def __init__(self, steps: Steps) -> None:
        self.steps: list[Step] = []
        self.error: Exception | None = None
        self.finished_at: float | None = None
        self.remembered = True
        self.verdict: Verdict | None = None  # of the last step, once someone has asked for it
        self._followers = 0
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._drive(steps))

    async def _drive(self, steps: Steps) -> None:
        try:
            async with aclosing(steps()) as source:  # type: ignore[type-var]
                async for step in source:
                    self.steps.append(step)
                    self._tell()
        except Exception as error:  # each follower raises it
            self.error = error
        finally:
            self.finished_at = time.monotonic()
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    @property
    def alive(self) -> bool:
        """Whether it still works towards its last step."""
        return self.finished_at is None and not self._task.cancelling()

    async def follow(self) -> AsyncIterator[Step]:
        """Every step from the first, as each becomes known."""
        with self.joined():
            at = 0
            while True:
                news = self._news
                while at < len(self.steps):
                    yield self.steps[at]
                    at += 1
                if self.finished_at is not None:
                    if self.error is not None:
                        raise self.error
                    return
                if news is self._news:
                    await news.wait()

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Count as a follower while inside; the last one out stops a run that is not over."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and self.finished_at is None:
                self._task.cancel()

    async def last(self) -> Step:
        """The last step."""
        async with aclosing(self.follow()) as steps:  # type: ignore[type-var]
            return [step async for step in steps][-1]

    def settle(self, verdict: Verdict) -> None:
        """Keep the verdict, and let go of the distributions behind it: they are large, and a cache holds many."""
        self.verdict = replace(verdict, belief=None, partition=None, draws=())
        self.steps = [replace(step, belief=replace(step.belief, distribution=None)) for step in self.steps]

    def cancel(self) -> None:
        """Stop at once."""
        self._task.cancel()


class Runs:
    """Runs by what was asked: those under way, and the latest `size` of those that ended well within `seconds`."""

    def __init__(self, *, size: int, seconds: float) -> None:
        self.size, self.seconds = size, seconds
        self._runs: OrderedDict[Hashable, Run] = OrderedDict()

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: Hashable, steps: Steps, *, remember: bool = True) -> tuple[Run, str]:
        """The run for `key`, and how it was come by: "new", "shared" with one under way, or "cached"."""
        run = self._runs.get(key)
        if run is not None and run.alive:
            return run, "shared"
        if run is not None and run.finished_at is not None and self._fresh(run):
            self._runs.move_to_end(key)
            return run, "cached"
        run = self._runs[key] = Run(steps)
        run.remembered = remember
        self._runs.move_to_end(key)
        run._task.add_done_callback(lambda _: self._settle(key, run))
        return run, "new"

    def _fresh(self, run: Run) -> bool:
        return (
            self.size > 0
            and run.remembered
            and run.error is None
            and bool(run.steps)
            and run.steps[-1].reason is not None
            and run.finished_at is not None
            and time.monotonic() - run.finished_at < self.seconds
        )

    def _settle(self, key: Hashable, run: Run) -> None:
        """Forget a run that failed, and the oldest of those that are over once there are too many."""
        if not self._fresh(run) and self._runs.get(key) is run:
            del self._runs[key]
        over = [old for old, held in self._runs.items() if not held.alive]
        for old in over[: max(0, len(over) - self.size)]:
            del self._runs[old]

    def cancel(self) -> None:
        """Stop everything under way."""
        for run in self._runs.values():
            run.cancel()

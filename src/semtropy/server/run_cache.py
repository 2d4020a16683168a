"""Runs of checks, shared while they are under way and cached afterwards."""

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
    from ..nouns import Judge, Sample
    from ..verdict import Verdict

__all__ = ["CheckRun", "RunCache"]

VERDICTS = 4
"""Answers to one question whose verdicts are kept."""

MOST_BYTES = 64_000_000
"""Size of all cached checks together, about. Long answers would fill gigabytes before there are `size` checks."""
PER_TOKEN = 100
"""Bytes that a token with its log-probability takes, about."""

Steps = Callable[[], AsyncIterator["Step"]]


class CheckRun:
    """One inquiry that any number of clients follow; it stops when the last of them leaves."""

    def __init__(self, steps: Steps) -> None:
        self.steps: list[Step] = []
        self.error: Exception | None = None
        self.finished_at: float | None = None
        self.keep = True
        self.size = 0  # in bytes, about
        # Remembers its judgements, for the answers that are compared with the samples later.
        self.judge: Judge | None = None
        # By answer; None for the one that the run drew.
        self.verdicts: OrderedDict[Sample | None, Verdict] = OrderedDict()
        self._followers = 0
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._drive(steps))

    async def _drive(self, steps: Steps) -> None:
        try:
            async with aclosing(steps()) as source:  # type: ignore[type-var]
                async for step in source:
                    self.steps.append(step)
                    self._notify()
        except Exception as error:  # each follower raises it
            self.error = error
        finally:
            self.finished_at = time.monotonic()
            self.size = sum(map(_size, self.steps[-1].samples)) if self.steps else 0
            self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def alive(self) -> bool:
        """Whether it is still working towards its last step."""
        return self.finished_at is None and not self._task.cancelling()

    async def follow(self) -> AsyncIterator[Step]:
        """Every step from the first, as each arrives."""
        with self.joined():
            at = 0
            while True:
                changed = self._changed
                while at < len(self.steps):
                    yield self.steps[at]
                    at += 1
                if self.finished_at is not None:
                    if self.error is not None:
                        raise self.error
                    return
                if changed is self._changed:
                    await changed.wait()

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Count as a follower inside the block; when the last follower leaves, an unfinished run is cancelled."""
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

    def store_verdict(self, answer: Sample | None, verdict: Verdict) -> None:
        """Keep the verdict on `answer` and drop the distributions behind it, which are large."""
        self.verdicts[answer] = replace(verdict, belief=None, partition=None, draws=())
        self.size += 0 if answer is None else _size(answer)
        if len(self.verdicts) > VERDICTS:
            self.verdicts.popitem(last=False)
        self.steps = [replace(step, belief=replace(step.belief, distribution=None)) for step in self.steps]

    def cancel(self) -> None:
        """Stop at once."""
        self._task.cancel()


def _size(sample: Sample) -> int:
    """The bytes that a sample takes, about."""
    return len(sample.text) + PER_TOKEN * len(sample.tokens or sample.token_logprobs or ())


class RunCache:
    """Runs by the digest of their request: all under way, and up to `size` finished ones, for `seconds` each.

    Finished ones have `most_bytes` together.
    """

    def __init__(self, *, size: int, seconds: float, most_bytes: int = MOST_BYTES) -> None:
        self.size, self.seconds, self.most_bytes = size, seconds, most_bytes
        self._runs: OrderedDict[Hashable, CheckRun] = OrderedDict()

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: Hashable, steps: Steps, *, keep: bool = True) -> tuple[CheckRun, str]:
        """The run for `key` and its source: "new", "shared" (joined while under way) or "cached"."""
        run = self._runs.get(key)
        if run is not None and run.alive:
            return run, "shared"
        if run is not None and run.finished_at is not None and self._fresh(run):
            self._runs.move_to_end(key)
            return run, "cached"
        run = self._runs[key] = CheckRun(steps)
        run.keep = keep
        self._runs.move_to_end(key)
        run._task.add_done_callback(lambda _: self._evict(key, run))
        return run, "new"

    def _fresh(self, run: CheckRun) -> bool:
        return (
            self.size > 0
            and run.keep
            and run.error is None
            and bool(run.steps)
            and run.steps[-1].reason is not None
            and run.finished_at is not None
            and time.monotonic() - run.finished_at < self.seconds
        )

    def _evict(self, key: Hashable, run: CheckRun) -> None:
        """Drop a run that failed, and the oldest finished ones above `size`."""
        if not self._fresh(run) and self._runs.get(key) is run:
            del self._runs[key]
        finished = [(old, held) for old, held in self._runs.items() if not held.alive]
        over, total = len(finished) - self.size, sum(held.size for _, held in finished)
        for old, held in finished:
            if over <= 0 and total <= self.most_bytes:
                return
            over, total = over - 1, total - held.size
            del self._runs[old]

    def cancel(self) -> None:
        """Stop everything under way."""
        for run in self._runs.values():
            run.cancel()

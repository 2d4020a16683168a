"""The progress of `semtropy generate`: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..study.generate.run import Progress

__all__ = ["describe", "watching"]

EVERY = 10.0  # seconds between lines where there is no terminal


def describe(progress: Progress) -> str:
    """One line: how far, how fast, how long still, what failed.

    >>> from semtropy.study.generate.run import Progress
    >>> describe(Progress(done=30, total=100, resumed=10, samples=2020, tokens=9000, failures=1, seconds=10.0))
    '30/100 questions, 202.0 samples/s, 9,000 tokens, 0:00:35 left, 1 failed'
    """
    rate = progress.samples / progress.seconds if progress.seconds > 0 else 0.0
    parts = [
        f"{progress.done}/{progress.total} questions",
        f"{rate:.1f} samples/s",
        f"{progress.tokens:,} tokens",
    ]
    if progress.seconds_left is not None:
        left = int(progress.seconds_left)
        parts.append(f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left")
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    return ", ".join(parts)


@contextmanager
def watching(stream: TextIO) -> Iterator[Callable[[Progress], None]]:
    """What is to be called with every progress."""
    if stream.isatty():
        try:
            with _bar(stream) as watch:
                yield watch
            return
        except ImportError:
            pass
    yield _Lines(stream)


class _Lines:
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._last = stream, 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY or progress.done == progress.total:
            self._last = now
            print(describe(progress), file=self._stream, flush=True)


@contextmanager
def _bar(stream: TextIO) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns: list[Any] = [BarColumn(), TextColumn("{task.description}")]
    with Progress(*columns, console=Console(file=stream)) as bars:
        task = bars.add_task("starting")

        def watch(progress: Any) -> None:
            bars.update(task, completed=progress.done, total=progress.total, description=describe(progress))

        yield watch

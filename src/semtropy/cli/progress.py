"""The progress of long commands: a live bar on a terminal, a line now and then elsewhere, and where rich is missing."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ._text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..inquiry.steps import Step
    from ..study.generate.run import Progress


PATIENCE = 2.0  # seconds before anything is said of a check
EVERY = 10.0  # seconds between lines where there is no terminal
_FIRST, _NEXT = 2.0, 5.0  # seconds until the first line about grouping, and between lines


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
        parts.append(_time_left(progress.seconds_left))
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    return ", ".join(parts)


def _time_left(seconds: float) -> str:
    left = int(seconds)
    return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"


class GroupingProgress:
    """A line now and then while questions are judged: how many, how fast, how long still.

    total   counts the questions; called once, when the first line is due
    stream  where the lines go
    doing   what is done with them

    >>> import sys
    >>> times = iter([0.0, 1.0, 4.0])
    >>> progress = GroupingProgress(lambda: 40, sys.stdout, clock=lambda: next(times))
    >>> progress(1), progress(10)
    grouping by meaning: 10/40 questions, 2.5 a second, 0:00:12 left
    (None, None)
    """

    def __init__(
        self,
        total: Callable[[], int],
        stream: TextIO,
        *,
        doing: str = "grouping by meaning",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._doing = doing
        self._count, self._stream, self._clock = total, stream, clock
        self._total: int | None = None
        self._started = clock()
        self._due = self._started + _FIRST
        self._before: int | None = None

    def __call__(self, done: int) -> None:
        if self._before is None:
            self._before = done - 1  # an earlier run may have done the others
        now = self._clock()
        if now < self._due:
            return
        self._due = now + _NEXT
        if self._total is None:
            self._total = self._count()
        rate = (done - self._before) / max(now - self._started, 1e-9)
        left = _time_left((self._total - done) / rate)
        pace = f"{rate:.1f} a second" if rate >= 1 else f"{1 / rate:.1f} s each"
        line = f"{self._doing}: {done:,}/{self._total:,} questions, {pace}, {left}"
        print(line, file=self._stream, flush=True)


def waiting_line(model: str, seconds: float, samples: int) -> str:
    """How long the model has been asked, and what it has given.

    >>> waiting_line("openai:gpt-4o-mini", 2.04, 0)
    'asking openai:gpt-4o-mini: 2 s, no samples yet'
    """
    drawn = f"{samples} sample{'s' * (samples != 1)} so far" if samples else "no samples yet"
    return printable(f"asking {model}: {seconds:.0f} s, {drawn}")


@contextmanager
def still_asking(
    model: str, steps: Sequence[Step], stream: TextIO, first: float = PATIENCE
) -> Iterator[None]:
    """Write a line after `first` seconds and then every ten, until the check is done."""
    done, start = threading.Event(), time.monotonic()

    def speak() -> None:
        wait = first
        while not done.wait(wait):
            samples = len(steps[-1].samples) if steps else 0
            print(
                f"semtropy: {waiting_line(model, time.monotonic() - start, samples)}", file=stream, flush=True
            )
            wait = EVERY

    speaker = threading.Thread(target=speak, name="semtropy-waiting", daemon=True)
    speaker.start()
    try:
        yield
    finally:
        done.set()
        speaker.join()


def draws(stream: TextIO) -> bool:
    """Whether to draw on a stream: it is a terminal, and rich is installed."""
    if not stream.isatty():
        return False
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def watching(stream: TextIO) -> Iterator[Callable[[Progress], None]]:
    """What is to be called with every progress."""
    if draws(stream):
        with _bar(stream) as watch:
            yield watch
        return
    last = 0.0

    def line(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY or progress.done == progress.total:
            last = now
            print(describe(progress), file=stream, flush=True)

    yield line


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

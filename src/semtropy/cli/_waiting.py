"""Says that a check is still under way, once it has taken two seconds: a line on a stream, or in a live picture."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from ._text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from ..inquiry import Step

__all__ = ["PATIENCE", "LivePicture", "still_asking", "waiting_line"]

PATIENCE = 2.0  # seconds before anything is said
EVERY = 10.0  # seconds between lines


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


class LivePicture:
    """The picture after the last step, with a line below it while the next one is awaited for longer."""

    def __init__(self, model: str, draw: Callable[[], RenderableType]) -> None:
        self._model, self._draw = model, draw
        self._start = time.monotonic()
        self.update(0)

    def update(self, samples: int) -> None:
        """Draw the picture anew."""
        self._picture, self._samples, self._since = self._draw(), samples, time.monotonic()

    def finish(self) -> None:
        """Nothing more is awaited."""
        self._since = float("inf")

    def __call__(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        now = time.monotonic()
        if now - self._since < PATIENCE:
            return self._picture
        line = waiting_line(self._model, now - self._start, self._samples)
        return Group(self._picture, Text(f"  {line} ...", style="dim"))

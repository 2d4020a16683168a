"""Download progress on standard error: a bar in a terminal, one line elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .weights import Progress

__all__ = ["shown"]


@contextmanager
def shown(title: str) -> Iterator[Progress]:
    """A callback that shows the progress of a download."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        yield _plain(title)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain(title)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(title)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _plain(title: str) -> Progress:
    said = False

    def say(done: int, total: int) -> None:
        nonlocal said
        if not said:
            print(f"{title} ({total / 1e6:.0f} MB, once)", file=sys.stderr)
            said = True

    return say

"""Runs coroutines from synchronous code, on one event loop in a background thread."""

from __future__ import annotations

import asyncio
import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

__all__ = ["run"]

T = TypeVar("T")


@lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """The event loop of this process; a forked child needs another, as threads do not survive a fork."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="semtropy-loop", daemon=True).start()
    return loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for the result of `work`, also inside a running loop (a notebook); an interrupt cancels it.

    >>> run(asyncio.sleep(0, "done"))
    'done'
    """
    future = asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()))
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise

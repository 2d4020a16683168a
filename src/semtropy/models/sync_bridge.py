"""Runs coroutines from synchronous code, and synchronous code beside coroutines.

Coroutines run on one event loop in a background thread. Functions that may not end in time run in separate threads,
which nobody has to wait for: an executor's threads would hold up the end of the event loop and of the process.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import Future
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from numpy.random import Generator

    from ..conversation import Prompt
    from ..nouns import Sample

T = TypeVar("T")

GRACE = 0.2
"""Seconds that cancelled work has to clean up before it is left alone."""

AT_EXIT = 2.0
"""Seconds that functions still running have when the process ends; most need less, and some never return."""


class OutOfTime(TimeoutError):
    """Raised by `finish` at its deadline, unlike a TimeoutError of the work itself."""


_starting = threading.Lock()
_running: set[threading.Thread] = set()


@lru_cache(maxsize=1)
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """The event loop of this process; a forked child needs another, as threads do not survive a fork."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="semtropy-loop", daemon=True).start()
    return loop


def run(work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
    """Wait for the result of `work`, also inside a running loop (a notebook); an interrupt cancels it.

    Raises TimeoutError after `timeout` seconds, whatever `work` does by then.

    >>> run(asyncio.sleep(0, "done"))
    'done'
    """
    with _starting:
        loop = _loop(os.getpid())
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result(timeout)
    except BaseException:
        future.cancel()
        raise


class AwaitedModel(ABC):
    """A model that is asked asynchronously: synchronous code waits for it in a background thread."""

    name: str

    @abstractmethod
    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers."""

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`asample`, awaited in a background thread."""
        return run(self.asample(prompt, n, temperature=temperature, rng=rng))


def start(function: Callable[..., T], *args: Any) -> Future[T]:
    """Call a function in a separate thread, with the context variables of the caller.

    >>> start(max, 1, 2).result()
    2
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(function, *args))
        except StopIteration as error:  # which no future can hold, and which would end a generator
            ended = RuntimeError(f"{getattr(function, '__name__', 'a function')} raised StopIteration")
            ended.__cause__ = error
            future.set_exception(ended)
        except BaseException as error:
            future.set_exception(error)
        finally:
            _running.discard(threading.current_thread())

    thread = threading.Thread(target=work, name="semtropy-call", daemon=True)
    _running.add(thread)
    thread.start()
    return future


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """`start`, awaited. Cancelling it leaves the thread to itself."""
    return await asyncio.wrap_future(start(function, *args))


async def finish(work: Awaitable[T], deadline: float | None) -> T:
    """The result of `work`; OutOfTime where it is not there by the deadline (of `time.monotonic`).

    Work that does not end when it is cancelled is left alone.
    """
    task = asyncio.ensure_future(work)
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        done, _ = await asyncio.wait({task}, timeout=left)
    except asyncio.CancelledError:
        await _give_up([task])
        raise
    if not done:
        await _give_up([task])
        if not task.done() or task.cancelled():
            raise OutOfTime
    return task.result()


async def together(work: Iterable[Awaitable[T]]) -> list[T]:
    """The results of all of `work`, in order. Where one fails, the others are cancelled, not left to run on.

    >>> run(together([asyncio.sleep(0, "a"), asyncio.sleep(0, "b")]))
    ['a', 'b']
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        await _give_up(tasks)
        raise


async def _give_up(tasks: Sequence[asyncio.Future[T]]) -> None:
    """Cancel tasks and let them clean up; nobody asks for the errors of those that go on."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)


def _let_finish(process: int) -> None:
    """Wait a moment for functions still running: some are in C++, where the end of the process is a crash."""
    deadline = time.monotonic() + AT_EXIT
    for thread in list(_running) if os.getpid() == process else ():
        thread.join(max(0.0, deadline - time.monotonic()))


atexit.register(partial(_let_finish, os.getpid()))

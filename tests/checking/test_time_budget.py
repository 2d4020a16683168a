"""`Budget(seconds=...)`, cancellation and failures: kept in time, and nothing is left running."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from semtropy import Budget, Reason, Sample, Verdict, acheck, astream, check, stream
from semtropy.errors import ModelTimeout
from semtropy.models import ScriptedModel, sync_bridge
from semtropy.verdict import Outcome

SHORT = Budget(seconds=0.3)
IN_TIME = 5.0  # far above 0.3 on a busy machine, far below what the parts would take


class Blocking:
    """A synchronous model, judge or both: answers at once `quick` times, then only when the test is over."""

    name = "blocking"

    def __init__(self, quick: int = 0) -> None:
        self.over, self.quick, self.called = threading.Event(), quick, 0

    def _wait(self) -> None:
        self.called += 1
        if self.called > self.quick:
            self.over.wait(30)

    def sample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        self._wait()
        return [Sample("a")] * n

    def entails(self, batch: Any) -> Any:
        self._wait()
        return np.zeros(len(batch))


@pytest.fixture
def blocking() -> Iterator[Callable[[int], Blocking]]:
    made: list[Blocking] = []

    def make(quick: int = 0) -> Blocking:
        made.append(Blocking(quick))
        return made[-1]

    yield make
    for each in made:
        each.over.set()


async def last(**options: Any) -> Any:
    return [step async for step in astream("?", **options)][-1]


# Each driver as a whole: what `asyncio.run` waits for at its end counts too.
DRIVERS: dict[str, Callable[..., Any]] = {
    "check": lambda **options: check("?", **options),
    "stream": lambda **options: list(stream("?", **options))[-1],
    "acheck": lambda **options: asyncio.run(acheck("?", **options)),
    "astream": lambda **options: asyncio.run(last(**options)),
}


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
def test_a_synchronous_model_that_is_slow(driver: Callable[..., Any], blocking: Any) -> None:
    start = time.monotonic()
    ended = driver(model=blocking(2), judge="exact", budget=SHORT)
    assert time.monotonic() - start < IN_TIME
    assert ended.reason is Reason.SECONDS


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
def test_a_first_answer_that_is_slow(driver: Callable[..., Any], blocking: Any) -> None:
    start = time.monotonic()
    with pytest.raises(ModelTimeout, match="no answer came within the seconds"):
        driver(model=blocking(), judge="exact", budget=SHORT)
    assert time.monotonic() - start < IN_TIME


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
def test_a_judge_that_is_slow(driver: Callable[..., Any], blocking: Any) -> None:
    def ask(messages: Any, n: int, temperature: float) -> list[str]:
        return ["red", "blue", "green", "grey", "pink"][:n]

    start = time.monotonic()
    ended = driver(model=ask, judge=blocking(1), budget=SHORT)
    assert time.monotonic() - start < IN_TIME
    assert ended.reason is Reason.SECONDS
    if isinstance(ended, Verdict):
        assert ended.outcome is not Outcome.NO_ANSWER
        assert ended.samples == sum(meaning.count for meaning in ended.meanings)


def test_what_the_judge_had_no_time_for_is_paid_but_not_counted(blocking: Any) -> None:
    def ask(messages: Any, n: int, temperature: float) -> list[Sample]:
        return [Sample("red" if temperature == 1 else "blue", token_count=7)] * n

    verdict = check("?", model=ask, judge=blocking(), budget=SHORT)
    assert (verdict.samples, verdict.spent.tokens) == (0, 14)
    assert verdict.outcome is Outcome.UNDECIDED


def test_an_estimator_that_needs_samples_says_that_the_judge_was_late(blocking: Any) -> None:
    model = ScriptedModel(default={"red": 0.5, "blue": 0.5})
    with pytest.raises(ModelTimeout, match="the judge compared nothing within the seconds"):
        check("?", model=model, judge=blocking(), estimator="histogram", budget=SHORT, rng=1)


class IgnoresCancellation:
    name = "stubborn"

    def sample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        raise NotImplementedError

    async def asample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return []


class BlocksTheLoop(IgnoresCancellation):
    """A coroutine that never yields: a common mistake, such as a synchronous client in an `async def`."""

    over = threading.Event()

    async def asample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        self.over.clear()
        self.over.wait(10)
        return []


@pytest.mark.parametrize("kind", [IgnoresCancellation, BlocksTheLoop])
def test_a_model_that_cannot_be_cancelled(kind: type[IgnoresCancellation]) -> None:
    start = time.monotonic()
    try:
        with pytest.raises(ModelTimeout, match="no answer came"):
            check("?", model=kind(), judge="exact", budget=SHORT)
        assert time.monotonic() - start < IN_TIME
    finally:
        BlocksTheLoop.over.set()
        sync_bridge.run(last(model=ScriptedModel(default={"a": 1.0})))  # the loop is free again


def test_checks_that_hang_do_not_starve_the_next(blocking: Any) -> None:
    for _ in range(40):  # more than the threads of an event loop's executor
        with pytest.raises(ModelTimeout):
            check("?", model=blocking(), judge="exact", budget=Budget(seconds=0.01))
    assert check("?", model=blocking(99), judge="exact", budget=Budget(seconds=5)).samples


def test_a_process_ends_though_a_model_hangs() -> None:
    script = (
        "import time\nfrom semtropy import Budget, check\nfrom semtropy.errors import ModelTimeout\n"
        "try: check('?', model=lambda m, n, t: time.sleep(60), judge='exact', budget=Budget(seconds=0.1))\n"
        "except ModelTimeout: print('late')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\n", "")


def test_an_iterator_that_ran_out_in_a_model_is_an_error_not_a_hang() -> None:
    answers = iter(["a"])
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(asyncio.wait_for(acheck("?", model=lambda m, n, t: [next(answers)], judge="exact"), 5))


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_errors_of_a_function_come_through(seconds: float | None) -> None:
    def ask(messages: Any, n: int, temperature: float) -> list[str]:
        raise TimeoutError("mine")

    for driver in DRIVERS.values():
        with pytest.raises(TimeoutError, match="mine"):
            driver(model=ask, judge="exact", budget=Budget(seconds=seconds))


def test_where_one_request_fails_the_others_are_cancelled() -> None:
    under_way, cancelled = [0], [0]

    async def ask(messages: Any, n: int, temperature: float) -> list[str]:
        if n > 1:
            return ["a"]
        under_way[0] += 1
        if under_way[0] == 3:
            raise KeyError("third")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled[0] += 1
            raise
        return ["a"]

    async def main() -> int:
        with pytest.raises(KeyError, match="third"):
            await acheck(
                "?", model=ask, judge="exact", answer="a", budget=Budget(samples=12), estimator="histogram"
            )
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert cancelled[0] == under_way[0] - 1 > 0


def test_a_check_cancelled_at_any_point_leaves_no_task_behind() -> None:
    async def main() -> None:
        model = ScriptedModel(default={"red": 0.5, "blue": 0.5}, delay=0.002)
        for wait in np.linspace(0, 0.03, 25):
            task = asyncio.create_task(acheck("?", model=model, judge="exact", rng=1))
            await asyncio.wait({task}, timeout=float(wait))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())

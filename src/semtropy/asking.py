"""What the sampling loop asks for, from a model and a judge: one round of a check, within its seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from .errors import BadReply
from .inquiry import LATE, Draw, Drawn
from .models import portal
from .samples import Sample

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from concurrent.futures import Future

    from numpy.random import Generator

    from .conversation import Prompt
    from .inquiry import Triple
    from .nouns import Floats, Judge, Model

__all__ = ["adraw_round", "ajudge_round", "draw_round", "judge_round"]

T = TypeVar("T")


def draw_round(model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None) -> Drawn:
    """Everything the round asks for. An asynchronous model is awaited in another thread."""
    if isinstance(model, _Awaitable):
        work = adraw_round(model, prompt, draw, rng, deadline)
        try:  # a model that blocks the event loop would keep it from the deadline
            return portal.run(work, _left(deadline, more=2 * portal.GRACE))
        except TimeoutError:
            if _left(deadline) != 0:
                raise
            return LATE
    if deadline is not None:
        return _in_time(portal.start(draw_round, model, prompt, draw, rng, None), deadline)
    parts = _parts(draw, rng)
    drawn = [model.sample(prompt, n, temperature=t, rng=child) if n else [] for n, t, child in parts]
    if draw.weigh is not None:
        weigh = getattr(model, "weigh", None)
        weighed = None if weigh is None else weigh(prompt, draw.weigh)
        drawn.append([] if weighed is None else [weighed])
    return _drawn(model, draw, drawn)


async def adraw_round(
    model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None
) -> Drawn:
    """Everything the round asks for, together; a model without `asample` works in a thread."""
    if isinstance(model, _Awaitable):
        work = _everything(model, prompt, draw, rng)
    else:
        work = portal.in_thread(draw_round, model, prompt, draw, rng, None)
    return await _ain_time(work, deadline)


def judge_round(judge: Judge, pairs: Sequence[Triple], deadline: float | None) -> Floats | Drawn:
    """What the judge says of the pairs, or `LATE`; with a deadline it works in a thread."""
    if deadline is None:
        return judge.entails(pairs)
    return _in_time(portal.start(judge.entails, pairs), deadline)


async def ajudge_round(judge: Judge, pairs: Sequence[Triple], deadline: float | None) -> Floats | Drawn:
    """`judge_round`, awaited: the judge works in a thread."""
    return await _ain_time(portal.in_thread(judge.entails, pairs), deadline)


def _in_time(work: Future[T], deadline: float) -> T | Drawn:
    """The result of `work`, or `LATE`; its thread is left behind."""
    done, _ = wait([work], timeout=_left(deadline))
    return work.result() if done else LATE


async def _ain_time(work: Awaitable[T], deadline: float | None) -> T | Drawn:
    try:
        return await portal.finish(work, deadline)
    except portal.OutOfTime:
        return LATE


def _left(deadline: float | None, more: float = 0.0) -> float | None:
    """Seconds until the deadline."""
    return None if deadline is None else max(0.0, deadline + more - time.monotonic())


async def _everything(model: _Awaitable, prompt: Prompt, draw: Draw, rng: Generator) -> Drawn:
    asked = [_asked(model, prompt, *part) for part in _parts(draw, rng)]
    if draw.weigh is not None:
        asked.append(_weighed(model, prompt, draw.weigh))
    return _drawn(model, draw, await portal.together(asked))


@runtime_checkable
class _Awaitable(Protocol):
    """A model with an asynchronous twin."""

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float, rng: Generator
    ) -> list[Sample]: ...


async def _asked(
    model: _Awaitable, prompt: Prompt, n: int, temperature: float, rng: Generator
) -> list[Sample]:
    return await model.asample(prompt, n, temperature=temperature, rng=rng) if n else []


async def _weighed(model: object, prompt: Prompt, answer: Sample) -> list[Sample]:
    """The answer with its log-probability, or nothing where the model cannot tell it."""
    weigh = getattr(model, "aweigh", None)
    weighed = None if weigh is None else await weigh(prompt, answer)
    return [] if weighed is None else [weighed]


def _parts(draw: Draw, rng: Generator) -> list[tuple[int, float, Generator]]:
    """What to ask the model for, each part with its own stream of randomness so that order cannot matter."""
    answer_rng, sample_rng = rng.spawn(2)
    parts = [(draw.n, draw.temperature, sample_rng)]
    if draw.answer_at is not None:
        parts.append((1, draw.answer_at, answer_rng))
    return parts


def _drawn(model: object, draw: Draw, parts: list[Any]) -> Drawn:
    """The parts as the reply; a model that returns more than was asked for does not pass the budget."""
    samples, *others = parts
    answers = [_checked(model, part, 1) for part in others]
    return Drawn(_checked(model, samples, draw.n), answers[0][0] if answers and answers[0] else None)


def _checked(model: object, part: Any, n: int) -> list[Sample]:
    """The first `n` that a model returned, if they are samples."""
    several = isinstance(part, Iterable) and not isinstance(part, str | bytes | Mapping)
    found = list(islice(part, n)) if several else []
    if not several or not all(isinstance(each, Sample) for each in found):
        kinds = ", ".join(sorted({type(each).__name__ for each in found}))
        said = f"a list of {kinds}" if several else f"a {type(part).__name__}"
        name = getattr(model, "name", type(model).__name__)
        raise BadReply(f"the model {name} returned {said}: a list of Samples is expected")
    return found

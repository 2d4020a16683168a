"""Draws one round of a check: the samples and the answer that the sampling loop asks for, from a model."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .inquiry import Draw, Drawn
from .models import portal

if TYPE_CHECKING:
    from numpy.random import Generator

    from .conversation import Prompt
    from .nouns import Model, Sample

__all__ = ["adraw_round", "draw_round"]


def draw_round(model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None) -> Drawn:
    """Everything the round asks for. An asynchronous model is awaited in another thread."""
    # With a time limit a synchronous model works in a thread, which is left behind when time is up.
    if isinstance(model, _Awaitable) or deadline is not None:
        return portal.run(adraw_round(model, prompt, draw, rng, deadline))
    parts = _parts(draw, rng)
    drawn = [model.sample(prompt, n, temperature=t, rng=child) if n else [] for n, t, child in parts]
    if draw.weigh is not None:
        weigh = getattr(model, "weigh", None)
        weighed = None if weigh is None else weigh(prompt, draw.weigh)
        drawn.append([] if weighed is None else [weighed])
    return _drawn(drawn)


async def adraw_round(
    model: Model, prompt: Prompt, draw: Draw, rng: Generator, deadline: float | None
) -> Drawn:
    """Everything the round asks for, together; a model without `asample` works in a thread."""
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        async with asyncio.timeout(left) as limit:
            if not isinstance(model, _Awaitable):
                return await asyncio.to_thread(draw_round, model, prompt, draw, rng, None)
            asked = [_asked(model, prompt, *part) for part in _parts(draw, rng)]
            if draw.weigh is not None:
                asked.append(_weighed(model, prompt, draw.weigh))
            return _drawn(await asyncio.gather(*asked))
    except TimeoutError:
        if not limit.expired():
            raise
        return Drawn((), late=True)


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


def _drawn(parts: list[list[Sample]]) -> Drawn:
    return Drawn(parts[0], parts[1][0] if len(parts) > 1 and parts[1] else None)

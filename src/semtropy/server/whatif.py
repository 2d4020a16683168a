"""What if: the same samples under another rule, budget or estimator, without asking the model again."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..inquiry import Compare, Draw, Drawn, Step, Terms, inquire
from ..nouns import Partition, Sample

if TYPE_CHECKING:
    from ..nouns import Floats, Token
    from .options import SampleGiven

__all__ = ["replayed"]


class _Known:
    """Meanings known beforehand, handed out in the order the samples came in."""

    def __init__(self, meanings: Sequence[int]) -> None:
        self._meanings = iter(meanings)

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[tuple[str, str, str]], Floats, int]:
        yield from ()
        return next(self._meanings)


def replayed(prompt: str, answer: str, given: Sequence[SampleGiven], terms: Terms) -> list[Step]:
    """The steps of a check that draws these samples, in their order; it ends early where they do."""
    meanings = [sample.meaning for sample in given]
    try:
        Partition(tuple(meanings))
    except InputError as error:
        raise InputError(f"samples: {error}") from None
    waiting = [_sample(sample) for sample in given]
    loop = inquire(prompt, terms, _Known(meanings))
    steps: list[Step] = []
    reply: Any = None
    while True:
        try:
            event = loop.send(reply)
        except StopIteration:
            return steps
        reply = None
        if isinstance(event, Draw):
            drawn, waiting = waiting[: event.n], waiting[event.n :]
            reply = Drawn(drawn, Sample(answer, tokens=()) if event.answer_at is not None else None)
        elif isinstance(event, Compare):
            reply = np.ones(len(event.pairs))
        else:
            steps.append(event)


def _sample(given: SampleGiven) -> Sample:
    """A sample again; its tokens are gone, so equal text and probability stand for the same sequence."""
    return Sample(given.text, given.logprob, None, None, given.complete)

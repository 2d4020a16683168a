"""What the sampling loop asks its driver for, and the replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from .nouns import Floats, Sample
    from .step import Step

__all__ = ["LATE", "Compare", "Draw", "Drawn", "Exchange", "Triple"]

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Draw:
    """Asks for `n` samples at `temperature` and, with them, for one answer at `answer_at` where that is set.

    `answer_at` is None once there is an answer: drawn in an earlier round, or given by the caller. `weigh` is such an
    answer whose log-probability is asked for.
    """

    n: int
    temperature: float = 1.0
    answer_at: float | None = None
    weigh: Sample | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The reply to a Draw: no samples means the model has no more, or that time ran out (`late`).

    `answer` is the one drawn, or the one that was weighed.
    """

    samples: Sequence[Sample]
    answer: Sample | None = None
    late: bool = False


LATE = Drawn((), late=True)
"""The reply to a Draw or a Compare for which time ran out."""


@dataclass(frozen=True, slots=True)
class Compare:
    """Asks for the judge's probability of each (question, a, b): does a entail b?"""

    pairs: Sequence[Triple]


class Exchange:
    """Iterates over the events of `inquire`; a driver puts its answer to each into `reply` before the next."""

    def __init__(self, loop: Generator[Draw | Compare | Step, Drawn | Floats | None, None]) -> None:
        self._loop = loop
        self.reply: Drawn | Floats | None = None

    def __iter__(self) -> Iterator[Draw | Compare | Step]:
        while True:
            reply, self.reply = self.reply, None
            try:
                event = self._loop.send(reply)
            except StopIteration:
                return
            yield event

"""Sufficient statistics of one question's samples, rounded to the precision of the log-probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ImpossibleLogprobs
from ..evidence import MOST_EXCESS
from .contour import exact_room
from .inputs import check_counts, clean_floors
from .shannon import entropy_term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..nouns import Evidence

    Floats = NDArray[np.float64]

__all__ = ["Observations"]

# Log-probabilities are sums of rounded 32-bit numbers: room below this is indistinguishable from none, and further
# digits would only order questions by their rounding.
LEAST_ROOM = 1e-6
DIGITS = 6
LEAST_LOGPROB = -700.0


@dataclass(frozen=True, slots=True)
class Observations:
    """What the two-level model needs of a question's samples and judged answer; every field has one entry per meaning.

    floors      summed probability of the distinct sequences found, a lower bound of the meaning's probability; a bare
                lower bound where none was found
    found       number of distinct sequences found with a known probability
    logprobs    their log-probabilities, in order of discovery
    no_logprob  number of draws whose probability is unknown

    >>> from semtropy import Evidence
    >>> Observations.of(Evidence(counts=(2, 1), floors=(0.5, 0.0))).floors.round(3)
    array([0.5, 0. ])
    """

    floors: Floats
    found: Floats
    logprobs: tuple[tuple[float, ...], ...]
    no_logprob: Floats

    @classmethod
    def of(cls, evidence: Evidence) -> Observations:
        """The statistics of real samples. Probabilities that sum to more than 1.01 are an error."""
        known, no_logprob = _with_answer(evidence)
        logprobs = tuple(tuple(_bounded(logprob) for logprob in own) for own in known)
        floors = np.array([math.fsum(math.exp(logprob) for logprob in own) for own in logprobs])
        bare = evidence.bare_floors
        if bare:
            floors[: len(bare)] += bare
        total = float(floors.sum())
        if not total <= 1 + MOST_EXCESS:
            raise ImpossibleLogprobs(
                f"the probabilities of the distinct sequences seen sum to {total:.4g}: their log-probabilities are not "
                "those of the distribution they were drawn from (another temperature? a prefix?)"
            )
        found = np.array([len(own) for own in logprobs], dtype=float)
        floors = clean_floors(floors / max(total, 1.0), LEAST_ROOM)
        unknown = np.array(no_logprob, dtype=float)
        check_counts(unknown, 0, "no_logprob")
        return cls(floors, found, logprobs, unknown)

    def with_draw(self, meaning: int) -> Observations:
        """The observations with one more draw of `meaning` whose log-probability is unknown."""
        more = self.no_logprob.copy()
        more[meaning] += 1
        return replace(self, no_logprob=more)

    @property
    def settled(self) -> float | None:
        """The entropy, where the sequences found have all of the probability; None where they do not."""
        if exact_room(self.floors) > 2 * LEAST_ROOM:
            return None
        return max(0.0, float(entropy_term(self.floors / self.floors.sum()).sum()))


def _bounded(logprob: float) -> float:
    """A log-probability to the digits it has, and not so low that its probability is 0 as a float.

    Long texts reach that: a meaning whose only sequence has the probability 0 could not have been seen.
    """
    return round(min(max(logprob, LEAST_LOGPROB), 0.0), DIGITS)


def _with_answer(evidence: Evidence) -> tuple[list[tuple[float, ...]], list[int]]:
    """Log-probabilities of the known sequences of each meaning, and draws without one, the judged answer included.

    The answer comes before the samples: it is the first sequence of its meaning. Its meaning is the last one where
    no sample has it.
    """
    logprobs, no_logprob = list(evidence.logprobs), list(evidence.no_logprob)
    answer = evidence.answer
    if answer is None:
        return logprobs, no_logprob
    if answer.meaning == len(logprobs):
        logprobs.append(())
        no_logprob.append(0)
    own = logprobs[answer.meaning]
    if answer.logprob is None:
        no_logprob[answer.meaning] += 1
    elif answer.sequence is None:
        logprobs[answer.meaning] = (answer.logprob, *own)
    else:
        logprobs[answer.meaning] = (
            own[answer.sequence],
            *own[: answer.sequence],
            *own[answer.sequence + 1 :],
        )
    return logprobs, no_logprob

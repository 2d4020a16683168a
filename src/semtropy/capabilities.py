"""How many samples go out together: as many as the verdict takes at least, where waiting costs more than sampling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .stopping import Budget, Reason, Rule, Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .nouns import Belief
    from .samples import Sample

FARTHEST = 12  # samples ahead that are considered
AT_ONCE = 5  # samples that go out together at most: of a model that is mostly unsure, fewer decide against the answer


@dataclass(frozen=True, slots=True)
class Pace:
    """What is known of a model that decides what goes out together.

    together      samples of one round are drawn at the same time, so that a larger round takes no longer
    weighs_answer  the answer comes with its probability under the sampling distribution, which may decide alone; None
                   where that is not known yet
    weighs_samples  samples come with log-probabilities, the end token included or not; None where that is not known yet
    weighs_given  the probability of an answer that is given can be asked for
    """

    together: bool = True
    weighs_answer: bool | None = None
    weighs_samples: bool | None = None
    weighs_given: bool = False

    def looks_ahead(self, samples: Sequence[Sample], budget: Budget) -> bool:
        """Whether a round should be as large as a verdict takes: no sample has a log-probability that could decide.

        What the first sample costs is not known, so a limit on cost or tokens keeps the first round small.
        """
        if not self.together:
            return False
        if samples:
            return all(sample.logprob is None for sample in samples)
        return self.weighs_samples is False and budget.tokens is None and budget.cost is None


IN_PROCESS = Pace(together=False, weighs_answer=True, weighs_samples=True)
"""A model in this process: one answer after another, each with its probability."""

WEIGHING = replace(IN_PROCESS, weighs_given=True)
"""The same for a model that also tells the probability of an answer that is given."""


def samples_until_agreement(
    believe: Callable[[int], Belief], rule: Rule, *, drawn: int, most: int
) -> int | None:
    """The fewest further samples after which the rule stops if all of them agree; None if it does not stop soon.

    believe  the belief after a number of further samples that repeat what was said
    drawn    the samples so far
    most     the further samples that are allowed

    Fewer samples than these cannot end in a verdict for the answer, so they may as well be drawn at the same time.
    """

    def stops(more: int) -> bool:
        reason = rule(believe(more), Spent(samples=drawn + more))
        return reason is not None and reason is not Reason.DECIDED_HIGH

    low, high = 0, min(most, FARTHEST)
    if high < 1 or not stops(high):
        return None
    while high - low > 1:  # more agreement never makes a verdict for the answer less certain
        middle = (low + high) // 2
        low, high = (low, middle) if stops(middle) else (middle, high)
    return high

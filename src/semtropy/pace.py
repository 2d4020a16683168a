"""How many samples go out together: as many as the verdict takes at least, where waiting costs more than sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .evidence import Evidence, JudgedAnswer
from .stopping import Budget, Reason, Rule, Spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .nouns import Estimator
    from .samples import Sample

__all__ = ["IN_PROCESS", "Pace", "samples_until_agreement"]

FARTHEST = 12  # samples ahead that are considered


@dataclass(frozen=True, slots=True)
class Pace:
    """What is known of a model that decides what goes out together.

    together      samples of one round are drawn at the same time, so that a larger round takes no longer
    weighs_answer  the answer comes with its probability under the sampling distribution, which may decide alone; None
                   where that is not known yet
    weighs_samples  samples come with log-probabilities, the end token included or not; None where that is not known yet
    """

    together: bool = True
    weighs_answer: bool | None = None
    weighs_samples: bool | None = None

    def looks_ahead(self, samples: Sequence[Sample], budget: Budget) -> bool:
        """Whether a round should be as large as a verdict takes: samples have no log-probabilities that could decide.

        What the first sample costs is not known, so a limit on cost or tokens keeps the first round small.
        """
        if not self.together:
            return False
        if samples:
            return all(sample.logprob is None for sample in samples)
        return self.weighs_samples is False and budget.tokens is None and budget.cost is None


IN_PROCESS = Pace(together=False, weighs_answer=True, weighs_samples=True)
"""A model in this process: one answer after another, each with its probability."""


def samples_until_agreement(
    estimator: Estimator,
    rule: Rule,
    budget: Budget,
    counts: Sequence[int],
    meaning: int | None,
    *,
    answered: bool,
) -> int | None:
    """The fewest further samples after which the rule stops if all of them agree; None if it does not stop soon.

    counts    samples of each meaning so far
    meaning   the answer's meaning among them, None before there is any
    answered  whether there is an answer to judge

    Fewer samples than these cannot end in a verdict for the answer, so they may as well be drawn at the same time.
    """
    leading = meaning
    if leading is None:
        leading = max(range(len(counts)), key=counts.__getitem__, default=0)
    spent = sum(counts)
    for more in range(1, min(budget.samples - spent, FARTHEST) + 1):
        seen = [*counts, *([0] if leading == len(counts) else [])]
        seen[leading] += more
        judged = JudgedAnswer(leading) if answered and estimator.uses_answer else None
        reason = rule(estimator(Evidence(counts=tuple(seen), answer=judged)), Spent(samples=spent + more))
        if reason is not None and reason is not Reason.DECIDED_HIGH:
            return more
    return None

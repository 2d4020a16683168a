"""What is known after a round of sampling: of the answer as a whole, and of each field of a structured one."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .nouns import Belief, Evidence, Partition, Sample
from .verdict import Meaning, Wording

if TYPE_CHECKING:
    from .stopping import Reason, Spent

__all__ = ["PENDING", "FieldStep", "Step"]

PENDING = Sample("")
"""Stands for an answer that is still on its way: samples are drawn, and a later inquiry begins with them."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after a round.

    question        the prompt
    answer          the judged answer
    samples         the samples drawn so far
    partition       the meaning of each sample
    answer_meaning  the meaning of the answer in `partition`, or `partition.size` where no sample has it; None where
                    it is unknown, as in a recording that does not say
    evidence        what the estimator sees of them
    belief          what it makes of that
    spent           what the check has used so far
    reason          why sampling stopped; None before the last step
    fields          the same for each field of a structured answer; empty for any other
    missing         why there is no answer to judge; None where there is one, or where it is still on its way

    >>> from semtropy import stream
    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 0.5, "Lyon": 0.5})
    >>> [step.spent.samples for step in stream("Capital of France?", model=model, judge="exact", rng=1)][:2]
    [0, 1]
    """

    question: str
    answer: Sample
    samples: tuple[Sample, ...]
    partition: Partition
    answer_meaning: int | None
    evidence: Evidence
    belief: Belief
    spent: Spent
    reason: Reason | None = None
    fields: tuple[FieldStep, ...] = ()
    missing: str | None = None

    def meanings(self) -> tuple[Meaning, ...]:
        """Each meaning with its wordings, in order of first appearance; the answer's is last if no sample has it.

        The answer's own wording counts 0 where no sample has it.
        """
        found = max(self.partition.size, -1 if self.answer_meaning is None else self.answer_meaning + 1)
        wordings: list[Counter[str]] = [Counter() for _ in range(found)]
        for sample, meaning in zip(self.samples, self.partition.meanings, strict=True):
            wordings[meaning][sample.text] += 1
        floors = [*self.evidence.floors, *([0.0] * (found - len(self.evidence.floors)))]
        if self.answer_meaning is not None:  # shown with the others, so that a wrong merge can be seen
            wordings[self.answer_meaning].setdefault(self.answer.text, 0)
        judged = self.evidence.answer
        if judged is not None and judged.logprob is not None and judged.sequence is None:
            floors[judged.meaning] += math.exp(judged.logprob)
        return tuple(
            Meaning(
                text=words.most_common(1)[0][0],
                count=words.total(),
                floor=min(1.0, floor),
                wordings=tuple(Wording(text, count) for text, count in words.most_common()),
                has_answer=number == self.answer_meaning,
            )
            for number, (words, floor) in enumerate(zip(wordings, floors, strict=True))
        )


@dataclass(frozen=True, slots=True)
class FieldStep:
    """What is known of one field of a structured answer: its name and value, and a step about it alone.

    The reason of that step is set where the rule is content with this field.
    """

    name: str
    value: Any
    required: bool
    step: Step

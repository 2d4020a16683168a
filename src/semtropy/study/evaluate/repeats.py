"""Evidence without what `bayes` does not look at, so that a study estimates equal evidence once.

In the two-level model a sequence of known probability that is drawn again says nothing, and neither the order of the
meanings nor that of their sequences matters. Of the evidence along an order of draws, about 40% differs in that only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...nouns import Evidence

__all__ = ["SEE_SEQUENCES", "without_repeats"]

# The methods that see sequences of known probability and not how often they were drawn.
SEE_SEQUENCES = frozenset({"bayes", "agreement"})


def without_repeats(evidence: Evidence) -> Evidence:
    """The evidence with each known sequence drawn once, sequences and meanings in descending order.

    >>> from semtropy import Evidence
    >>> seen = Evidence(counts=(1, 5), floors=(0.2, 0.7), distinct=(1, 1))
    >>> without_repeats(seen).counts, without_repeats(seen).floors
    ((1, 1), (0.7, 0.2))
    """
    if any(evidence.prefix_draws) or evidence.bare_floors:
        return evidence
    logprobs = [sorted(own, reverse=True) for own in evidence.logprobs]
    order = sorted(
        range(len(logprobs)),
        key=lambda j: (logprobs[j], evidence.no_logprob[j], _is_answer(evidence, j)),
        reverse=True,
    )
    answer = evidence.answer
    if answer is not None and answer.meaning < len(order):
        own = evidence.logprobs[answer.meaning]
        place = None if answer.sequence is None else logprobs[answer.meaning].index(own[answer.sequence])
        answer = replace(answer, meaning=order.index(answer.meaning), sequence=place)
    return type(evidence)(
        counts=tuple(len(logprobs[j]) + evidence.no_logprob[j] for j in order),
        floors=tuple(math.fsum(map(math.exp, logprobs[j])) for j in order),
        distinct=tuple(len(logprobs[j]) for j in order),
        no_logprob=tuple(evidence.no_logprob[j] for j in order),
        logprobs=tuple(tuple(logprobs[j]) for j in order),
        answer=answer,
    )


def _is_answer(evidence: Evidence, meaning: int) -> bool:
    return evidence.answer is not None and evidence.answer.meaning == meaning

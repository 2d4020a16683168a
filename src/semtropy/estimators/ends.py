"""Log-probabilities without their end token: the end's probability is modelled, not ignored.

Some providers leave the end token out of their log-probabilities. What they report is then p / e: the probability p of
the whole sequence over that of its end. The model takes one e for all sequences of a question, and a prior for it of
three equally probable values, the quantiles 1/6, 1/2 and 5/6 of the end's probability in training. Given e, the
evidence is complete. Every draw then adds a factor e to the likelihood: a new sequence because the density of p / e is
e times that of p, a repeated one because it was drawn with probability p. The posterior is a mixture over e.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..nouns import Evidence, JudgedAnswer  # noqa: TC001  (fields of a named tuple)

__all__ = ["DEFAULT_ENDS", "EvidenceReading", "fit_ends", "readings"]

DEFAULT_ENDS = (
    0.6,
    0.8,
    0.93,
)  # between short answers of numbers and of names, of a model of 1.5 billion parameters
FEWEST = 10  # training answers with a known end, below which the default is kept
LEAST, MOST = 0.05, 0.999
MOST_TOTAL = 0.98  # of the probabilities found: an end that is too probable must not settle the entropy
EXCESS = 50.0  # log-weight that an e loses per unit by which the probabilities exceed 1


class EvidenceReading(NamedTuple):
    """The evidence under one probability of the end token, and the logarithm of what that weighs."""

    evidence: Evidence
    log_weight: float


def fit_ends(logprobs: Iterable[float]) -> tuple[float, ...]:
    """The quantiles 1/6, 1/2 and 5/6 of the end's probability, from its log-probabilities in training.

    >>> fit_ends([math.log(0.9)] * 20)
    (0.9, 0.9, 0.9)
    """
    known = np.exp(list(logprobs))
    if known.size < FEWEST:
        return DEFAULT_ENDS
    return tuple(np.clip(np.quantile(known, (1 / 6, 1 / 2, 5 / 6)), LEAST, MOST).round(6).tolist())


def readings(evidence: Evidence, ends: Sequence[float]) -> tuple[EvidenceReading, ...]:
    """The evidence as it is where it includes the ends, or under each probability of the end token.

    >>> short = Evidence(counts=(1,), prefix_logprobs=((math.log(0.5),),))
    >>> [(round(e.floors[0], 2), round(w, 2)) for e, w in readings(short, (0.8, 0.9))]
    [(0.4, -0.22), (0.45, -0.11)]
    """
    if not evidence.lacks_ends:
        return (EvidenceReading(evidence, 0.0),)
    return tuple(_reading(evidence, end) for end in ends)


def _reading(evidence: Evidence, end: float) -> EvidenceReading:
    answer, log_end = evidence.answer, math.log(end)
    known = [list(own) for own in evidence.logprobs]
    for own, prefixes in zip(known, evidence.prefix_logprobs, strict=True):
        own.extend(logprob + log_end for logprob in prefixes)
    total = math.fsum(math.exp(logprob) for own in known for logprob in own)
    if answer is not None and answer.prefix_logprob is not None and answer.sequence is None:
        total += math.exp(answer.prefix_logprob + log_end)
    lower = min(0.0, math.log(MOST_TOTAL / total)) if total > 0 else 0.0
    logprobs = tuple(tuple(logprob + lower for logprob in own) for own in known)
    drawn = zip(evidence.no_logprob, evidence.prefix_draws, strict=True)
    whole = replace(
        evidence,
        floors=tuple(math.fsum(map(math.exp, own)) for own in logprobs),
        distinct=tuple(map(len, logprobs)),
        logprobs=logprobs,
        no_logprob=tuple(unknown - prefixed for unknown, prefixed in drawn),
        prefix_logprobs=((),) * len(logprobs),
        prefix_draws=(0,) * len(logprobs),
        answer=None if answer is None else _whole_answer(answer, evidence, log_end + lower),
    )
    return EvidenceReading(whole, sum(evidence.prefix_draws) * log_end - EXCESS * max(total - 1.0, 0.0))


def _whole_answer(answer: JudgedAnswer, evidence: Evidence, shift: float) -> JudgedAnswer:
    if answer.prefix_logprob is None:
        return answer
    place = answer.sequence
    if place is not None:  # prefixes come after the sequences that were known whole
        place += len(evidence.logprobs[answer.meaning])
    return replace(answer, logprob=answer.prefix_logprob + shift, sequence=place, prefix_logprob=None)

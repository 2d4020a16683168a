"""What is known after each round of an inquiry: of the answer as a whole, of its fields, and of its claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..nouns import Agreement, Belief, Distribution, Evidence, Partition, Sample, tails
from ..verdict import Meaning, Outcome, Wording

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..nouns import Floats
    from ..second import Consulted
    from ..stopping import Reason, Spent


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
    claims          what is known of each claim of a long answer; empty for any other
    second          what second models answered; empty where none was asked

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
    claims: tuple[ClaimStep, ...] = ()
    second: tuple[Consulted, ...] = ()

    def meanings(self) -> tuple[Meaning, ...]:
        """Each meaning with its wordings, in order of first appearance; the answer's is last if no sample has it.

        The answer's own wording counts 0 where no sample has it.
        """
        if self.claims:  # samples of a long answer are not grouped as wholes
            return ()
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
class ClaimStep:
    """What is known of one claim of a long answer: its place, its agreement, and what the samples say of it.

    `instead` is the sentence of a sample that contradicts it most; `outcome` is undecided until the samples decide.
    `second` is what second models say of it ("supports", "contradicts", "silent"), and `score` the probability that
    it is right with their word; None where none was asked.
    """

    text: str
    start: int
    end: int
    agreement: Agreement
    supported: int
    contradicted: int
    silent: int
    instead: str | None
    outcome: Outcome
    second: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class FieldStep:
    """What is known of one field of a structured answer: its name and value, and a step about it alone.

    The reason of that step is set where the rule is content with this field.
    """

    name: str
    value: Any
    required: bool
    step: Step


# One field of a structured answer as the sampling loop sees it: its value in the answer and in every sample.


UNPARSED_TEXT = "(unparsed)"
"""The text of every field of a sample that is not JSON."""


INDEPENDENT = 0.5
"""The probability, before any sample, that a value does not depend on uncertain text before it."""


@dataclass(frozen=True, slots=True)
class OwnValues:
    """A field's values with the log-probability of the value's own tokens, given the text before them.

    These are the probabilities of the values, as for a plain answer, if the text before is certain or does not matter.
    Samples whose earlier fields differ from the answer's tell whether it matters.

    answer     its text in the answer, None where the answer is still on its way
    samples    its text in each sample
    certain    whether the text before is nearly certain
    agreeing   among samples with other earlier fields, those that have the answer's value
    differing  and those that have another one
    """

    answer: Sample | None
    samples: tuple[Sample, ...]
    certain: bool
    agreeing: int = 0
    differing: int = 0

    def independence(self, agreement: float) -> float:
        """The probability that the text before does not matter, given the agreement if it does not.

        If it does not, other beginnings have the answer's value as often as any sample, with probability `agreement`.
        If it does, they have it with a probability of which nothing is known, uniform between 0 and 1. Before any such
        sample either is as probable (`INDEPENDENT`).

        >>> own = OwnValues(None, (), certain=False, agreeing=2)
        >>> round(own.independence(1.0), 3), own.independence(0.0)
        (0.75, 0.0)
        """
        if self.certain:
            return 1.0
        k, m = self.agreeing, self.differing
        if (k and agreement <= 0) or (m and agreement >= 1):
            return 0.0
        # Logarithms: the binomial coefficient of many samples is no float any more.
        if_free = math.log(INDEPENDENT)
        if_free += (k * math.log(agreement) if k else 0.0) + (m * math.log1p(-agreement) if m else 0.0)
        if_bound = math.log(1 - INDEPENDENT) - math.log((k + m + 1) * math.comb(k + m, k))
        return 1 / (1 + math.exp(min(if_bound - if_free, 700.0)))


@dataclass(frozen=True, slots=True)
class FieldReading:
    """A field's values: texts with the log-probabilities that bound them, and which of them mean the same.

    name      the keys that lead to it, joined by dots, with the place in a list: "authors[0].name"
    value     its value in the answer as JSON, None where there is none
    required  whether the verdict waits for it
    answer    its text in the answer, None where the answer is still on its way
    samples   its text in each sample
    label     its meaning in the answer, None where the answer is still on its way
    labels    its meaning in each sample; equal labels, equal meanings
    missing   why there is nothing to judge, None where there is
    own       the same values with the log-probabilities of the own tokens of each, None where unknown
    """

    name: str
    value: Any
    required: bool
    answer: Sample | None
    samples: tuple[Sample, ...]
    label: Hashable | None
    labels: tuple[Hashable, ...]
    missing: str | None = None
    own: OwnValues | None = None


@runtime_checkable
class FieldReader(Protocol):
    """A grouping that reads answers with a structure.

    What such answers have in common is less than their text, so that the probabilities of texts are bare lower bounds.
    """

    def missing(self, answer: Sample) -> str | None:
        """Why there is no answer to judge, None where there is one."""
        ...

    def fields(self, answer: Sample | None, samples: Sequence[Sample]) -> Sequence[FieldReading]:
        """The fields of answers that were placed before; none where the answer is judged as a whole."""
        ...


# An answer and its samples with their meanings: what evidence is made from.


@dataclass(frozen=True, slots=True)
class LabelledDraws:
    """The judged answer and the samples, each with a label; equal labels, equal meanings.

    label     the answer's; None where it is still on its way
    question  what they answer

    >>> draws = LabelledDraws(Sample("Rome"), [Sample("Paris")] * 2, "r", ["p", "p"])
    >>> draws.meaning, draws.evidence().counts, draws.evidence(bounds=True).counts
    (1, (2,), (2, 0))
    """

    answer: Sample
    samples: Sequence[Sample]
    label: Hashable | None
    labels: Sequence[Hashable]
    question: str | None = None

    @property
    def partition(self) -> Partition:
        """The meanings of the samples, numbered in order of first appearance."""
        return Partition.of(self.labels)

    @property
    def meaning(self) -> int | None:
        """That of the answer: the number of meanings where no sample has it, None where it is not known yet."""
        partition = self.partition
        numbers = dict(zip(self.labels, partition.meanings, strict=True))
        return None if self.label is None else numbers.get(self.label, partition.size)

    def evidence(self, *, bounds: bool = False, uses_answer: bool = True) -> Evidence:
        """What an estimator sees; with `bounds` the probabilities are bare lower bounds."""
        meaning = self.meaning
        judged = None if meaning is None or (bounds and not uses_answer) else self.answer
        evidence = Evidence.gather(self.samples, self.partition, judged, meaning, self.question)
        return evidence.as_bounds() if bounds else evidence


# A belief over two cases of which one holds: the average of the beliefs in each.


HALVINGS = 50  # of the interval that a quantile lies in


def _quantile(cdf: Callable[[float], float], level: float, low: float, high: float) -> float:
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if cdf(middle) >= level else (middle, high)
    return high


def mixed(one: Belief, other: Belief, weight: float) -> Belief:
    """The belief if `one` holds with probability `weight`, and `other` if it does not.

    Mean and variance are by the laws of total expectation and variance; None where one of the two is.

    >>> belief = mixed(Belief(0.0, 0.1), Belief(1.0, 0.1), 0.5)
    >>> belief.mean, belief.variance
    (0.5, 0.35)
    """
    mean = weight * one.mean + (1 - weight) * other.mean
    variance = None
    if one.variance is not None and other.variance is not None:
        spread = weight * (1 - weight) * (one.mean - other.mean) ** 2
        variance = weight * one.variance + (1 - weight) * other.variance + spread
    distribution = agreement = None
    if one.distribution is not None and other.distribution is not None:
        distribution = _MixedDistribution(one.distribution, other.distribution, weight)
    if one.agreement is not None and other.agreement is not None:
        agreement = _MixedAgreement(one.agreement, other.agreement, weight)
    notes = tuple(dict.fromkeys((*one.notes, *other.notes)))
    unopposed, counted = one.unopposed and other.unopposed, one.counted and other.counted
    return Belief(mean, variance, distribution, notes, agreement, unopposed, counted)


@dataclass(frozen=True, slots=True)
class _MixedDistribution:
    one: Distribution
    other: Distribution
    weight: float

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        return self.weight * self.one.cdf(points) + (1 - self.weight) * self.other.cdf(points)

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`; it lies between the quantiles of both cases."""
        low, high = sorted((self.one.quantile(level), self.other.quantile(level)))
        return _quantile(lambda point: float(self.cdf([point])[0]), level, low, high)


@dataclass(frozen=True, slots=True)
class _MixedAgreement:
    one: Agreement
    other: Agreement
    weight: float

    @property
    def mean(self) -> float:
        return self.weight * self.one.mean + (1 - self.weight) * self.other.mean

    @property
    def rival(self) -> float:
        return self.weight * self.one.rival + (1 - self.weight) * self.other.rival

    def probability_below(self, x: float) -> float:
        """P(agreement < x)."""
        one, other = self.one.probability_below(x), self.other.probability_below(x)
        return self.weight * one + (1 - self.weight) * other

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval, or None where there is no distribution in one case."""
        if self.one.interval(level) is None or self.other.interval(level) is None:
            return None
        low, high = (_quantile(self.probability_below, share, 0.0, 1.0) for share in tails(level))
        return low, high

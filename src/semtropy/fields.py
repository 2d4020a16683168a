"""One field of a structured answer as the sampling loop sees it: its value in the answer and in every sample."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .nouns import Sample

__all__ = ["UNPARSED_TEXT", "FieldReader", "FieldReading", "OwnValues"]

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

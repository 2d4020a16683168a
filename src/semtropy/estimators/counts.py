"""What estimators that see nothing but counts share: equal counts, in whatever order, are computed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count
from typing import ClassVar

import numpy as np

from ..entropy.inputs import LARGEST_SIZE
from ..errors import InputError
from ..evidence import check_replacement, check_sampled
from ..nouns import Belief, Beliefs, Evidence
from ..numeric_checks import shown

__all__ = [
    "DEFAULT_SIZE",
    "UNTRAINED_SIZE",
    "Counts",
    "CountsEstimator",
    "check_size",
    "median_size",
    "sorted_counts",
]

# How often each meaning was drawn, the most frequent first.
Counts = tuple[int, ...]

# The number of meanings K of estimators that need one and were given none.
DEFAULT_SIZE = 10
UNTRAINED_SIZE = f"no number of meanings was given: K = {DEFAULT_SIZE} was taken"


def sorted_counts(evidence: Evidence, method: str) -> Counts:
    """The counts of the evidence, the largest first, without those of 0.

    Draws without replacement are refused, and so is evidence without a sample.

    >>> sorted_counts(Evidence(counts=(1, 3, 2)), "histogram")
    (3, 2, 1)
    """
    check_replacement(method, evidence)
    check_sampled(method, evidence)
    return tuple(sorted(filter(None, evidence.counts), reverse=True))


class CountsEstimator(ABC):
    """An estimator without a variance that is a function of the counts, given as `entropy`."""

    name: ClassVar[str]
    has_variance: ClassVar[bool] = False
    uses_answer: ClassVar[bool] = False

    @abstractmethod
    def entropy(self, counts: Counts) -> float:
        """The estimate in nats."""

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(self.entropy(sorted_counts(evidence, self.name)), notes=self.notes)

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        once = lru_cache(maxsize=None)(self.entropy)
        counts = [sorted_counts(each, self.name) for each in evidences]
        return Beliefs(np.array([once(each) for each in counts], dtype=float), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that every belief carries."""
        return ()


def check_size(size: object) -> None:
    """Refuse a number of meanings K that is not None or a whole number from 1 to 10^12."""
    if size is not None and not (type(size) is int and 1 <= size <= LARGEST_SIZE):
        raise InputError(
            f"size is {shown(size)}: the number of meanings, a whole number from 1 to {LARGEST_SIZE:g}, or None"
        )


def median_size(sizes: Iterable[int]) -> int:
    """The median number of meanings of training questions, rounded up to 2, 5, 10, 20, 50, 100, ...

    Rounded, so that it hardly depends on which questions they are. At least 2: with K = 1 nothing is uncertain.

    >>> median_size([3, 7, 40])
    10
    """
    ordered = sorted(sizes)
    if not ordered:
        return DEFAULT_SIZE
    steps = (step * int(10**power) for power in count() for step in (1, 2, 5))
    return max(2, next(step for step in steps if step >= ordered[len(ordered) // 2]))

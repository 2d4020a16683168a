"""`james-stein`: the entropy of the observed frequencies, shrunk towards equal ones.

J. Hausser and K. Strimmer, "Entropy inference and the James-Stein estimator, with application to nonlinear gene
association networks", Journal of Machine Learning Research 10, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from .counts import DEFAULT_SIZE, UNTRAINED_SIZE, Counts, CountsEstimator, check_size

__all__ = ["JamesStein"]


@dataclass(frozen=True)
class JamesStein(CountsEstimator):
    """The entropy of lam / K + (1 - lam) p over K meanings, p being the observed frequencies.

    lam = (1 - sum p^2) / ((N - 1) sum (1/K - p)^2), clipped to 0 .. 1, minimises the expected squared error of the
    frequencies; 1 after one sample. K must come from elsewhere: a study takes the median number of meanings of its
    training questions, rounded up. More meanings than K raise it.

    size  the number of meanings K; None for 10, with a note

    >>> [round(JamesStein(size).entropy((3, 1, 1)), 6) for size in (5, 20)]
    [1.512954, 2.155117]
    """

    size: int | None = None
    name: ClassVar[str] = "james-stein"

    def __post_init__(self) -> None:
        check_size(self.size)

    def entropy(self, counts: Counts) -> float:
        n = sum(counts)
        size = max(self.size or DEFAULT_SIZE, len(counts))
        p, unseen = np.array(counts) / n, size - len(counts)
        distance = (n - 1) * (float(((1 / size - p) ** 2).sum()) + unseen / size**2)
        lam = min(1.0, (1 - float(p @ p)) / distance) if distance > 0 else 1.0
        shares = lam / size + (1 - lam) * p
        rest = unseen * xlogy(lam / size, lam / size)  # of the meanings without a sample, which are all alike
        return max(0.0, float(-xlogy(shares, shares).sum() - rest))

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.size else (UNTRAINED_SIZE,)

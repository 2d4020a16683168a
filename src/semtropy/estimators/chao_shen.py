"""`chao-shen`: the entropy of the observed frequencies, corrected for the meanings that were not seen.

A. Chao and T.-J. Shen, "Nonparametric estimation of Shannon's index of diversity when there are unseen species in
sample", Environmental and Ecological Statistics 10, 2003.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .counts import Counts, CountsEstimator

__all__ = ["ChaoShen", "coverage_adjusted"]


def coverage_adjusted(counts: Counts, coverage: float) -> float:
    """-sum_j a_j log a_j / (1 - (1 - a_j)^N), a_j = coverage c_j / N: a Horvitz-Thompson sum over the meanings seen.

    Each term is divided by the probability that its meaning is seen at all among N samples.

    >>> round(coverage_adjusted((2, 1, 1), coverage=0.5), 6)
    1.76324
    """
    n = sum(counts)
    shares = coverage * np.array(counts, dtype=float) / n
    with np.errstate(divide="ignore"):
        seen = -np.expm1(n * np.log1p(-np.minimum(shares, 1.0)))
    return max(0.0, float(-(shares * np.log(shares) / seen).sum()))


class ChaoShen(CountsEstimator):
    """The coverage is estimated as C = 1 - f1 / N (Good and Turing), f1 being the number of meanings seen once.

    Where every meaning was seen once, f1 counts as N - 1, as in the R package `entropy`. 0 after one sample.

    >>> [round(ChaoShen().entropy(counts), 6) for counts in [(3, 1, 1), (1, 1, 1), (1,)]]
    [1.489525, 2.460487, 0.0]
    """

    name: ClassVar[str] = "chao-shen"

    def entropy(self, counts: Counts) -> float:
        n, once = sum(counts), counts.count(1)
        if n == 1:
            return 0.0
        return coverage_adjusted(counts, 1 - min(once, n - 1) / n)

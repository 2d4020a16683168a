"""`miller-madow`: the entropy of the observed frequencies with Miller and Madow's correction of its bias.

G. A. Miller, "Note on the bias of information estimates", Information Theory in Psychology, 1955.
"""

from __future__ import annotations

from typing import ClassVar

from .counts import Counts, CountsEstimator
from .histogram import plug_in

__all__ = ["MillerMadow"]


class MillerMadow(CountsEstimator):
    """H + (m - 1) / (2 N), with H the plug-in entropy of m meanings in N samples; 0 after one sample.

    >>> round(MillerMadow().entropy((3, 1, 1)), 6)
    1.150271
    """

    name: ClassVar[str] = "miller-madow"

    def entropy(self, counts: Counts) -> float:
        return plug_in(counts) + (len(counts) - 1) / (2 * sum(counts))

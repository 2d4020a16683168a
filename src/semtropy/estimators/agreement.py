"""Agreement under the two-level model: the posterior of the probability of the judged answer's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..entropy.shares import ShareDistribution, share_distribution
from ..nouns import central_interval

if TYPE_CHECKING:
    from ..entropy.distribution import PosteriorComponent
    from ..entropy.observations import Observations

__all__ = ["PosteriorAgreement"]

DROPPED = 1e-3


@dataclass(frozen=True, eq=False)
class PosteriorAgreement:
    """The agreement of a belief, integrated when it is first asked for: most rounds of a check do not need it."""

    components: Sequence[PosteriorComponent]
    observations: Observations
    meaning: int

    @cached_property
    def _shares(self) -> tuple[ShareDistribution, float]:
        return share_distribution(_heaviest(self.components), self.meaning, self._rival())

    def _rival(self) -> int | None:
        """The meaning besides the answer's that has the most evidence."""
        seen = self.observations
        evidence = seen.floors + seen.no_logprob / (1 + seen.no_logprob.sum())
        evidence[self.meaning] = -1.0
        return int(evidence.argmax()) if evidence.size > 1 else None

    @property
    def mean(self) -> float:
        """The predictive probability of the answer's meaning."""
        return self._shares[0].mean

    @property
    def rival(self) -> float:
        """The predictive probability of the strongest of the other meanings."""
        return self._shares[1]

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval."""
        return central_interval(self._shares[0], level)

    def probability_below(self, x: float) -> float:
        """P(agreement < x); 0 without any integral where the answer's own sequences are more probable than x."""
        if self.observations.floors[self.meaning] >= x:
            return 0.0
        return float(self._shares[0].cdf([x])[0])


def _heaviest(components: Sequence[PosteriorComponent]) -> list[PosteriorComponent]:
    """The components without those of the least weight, `DROPPED` of it in all; their order is kept."""
    weights = np.array([component.weight for component in components])
    ascending = np.argsort(weights, kind="stable")
    least = set(ascending[np.cumsum(weights[ascending]) <= DROPPED * weights.sum()].tolist())
    return [component for i, component in enumerate(components) if i not in least]

"""`semantic-density`: how little of the samples' probability lies near the judged answer.

X. Qiu and R. Miikkulainen, "Semantic density: uncertainty quantification for large language models through confidence
measurement in semantic space", NeurIPS 2024. The published form takes ten beams; here the samples are draws.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .base import SampleScorer
from .related import RelatedLikelihoods

__all__ = ["SemanticDensity"]


class SemanticDensity(SampleScorer):
    """1 - sum_i q_i k_i / sum_i q_i over the distinct texts, q_i = exp(mean token log-probability).

    k_i is one minus the mean over both directions of contradiction plus half of neutral.

    >>> nearness, likelihoods = np.array([1, 0.8875, 0.175]), np.array([0.632456, 0.464159, 0.223607])
    >>> round(1 - SemanticDensity()(RelatedLikelihoods(np.arange(3), nearness, np.log(likelihoods))), 6)
    0.820717
    """

    name: ClassVar[str] = "semantic-density"
    sees: ClassVar[type[RelatedLikelihoods]] = RelatedLikelihoods

    def __call__(self, drawn: RelatedLikelihoods) -> float:
        _, first = np.unique(drawn.texts, return_index=True)
        logs = drawn.logprobs[first]
        weights = np.exp(logs - logs.max())
        return float(1 - (weights @ drawn.nearness[first]) / weights.sum())

"""lm-polygraph: an estimator that reads the samples and semantic classes its `stats` hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, needs
from ..estimators import as_estimator
from ..scoring import score

with needs("lm_polygraph", extra="lm-polygraph"):
    from lm_polygraph.estimators import Estimator

__all__ = ["BayesianSemanticEntropy"]


class BayesianSemanticEntropy(Estimator):
    """The expected semantic entropy of each input, in nats, from lm-polygraph's own samples; higher is less sure.

    estimator  a name (`semtropy.estimators.NAMES`) or an estimator
    prior      the prior of an estimator given by name; default the one that ships
    logprobs   whether `sample_log_probs` are lower bounds of probabilities. They are only where samples are drawn at
               temperature 1 without top-k and top-p; lm-polygraph cuts at the 50 likeliest tokens by default
    """

    def __init__(self, estimator: Any = "bayes", *, prior: Any = None, logprobs: bool = False) -> None:
        self._estimator, self._logprobs = as_estimator(estimator, prior), logprobs
        # the tokens distinguish two tokenisations of one text, and each has its probability
        bounds = ["sample_log_probs", "sample_tokens"] if logprobs else []
        super().__init__(["sample_texts", "semantic_classes_entail", *bounds], "sequence")

    def __str__(self) -> str:
        return f"BayesianSemanticEntropy({self._estimator.name}{', logprobs' if self._logprobs else ''})"

    def __call__(self, stats: dict[str, Any]) -> Any:
        """The entropies of a batch."""
        missing = [name for name in self.stats_dependencies if name not in stats]
        if missing:
            raise InputError(f"stats has no {', '.join(missing)}: {self} needs it")
        return np.array([self._entropy(stats, place) for place in range(len(stats["sample_texts"]))])

    def _entropy(self, stats: dict[str, Any], place: int) -> float:
        texts = list(stats["sample_texts"][place])
        classes = stats["semantic_classes_entail"]["sample_to_class"][place]
        known: dict[str, Any] = {}
        if self._logprobs:
            logprobs, tokens = stats["sample_log_probs"][place], stats["sample_tokens"][place]
            known = {
                "logprobs": [float(each) for each in logprobs],
                "tokens": [list(each) for each in tokens],
            }
        meanings = [classes[sample] for sample in range(len(texts))]
        return score(texts, meanings=meanings, estimator=self._estimator, **known).mean

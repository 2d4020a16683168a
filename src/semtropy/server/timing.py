"""Models, judges and estimators whose time is counted; a wrapper has `asample` exactly where the model has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Belief, Beliefs, Estimator, Evidence, Floats, Judge, Model, Sample
    from .metrics import Metrics

__all__ = ["timed_estimator", "timed_judge", "timed_model"]


class _Timed:
    def __init__(self, model: Any, metrics: Metrics) -> None:
        self.name, self._model, self._metrics = model.name, model, metrics

    def sample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        with self._metrics.timed("sampling"):
            samples: list[Sample] = self._model.sample(prompt, n, **options)
            return samples


class _TimedAwaitable(_Timed):
    async def asample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        with self._metrics.timed("sampling"):
            samples: list[Sample] = await self._model.asample(prompt, n, **options)
            return samples


class _TimedJudge:
    def __init__(self, judge: Judge, metrics: Metrics) -> None:
        self._judge, self._metrics = judge, metrics

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        with self._metrics.timed("judging"):
            return self._judge.entails(batch)


class _TimedEstimator:
    def __init__(self, estimator: Estimator, metrics: Metrics) -> None:
        self.name, self._estimator, self._metrics = estimator.name, estimator, metrics
        self.has_variance = estimator.has_variance

    def __call__(self, evidence: Evidence) -> Belief:
        with self._metrics.timed("estimating"):
            return self._estimator(evidence)

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        with self._metrics.timed("estimating"):
            return self._estimator.batch(evidences)


def timed_model(model: Model, metrics: Metrics) -> Model:
    """The model, its draws timed."""
    return (_TimedAwaitable if hasattr(model, "asample") else _Timed)(model, metrics)


def timed_judge(judge: Judge, metrics: Metrics) -> Judge:
    """The judge, its calls timed."""
    return _TimedJudge(judge, metrics)


def timed_estimator(estimator: Estimator, metrics: Metrics) -> Estimator:
    """The estimator, its beliefs timed."""
    return _TimedEstimator(estimator, metrics)

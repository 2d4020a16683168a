"""What checks are made with: judges, estimators and terms, loaded once and chosen from by each request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ..calibration import Calibration
from ..check import VARIANCE
from ..errors import InputError
from ..estimators import Prior, load_estimator
from ..inquiry import Terms
from ..meaning import load_judge
from ..nouns import Evidence
from ..stopping import Budget, Decided, FixedSamples, Rounds, Rule, VarianceBelow
from .options import OPEN_JUDGES

if TYPE_CHECKING:
    from ..inquiry import Calibrated
    from ..nouns import Estimator, Judge
    from .options import Choices
    from .settings import Settings

__all__ = ["Kit", "described"]


@dataclass
class Kit:
    """Judges and estimators by name; loading is lazy and once."""

    settings: Settings
    default_judge: Judge | None = None
    judges: dict[str, Judge] = field(default_factory=dict)
    estimators: dict[str, Estimator] = field(default_factory=dict)
    prior: Prior | None = None
    calibration: Calibration | None = None
    _has_variance: dict[str, bool] = field(default_factory=dict)

    def load(self) -> None:
        """Load what every check needs; errors name what is missing before the first request does."""
        settings = self.settings
        if settings.prior is not None and self.prior is None:
            self.prior = Prior.load(settings.prior)
        if settings.calibration is not None and self.calibration is None:
            self.calibration = Calibration.load(settings.calibration)
        if self.default_judge is None:
            self.default_judge = load_judge(settings.judge)
        self.estimator(settings.estimator)

    def judge(self, name: str | None) -> Judge:
        """The judge a request names, or the operator's."""
        if name is None or name == self.settings.judge:
            if self.default_judge is None:
                self.default_judge = load_judge(self.settings.judge)
            return self.default_judge
        if name not in OPEN_JUDGES:
            raise InputError(f"judge is {name!r}: choose one of {', '.join(OPEN_JUDGES)}")
        if name not in self.judges:
            self.judges[name] = load_judge(name)
        return self.judges[name]

    def estimator(self, name: str) -> Estimator:
        """The estimator of that name; the operator's prior belongs to the operator's estimator."""
        if name not in self.estimators:
            mine = self.prior is not None and name == self.settings.estimator
            made = load_estimator(name, **({"prior": self.prior} if mine else {}))
            steady = made(Evidence(counts=(1,), floors=(0.5,), length_weights=(0.5,)))
            self._has_variance[name], self.estimators[name] = steady.variance is not None, made
        return self.estimators[name]

    def terms(self, choices: Choices) -> Terms:
        """The terms of a check: what the request chose, within the operator's limits."""
        settings = self.settings
        estimator = self.estimator(choices.estimator or settings.estimator)
        threshold = choices.threshold or settings.threshold
        asked = choices.budget
        budget = Budget(
            samples=min(settings.max_samples, (asked and asked.samples) or settings.max_samples),
            tokens=asked.tokens if asked else None,
            seconds=min(settings.max_seconds, (asked and asked.seconds) or settings.max_seconds),
        )
        # A curve says which beliefs to flag; a request that sets its own threshold leaves it aside.
        calibration = self.calibration if choices.threshold is None else None
        return Terms(
            estimator,
            self._rule(choices, estimator, threshold, budget),
            budget,
            Rounds(growth=1.0) if choices.one_by_one else None,
            threshold=threshold,
            calibration=cast("Calibrated | None", calibration),
        )

    def _rule(self, choices: Choices, estimator: Estimator, threshold: float, budget: Budget) -> Rule:
        rule, settings = choices.rule, self.settings
        if rule is not None and rule.samples is not None:
            return FixedSamples(min(rule.samples, budget.samples))
        if not self._has_variance[estimator.name]:
            if rule is not None:
                raise InputError(
                    f"the estimator {estimator.name} has no variance to stop on: use rule.samples"
                )
            return FixedSamples(budget.samples)
        if rule is not None and rule.variance is not None:
            return VarianceBelow(rule.variance)
        if rule is not None and rule.confidence is not None:
            return Decided(threshold, rule.confidence)
        if settings.confidence is not None:
            return Decided(threshold, settings.confidence)
        return VarianceBelow(VARIANCE if settings.variance is None else settings.variance)


def described(terms: Terms) -> dict[str, Any]:
    """The terms as plain data, for a page to show."""
    rule: dict[str, Any] = {"kind": type(terms.rule).__name__}
    for name in ("gamma", "threshold", "confidence", "n"):
        if hasattr(terms.rule, name):
            rule[name] = getattr(terms.rule, name)
    return {
        "estimator": terms.estimator.name,
        "rule": rule,
        "samples": terms.budget.samples,
        "threshold": terms.threshold,
    }

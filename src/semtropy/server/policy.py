"""The terms of a check: what a request asks for, within the operator's settings. Judges and estimators load once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ..calibration import Calibration
from ..errors import InputError
from ..estimators import Prior, load_estimator
from ..inquiry import Terms
from ..meaning import load_judge
from ..meaning.optional import hand_on
from ..stopping import (
    LEAST_CONFIDENCE,
    RELAXATION,
    Budget,
    Decided,
    FixedSamples,
    Rounds,
    Rule,
    VarianceBelow,
)
from .schemas import OPEN_JUDGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..inquiry import Calibrated
    from ..nouns import Estimator, Floats, Judge, Model
    from .schemas import CheckOptions
    from .settings import Settings

__all__ = ["JUDGED_CHARACTERS", "BoundedJudge", "Policy", "terms_to_json"]

JUDGED_CHARACTERS = 1000
"""Longer answers are compared by their beginning and end: the time of a judge grows faster than the text."""


@dataclass
class Policy:
    """Which judge, estimator, rule and budget a check gets."""

    settings: Settings
    default_judge: Judge | None = None
    judges: dict[str, Judge] = field(default_factory=dict)
    estimators: dict[str, Estimator] = field(default_factory=dict)
    prior: Prior | None = None
    calibration: Calibration | None = None

    def load(self) -> None:
        """Load what every check needs, so that a missing part is reported at the start."""
        settings = self.settings
        if settings.prior is not None and self.prior is None:
            self.prior = Prior.load(settings.prior)
        if settings.calibration is not None and self.calibration is None:
            self.calibration = Calibration.load(settings.calibration)
        if self.default_judge is None and settings.judge != "llm":
            self.default_judge = load_judge(settings.judge)
        self.estimator(settings.estimator)

    def judge(self, name: str | None, model: Model) -> Judge:
        """The judge a request names, or the operator's default; it never sees a long answer in full.

        The judge "llm" asks `model`, the one that answers the request, with the key of its client.
        """
        return BoundedJudge(self._judge(name, model))

    def _judge(self, name: str | None, model: Model) -> Judge:
        if name is None or name == self.settings.judge:
            if self.default_judge is None and self.settings.judge == "llm":
                return load_judge("llm", model=getattr(model, "plain", model))
            if self.default_judge is None:
                self.default_judge = load_judge(self.settings.judge)
            return self.default_judge
        if name not in OPEN_JUDGES:
            raise InputError(f"judge is {name!r}: choose one of {', '.join(OPEN_JUDGES)}")
        if name not in self.judges:
            self.judges[name] = load_judge(name)
        return self.judges[name]

    def estimator(self, name: str) -> Estimator:
        """The estimator of that name; the operator's prior is only for the operator's estimator."""
        if name not in self.estimators:
            mine = self.prior is not None and name == self.settings.estimator
            self.estimators[name] = load_estimator(name, **({"prior": self.prior} if mine else {}))
        return self.estimators[name]

    def terms(self, options: CheckOptions) -> Terms:
        """The terms of a check: the request's options within the operator's limits."""
        settings = self.settings
        estimator = self.estimator(options.estimator or settings.estimator)
        threshold = options.threshold or settings.threshold
        asked = options.budget
        budget = Budget(
            samples=settings.max_samples
            if asked is None or asked.samples is None
            else min(settings.max_samples, asked.samples),
            tokens=asked.tokens if asked else None,
            seconds=min(settings.max_seconds, (asked and asked.seconds) or settings.max_seconds),
        )
        # The calibration decides which beliefs to flag, unless the request sets its own threshold.
        calibration = self.calibration if options.threshold is None else None
        return Terms(
            estimator,
            self._rule(options, estimator, threshold, budget),
            budget,
            Rounds(growth=1.0) if options.one_by_one else None,
            threshold=threshold,
            calibration=cast("Calibrated | None", calibration),
        )

    def _rule(self, options: CheckOptions, estimator: Estimator, threshold: float, budget: Budget) -> Rule:
        rule, settings = options.rule, self.settings
        if rule is not None and rule.samples is not None and budget.samples:
            return FixedSamples(min(rule.samples, budget.samples))
        if not estimator.has_variance:
            if rule is not None:
                raise InputError(
                    f"the estimator {estimator.name} has no variance to stop on: use rule.samples"
                )
            return FixedSamples(max(1, budget.samples))
        if rule is not None and rule.variance is not None:
            return VarianceBelow(rule.variance)
        if rule is not None and rule.confidence is not None:
            return Decided(threshold, rule.confidence)
        if settings.variance is not None:
            return VarianceBelow(settings.variance)
        if settings.confidence is not None:
            return Decided(threshold, settings.confidence)
        return Decided(threshold, relaxation=RELAXATION)


class BoundedJudge:
    """A judge that is given the beginning and end of texts above `limit` characters."""

    def __init__(self, judge: Judge, limit: int = JUDGED_CHARACTERS) -> None:
        self._judge, self._limit = judge, limit
        hand_on(judge, self)

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        return self._judge.entails([(self._cut(q), self._cut(a), self._cut(b)) for q, a, b in batch])

    def _cut(self, text: str) -> str:
        half = self._limit // 2
        return text if len(text) <= self._limit else f"{text[:half]} ... {text[-half:]}"


def terms_to_json(terms: Terms) -> dict[str, Any]:
    """The terms as plain data, for the page."""
    rule: dict[str, Any] = {"kind": type(terms.rule).__name__}
    for name in ("gamma", "threshold", "confidence", "relaxation", "n"):
        if hasattr(terms.rule, name):
            rule[name] = getattr(terms.rule, name)
    if isinstance(terms.rule, Decided):
        rule["least"] = LEAST_CONFIDENCE
    return {
        "estimator": terms.estimator.name,
        "rule": rule,
        "samples": terms.budget.samples,
        "threshold": terms.threshold,
    }

"""What a request may ask for, and the terms of its check within the operator's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..errors import InputError
from ..inquiry.loop import Terms
from ..second import Consultation
from ..stopping import (
    CONFIDENCE,
    LEAST_CONFIDENCE,
    RELAXATION,
    Budget,
    Decided,
    FixedSamples,
    Rounds,
    Rule,
    rule_of,
)
from .errors import Problem
from .instruments import BoundedJudge

if TYPE_CHECKING:
    from ..nouns import Estimator, Judge, Model
    from ..stopping import Calibrated
    from .instruments import Instruments, Tenant
    from .schemas import CheckOptions
    from .settings import Settings


# What a request may change: nothing that is locked, and nothing looser than the settings unless that is allowed.


_STRICTNESS = {"off": 0, "annotate": 1, "trim": 2, "block": 3}


def _forbidden(why: str) -> Problem:
    return Problem(403, f"semtropy: {why}", "permission_error")


def _looser(options: CheckOptions, settings: Settings) -> Iterator[tuple[str, str]]:
    """Every option that makes the check less strict, and in which way."""
    mode, threshold, budget = options.mode, options.threshold, options.budget
    if mode is not None and _STRICTNESS[mode] < _STRICTNESS[settings.mode]:
        yield "mode", f"mode {mode} is less strict than {settings.mode}"
    if threshold is not None and settings.calibration is not None:
        yield "threshold", "a threshold would replace the operator's calibration"
    elif threshold is not None and threshold > settings.threshold:
        yield "threshold", f"threshold {threshold:g} flags less than {settings.threshold:.4g}"
    if budget is not None and budget.samples is not None and budget.samples < settings.max_samples:
        yield "budget", f"budget.samples {budget.samples} is below {settings.max_samples}"
    if budget is not None and budget.seconds is not None and budget.seconds < settings.max_seconds:
        yield "budget", f"budget.seconds {budget.seconds:g} is below {settings.max_seconds:g}"
    if budget is not None and budget.tokens is not None:
        yield "budget", "budget.tokens is a limit that the operator does not set"
    if options.rule is not None and (why := _looser_rule(options, settings)) is not None:
        yield "rule", why
    if options.estimator not in (None, settings.estimator):
        yield "estimator", f"estimator {options.estimator} is not the operator's"
    if options.judge not in (None, settings.judge):
        yield "judge", f"judge {options.judge} is not the operator's"
    if options.choices is not None or options.required is not None:
        yield "fields", "choices and required change what is compared"


def _looser_rule(options: CheckOptions, settings: Settings) -> str | None:
    """Why a rule may stop earlier than the operator's; None where it cannot."""
    rule = options.rule
    assert rule is not None
    if rule.samples is not None:
        few = rule.samples < settings.max_samples
        return f"rule.samples {rule.samples} is below {settings.max_samples}" if few else None
    if rule.variance is not None:
        if settings.variance is None:
            return "rule.variance is not the kind of rule that the operator set"
        more = rule.variance > settings.variance
        return f"rule.variance {rule.variance:g} is above {settings.variance:g}" if more else None
    if settings.variance is not None or rule.confidence is None:
        return "rule.confidence is not the kind of rule that the operator set"
    asked = settings.confidence or CONFIDENCE
    return f"rule.confidence {rule.confidence:g} is below {asked:g}" if rule.confidence < asked else None


def _out_of_bounds(options: CheckOptions, settings: Settings) -> Iterator[str]:
    threshold, most = options.threshold, settings.max_threshold
    if threshold is not None and most is not None and threshold > most:
        yield f"threshold {threshold:g} is above the operator's limit {most:g}"
    budget = None if options.budget is None else options.budget.samples
    fixed = None if options.rule is None else options.rule.samples
    for samples in (budget, fixed):
        if samples is not None and samples < settings.min_samples:
            yield f"{samples} samples are fewer than the operator's limit {settings.min_samples}"
    confidence = None if options.rule is None else options.rule.confidence
    least = settings.min_confidence
    if confidence is not None and least is not None and confidence < least:
        yield f"rule.confidence {confidence:g} is below the operator's limit {least:g}"


class Policy:
    """What a request may ask for, and the terms that its check gets."""

    def __init__(self, settings: Settings, instruments: Instruments) -> None:
        self.settings, self.instruments = settings, instruments

    def permit(self, options: CheckOptions) -> None:
        """Refuse a request that sets what is locked, or whose check would be less strict than the settings allow.

        Bounds hold even where an option may be loosened.
        """
        settings, fields = self.settings, options.choices if options.required is None else options.required
        for name in settings.locked:
            if (fields if name == "fields" else getattr(options, name)) is not None:
                raise _forbidden(f"{name} is locked by the operator: leave it out")
        for name, why in _looser(options, settings):
            if name not in settings.may_loosen:
                raise _forbidden(f"{why}, and this gateway lets no request loosen {name}")
        for why in _out_of_bounds(options, settings):
            raise _forbidden(why)

    async def prepare(self, options: CheckOptions, model: Model) -> None:
        """Load what the options name, which may take a while, and refuse what cannot be met."""
        self.permit(options)
        await asyncio.to_thread(lambda: (self.judge(options.judge, model), self.terms(options)))

    def judge(self, name: str | None, model: Model) -> Judge:
        """The judge a request names, or the operator's default; it never sees a long answer in full."""
        return BoundedJudge(self.instruments.judge(name, model))

    def terms(self, options: CheckOptions, model: str | None = None, tenant: Tenant | None = None) -> Terms:
        """The terms of a check: the request's options, which must be permitted, within the operator's limits.

        model   the model that is asked, whose prior may be learned
        tenant  who asks: where answers are withheld, nobody else's questions teach that prior
        """
        self.permit(options)
        terms, second = self.what_if(options, model, tenant), self.instruments.second
        if second is None:
            return terms
        asked = Consultation(((second.name, None),), terms.budget.samples)
        return replace(terms, budget=replace(terms.budget, samples=asked.own_samples), second=asked)

    def what_if(self, options: CheckOptions, model: str | None = None, tenant: Tenant | None = None) -> Terms:
        """The terms for samples that the client has already: nothing is withheld, so that it may try any of them."""
        settings = self.settings
        estimator = self.instruments.estimator(options.estimator or settings.estimator, model, tenant)
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
        calibration = self.instruments.calibration if options.threshold is None else None
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
        asked = settings if rule is None or rule.samples is not None else rule
        chosen = rule_of(threshold, asked.variance, asked.confidence)
        return Decided(threshold, relaxation=RELAXATION) if chosen is None else chosen


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

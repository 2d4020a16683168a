"""What a request may change: nothing that is locked, and nothing looser than the settings unless that is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..stopping import CONFIDENCE
from .errors import Problem

if TYPE_CHECKING:
    from .schemas import CheckOptions
    from .settings import Settings

__all__ = ["forbid_locked", "forbid_looser"]

_STRICTNESS = {"off": 0, "annotate": 1, "block": 2}


def forbid_locked(options: CheckOptions, settings: Settings) -> None:
    """Refuse a request that sets an option which the operator has locked."""
    given = {
        "mode": options.mode,
        "threshold": options.threshold,
        "rule": options.rule,
        "budget": options.budget,
        "estimator": options.estimator,
        "judge": options.judge,
        "fields": options.choices if options.required is None else options.required,
    }
    for name in settings.locked:
        if given[name] is not None:
            raise Problem(
                403, f"semtropy: {name} is locked by the operator: leave it out", "permission_error"
            )


def forbid_looser(options: CheckOptions, settings: Settings) -> None:
    """Refuse a request whose check would be less strict than the settings, as far as these do not allow it.

    Bounds hold even where an option may be loosened.
    """
    forbid_locked(options, settings)
    allowed = settings.may_loosen
    for name, why in _looser(options, settings):
        if name not in allowed:
            raise Problem(
                403, f"semtropy: {why}, and this gateway lets no request loosen {name}", "permission_error"
            )
    for why in _out_of_bounds(options, settings):
        raise Problem(403, f"semtropy: {why}", "permission_error")


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

"""When to stop sampling: rules, hard budgets, reasons; pure functions of the belief and what was spent.

A stored run can therefore be replayed under another rule without asking the model again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .errors import InputError

if TYPE_CHECKING:
    from .nouns import Belief

__all__ = ["Budget", "Decided", "FixedSamples", "Price", "Reason", "Rounds", "Rule", "Spent", "VarianceBelow"]


class Reason(StrEnum):
    """Why sampling stopped, as a sentence; `firm` tells a firm belief from a limit that was hit.

    >>> print(Reason.VARIANCE)
    The belief is firm: the variance of the entropy is down to what was asked for.
    >>> Reason.SAMPLES.firm
    False
    """

    VARIANCE = "The belief is firm: the variance of the entropy is down to what was asked for."
    SURELY_HIGH = "The belief is firm: the entropy is surely above the threshold."
    SURELY_LOW = "The belief is firm: the entropy is surely below the threshold."
    FIXED = "The number of samples asked for was drawn."
    SAMPLES = "The budget of samples is spent: more samples would make the belief firmer."
    TOKENS = "The budget of tokens is spent: a larger one would make the belief firmer."
    SECONDS = "The time allowed is over: more time would make the belief firmer."
    COST = "The money allowed is spent: a larger budget would make the belief firmer."
    EXHAUSTED = "The model has no more answers to give, as at the end of a recording."
    INTERRUPTED = "Interrupted: this is what was known by then."

    @property
    def firm(self) -> bool:
        """Whether a rule was satisfied, rather than a limit hit."""
        return self in (Reason.VARIANCE, Reason.SURELY_HIGH, Reason.SURELY_LOW, Reason.FIXED)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a check has used so far. `tokens` is None where the model does not count them.

    `samples` are the draws that estimate the entropy; the answer beside them adds to `tokens` only.
    """

    samples: int = 0
    rounds: int = 0
    tokens: int | None = 0
    judge_calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """What a model charges, in any currency: for each sample (its prompt) and each generated token.

    >>> Price(per_sample=0.0002, per_token=0.00001).of(Spent(samples=9, tokens=100))
    0.003
    """

    per_sample: float = 0.0
    per_token: float = 0.0

    def of(self, spent: Spent) -> float:
        """The money `spent` stands for; the answer judged is one more sample."""
        return self.per_sample * (spent.samples + 1) + self.per_token * (spent.tokens or 0)


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits; None is no limit. A limit on `cost` needs the `price`.

    Tokens and money are known only after a draw, so a round is never larger than what is left buys at the
    average paid so far.

    >>> Budget(samples=10).room(Spent(samples=7))
    3
    >>> Budget(samples=10, tokens=100).room(Spent(samples=4, tokens=80))
    1
    >>> Budget(samples=10, tokens=100).exhausted(Spent(samples=4, tokens=90)).name
    'TOKENS'
    """

    samples: int = 10
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise InputError(f"budget: samples is {self.samples}: at least one sample is needed")
        for name in ("tokens", "seconds", "cost"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"budget: {name} is {value}: give a positive limit, or None for no limit")
        if self.cost is not None and self.price is None:
            raise InputError("budget: a limit on cost needs price=Price(per_sample=..., per_token=...)")

    def exhausted(self, spent: Spent) -> Reason | None:
        """Which limit forbids another sample, if any."""
        if spent.samples >= self.samples:
            return Reason.SAMPLES
        if self.seconds is not None and spent.seconds >= self.seconds:
            return Reason.SECONDS
        if self._affordable(self.tokens, float(spent.tokens or 0), spent) < 1:
            return Reason.TOKENS
        if self.price is not None and self._affordable(self.cost, self.price.of(spent), spent) < 1:
            return Reason.COST
        return None

    def room(self, spent: Spent) -> int:
        """How many more samples every limit allows."""
        limits = [
            float(self.samples - spent.samples),
            self._affordable(self.tokens, float(spent.tokens or 0), spent),
        ]
        if self.price is not None:
            limits.append(self._affordable(self.cost, self.price.of(spent), spent))
        return max(0, int(min(limits)))

    @staticmethod
    def _affordable(limit: float | None, used: float, spent: Spent) -> float:
        if limit is None or spent.samples == 0 or used <= 0:
            return math.inf
        # The answer judged was paid for as well: one more draw than the samples.
        return math.floor((limit - used) / (used / (spent.samples + 1)) + 1e-9)


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many samples go out together: `first`, then rounds that multiply the total by `growth`.

    One by one is the fewest samples; growing rounds wait for the model less often.

    >>> rounds, total, totals = Rounds(), 0, []
    >>> while total < 10:
    ...     total += rounds.size(Spent(samples=total)); totals.append(total)
    >>> totals
    [1, 2, 3, 5, 8, 12]
    """

    first: int = 1
    growth: float = 1.5

    def __post_init__(self) -> None:
        if self.first < 1 or self.growth < 1:
            raise InputError(f"rounds: first is {self.first}, growth is {self.growth}: both are at least 1")

    def size(self, spent: Spent) -> int:
        """The size of the next round, before any budget cuts it."""
        if spent.samples < self.first:
            return self.first - spent.samples
        return max(1, math.ceil(spent.samples * (self.growth - 1) - 1e-9))


@runtime_checkable
class Rule(Protocol):
    """Belief and spending in, a reason to stop or None out."""

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None: ...


@dataclass(frozen=True, slots=True)
class VarianceBelow:
    """The paper's rule: sample on while the variance of the entropy is above `gamma`.

    >>> from semtropy import Belief
    >>> VarianceBelow(0.05)(Belief(0.4, 0.04), Spent(samples=3)).name
    'VARIANCE'
    """

    gamma: float

    def __post_init__(self) -> None:
        if not self.gamma >= 0:
            raise InputError(f"gamma is {self.gamma}: a variance in squared nats, 0 or more")

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None:
        if belief.variance is None:
            raise InputError(
                "this estimator has no variance to stop on: use FixedSamples(n), or the estimator bayes"
            )
        return Reason.VARIANCE if belief.variance <= self.gamma else None


@dataclass(frozen=True, slots=True)
class Decided:
    """Stop as soon as the entropy is above, or below, `threshold` with probability `confidence`."""

    threshold: float
    confidence: float = 0.9

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise InputError(f"threshold is {self.threshold}: an entropy in nats, above 0")
        if not 0.5 < self.confidence < 1:
            raise InputError(f"confidence is {self.confidence}: a probability between 0.5 and 1")

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None:
        if belief.distribution is not None and belief.variance is not None:
            # Cantelli's inequality: far from the threshold, mean and variance prove it without a distribution.
            off = belief.mean - self.threshold
            if off**2 * (1 - self.confidence) >= self.confidence * belief.variance and off != 0:
                return Reason.SURELY_HIGH if off > 0 else Reason.SURELY_LOW
        above = belief.probability_above(self.threshold)
        if above is None:
            raise InputError("this estimator has no distribution to decide on: use FixedSamples(n), or bayes")
        if above >= self.confidence:
            return Reason.SURELY_HIGH
        return Reason.SURELY_LOW if above <= 1 - self.confidence else None


@dataclass(frozen=True, slots=True)
class FixedSamples:
    """Stop after `n` samples whatever they say, as every method without a variance must."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 1:
            raise InputError(f"n is {self.n}: at least one sample is needed")

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None:
        return Reason.FIXED if spent.samples >= self.n else None

"""Stopping rules, budgets and reasons: pure functions of the belief and of what was spent.

A stored run can therefore be replayed with another rule, without the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .errors import InputError
from .numeric_checks import is_number, is_whole

if TYPE_CHECKING:
    from .nouns import Belief


class Reason(StrEnum):
    """Why sampling stopped, as a sentence; `firm` tells a satisfied rule from a limit that was reached.

    >>> print(Reason.VARIANCE)
    Stopped: the entropy is known as precisely as the rule asks for.
    >>> Reason.SAMPLES.firm
    False
    """

    VARIANCE = "Stopped: the entropy is known as precisely as the rule asks for."
    DECIDED_HIGH = "Stopped: further samples would hardly lift the suspicion."
    DECIDED_LOW = "Stopped: further samples would hardly cast doubt on the answer."
    FIXED = "Stopped: the requested number of samples was drawn."
    STORED = "All stored samples were used."
    NO_ANSWER = "Stopped: there is no answer to judge."
    SAMPLES = "Stopped: the limit on samples was reached. A higher limit would give a more certain verdict."
    TOKENS = "Stopped: the limit on tokens was reached. A higher limit would give a more certain verdict."
    SECONDS = "Stopped: the time limit was reached. A longer one would give a more certain verdict."
    COST = "Stopped: the limit on cost was reached. A higher limit would give a more certain verdict."
    UNDECIDABLE = "Stopped: more samples of the whole answer are unlikely to decide further claims."
    EXHAUSTED = "Stopped: the model returned no further samples."
    INTERRUPTED = "Interrupted: the verdict rests on the samples drawn until then."

    @property
    def firm(self) -> bool:
        """Whether sampling ended as planned, rather than at a limit."""
        return self in _FIRM


_FIRM = frozenset(
    {
        Reason.VARIANCE,
        Reason.DECIDED_HIGH,
        Reason.DECIDED_LOW,
        Reason.FIXED,
        Reason.STORED,
        Reason.NO_ANSWER,
    }
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a check has used so far.

    samples      draws that estimate the entropy; the judged answer is not one of them
    rounds       requests for samples
    tokens       generated tokens, those of an answer that was drawn included; None where the model does not count them
    judge_calls  pairs of answers that the judge compared
    seconds      time since the start
    answers      answers drawn to be judged: 0 where the answer was given

    >>> Spent(samples=3, rounds=2).samples
    3
    """

    samples: int = 0
    rounds: int = 0
    tokens: int | None = 0
    judge_calls: int = 0
    seconds: float = 0.0
    answers: int = 1

    @property
    def draws(self) -> int:
        """Everything that was generated: samples, and the answer unless it was given."""
        return self.samples + self.answers


@dataclass(frozen=True, slots=True)
class Price:
    """What a model charges, in any currency.

    per_sample  for each sample, which is the price of its prompt
    per_token   for each generated token

    >>> Price(per_sample=0.0002, per_token=0.00001).of(Spent(samples=9, tokens=100))
    0.003
    """

    per_sample: float = 0.0
    per_token: float = 0.0

    def __post_init__(self) -> None:
        for name in ("per_sample", "per_token"):
            value = getattr(self, name)
            if not (is_number(value) and 0 <= value < math.inf):
                raise InputError(f"price: {name} is {value}: an amount of money, 0 or more")

    def of(self, spent: Spent) -> float:
        """The money `spent` stands for; an answer that was drawn is one more sample."""
        return self.per_sample * spent.draws + self.per_token * (spent.tokens or 0)


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits on a check; None means no limit.

    samples  number of samples, not counting the answer; with 0 the verdict rests on the answer's log-probability
    tokens   number of generated tokens
    seconds  time in seconds
    cost     amount of money, which needs `price`
    price    what the model charges

    Tokens and cost are known only after a draw, so a round never has more samples than the remaining budget buys at
    the average cost so far.

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
        if not is_whole(self.samples) or self.samples < 0:
            raise InputError(
                f"budget: samples is {self.samples!r}: a whole number, 0 (judge the answer alone) or more"
            )
        for name in ("tokens", "seconds", "cost"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value > 0):
                raise InputError(f"budget: {name} is {value}: a limit must be positive")
        if self.price is not None and not isinstance(self.price, Price):
            raise InputError(f"budget: price is {self.price!r}: give Price(per_sample=..., per_token=...)")
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
        limits: list[float] = [
            self.samples - spent.samples,
            self._affordable(self.tokens, float(spent.tokens or 0), spent),
        ]
        if self.price is not None:
            limits.append(self._affordable(self.cost, self.price.of(spent), spent))
        return max(0, int(min(limits)))

    @staticmethod
    def _affordable(limit: float | None, used: float, spent: Spent) -> float:
        if limit is None or limit == math.inf or used <= 0 or spent.samples == spent.rounds == 0:
            return math.inf
        if used >= limit:
            return 0
        each = used / max(1, spent.draws)
        many = (limit - used) / each if each > 0 else math.inf
        return math.inf if many == math.inf else math.floor(many + 1e-9)


LARGEST_ROUND = 1e9


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many samples are requested together.

    first   samples of the first round
    growth  each further round multiplies the number of samples so far by this

    Rounds of one sample need the fewest samples; growing rounds wait for the model less often.

    >>> rounds, total, totals = Rounds(), 0, []
    >>> while total < 10:
    ...     total += rounds.size(Spent(samples=total)); totals.append(total)
    >>> totals
    [1, 2, 3, 5, 8, 12]
    """

    first: int = 1
    growth: float = 1.5

    def __post_init__(self) -> None:
        if not (is_whole(self.first) and self.first >= 1 and is_number(self.growth) and self.growth >= 1):
            raise InputError(f"rounds: first is {self.first}, growth is {self.growth}: both are at least 1")

    def size(self, spent: Spent) -> int:
        """The size of the next round, before any budget cuts it."""
        if spent.samples < self.first:
            return self.first - spent.samples
        return max(1, math.ceil(min(spent.samples * (self.growth - 1) - 1e-9, LARGEST_ROUND)))


@runtime_checkable
class Rule(Protocol):
    """Takes the belief and what was spent; returns a reason to stop, or None to continue."""

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None: ...


@dataclass(frozen=True, slots=True)
class VarianceBelow:
    """The paper's rule: continue while the variance of the entropy is above `gamma`.

    gamma  the required variance, in squared nats

    >>> from semtropy import Belief
    >>> VarianceBelow(0.05)(Belief(0.4, 0.04), Spent(samples=3)).name
    'VARIANCE'
    """

    gamma: float

    def __post_init__(self) -> None:
        if not (is_number(self.gamma) and self.gamma >= 0):
            raise InputError(f"gamma is {self.gamma}: a variance in squared nats, 0 or more")

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None:
        if belief.variance is None:
            raise InputError(
                "this estimator has no variance to stop on: use FixedSamples(n), or the estimator bayes"
            )
        _check_finite(belief)
        return Reason.VARIANCE if belief.variance <= self.gamma else None


CONFIDENCE = 0.95
"""The probability at which a verdict counts as decided."""

LEAST_CONFIDENCE = 0.85
"""What a relaxed rule still asks for."""

RELAXATION = 0.01
"""How much less the default rule asks for with every sample."""

LEAST_STEADY, LEAST_FLAGGED = 3, 2
"""The samples that a verdict for or against the answer takes at least where no log-probability is known.

One sample may agree or disagree by chance. Of answers made up from four, a sixteenth is repeated twice.
"""


LEAST_VARIANCE = 1e-9
"""How far below 0 the variance of an estimator may be by rounding."""


CLAIMS = "claims"
"""The estimator of a calibration that is about claims of long answers: one minus their agreement."""


class Calibrated(Protocol):
    """Turns a belief into the probability that the answer is made up; `flags` is None where it has no threshold."""

    @property
    def estimator(self) -> str: ...

    def __call__(self, belief: Belief) -> float: ...

    def flags(self, belief: Belief) -> bool | None: ...


def calibrated_flag(calibration: Calibrated, belief: Belief) -> bool:
    """Whether an answer is flagged: by the calibration, above one half where it has no threshold, or by the samples.

    A calibration knows entropies of answers that the model gave. An answer that the model contradicts is not one.
    """
    chosen = calibration.flags(belief)
    return contradicted(belief) or (calibration(belief) > 0.5 if chosen is None else chosen)


def contradicted(belief: Belief) -> bool:
    """Whether the model is more likely to give some other answer than the one judged."""
    return belief.agreement is not None and belief.agreement.rival > belief.agreement.mean


def too_few(belief: Belief, spent: Spent, flagged: bool) -> bool:
    """Whether there are too few samples for a verdict, because only their counts are known."""
    return belief.counted and spent.samples < (LEAST_FLAGGED if flagged else LEAST_STEADY)


def suspicion(belief: Belief, threshold: float) -> float | None:
    """The probability that the answer deserves a flag, None for a belief without a distribution.

    An answer deserves a flag if the entropy is above the threshold, or if the answer is not what the model mostly
    says: its share of the samples is below one half (below exp(-threshold) for a threshold above log 2, since a
    larger entropy allows smaller leading shares). Either event nearly implies the other wherever it matters, so
    the probability of their union is taken to be the larger of the two.

    >>> from semtropy.entropy.distribution import Known
    >>> from semtropy.nouns import Belief, KnownAgreement
    >>> suspicion(Belief(0.1, 0.0, Known(0.1), agreement=KnownAgreement(0.02)), 0.69)
    1.0
    """
    above = belief.probability_above(threshold)
    return None if above is None else max(above, disagreement(belief, threshold))


def disagreement(belief: Belief, threshold: float) -> float:
    """The probability that the model mostly says something else; 0 where agreement is unknown."""
    if belief.agreement is None:
        return 0.0
    return belief.agreement.probability_below(min(0.5, math.exp(-threshold)))


@dataclass(frozen=True, slots=True)
class Decided:
    """Stop as soon as it is certain enough whether the answer deserves a flag (`suspicion`).

    threshold    the entropy in nats above which an answer deserves a flag
    confidence   the probability at which the verdict counts as certain
    relaxation   how much less confidence is required after each sample
    calibration  what decides about a flag instead of the threshold; see `about`

    >>> from semtropy import Belief
    >>> Decided(0.69)(Belief(mean=1.2, variance=0.001), Spent(samples=1)).name
    'DECIDED_HIGH'
    """

    threshold: float
    confidence: float = CONFIDENCE
    relaxation: float = 0.0
    calibration: Calibrated | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        if not (is_number(self.confidence) and 0.5 < self.confidence < 1):
            raise InputError(f"confidence is {self.confidence}: a probability between 0.5 and 1")
        if not (is_number(self.relaxation) and 0 <= self.relaxation < 0.5):
            raise InputError(f"relaxation is {self.relaxation}: from 0 to below 0.5")

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None:
        relaxed = max(LEAST_CONFIDENCE, self.confidence - self.relaxation * spent.samples)
        confidence = min(self.confidence, relaxed)
        if self.calibration is not None:
            return self._calibrated(belief, confidence, self.calibration)
        reason = self._decided(belief, confidence)
        if reason is not None and too_few(belief, spent, reason is Reason.DECIDED_HIGH):
            return None
        return reason

    def about(self, calibration: Calibrated) -> Decided:
        """The rule that stops once it is certain enough what the calibration says of the answer.

        A calibration flags above some mean entropy, which is not the threshold of a check without one.
        """
        limit = getattr(calibration, "flags_above", None)
        return replace(self, threshold=limit or self.threshold, calibration=calibration)

    def _calibrated(self, belief: Belief, confidence: float, calibration: Calibrated) -> Reason | None:
        flagged = calibrated_flag(calibration, belief)
        if getattr(calibration, "flags_above", self.threshold) is None:
            # All answers or none: no sample changes that.
            return Reason.DECIDED_HIGH if flagged else Reason.DECIDED_LOW
        reason = self._decided(
            belief if contradicted(belief) else replace(belief, agreement=None), confidence
        )
        return reason if flagged is (reason is Reason.DECIDED_HIGH) else None

    def _decided(self, belief: Belief, confidence: float) -> Reason | None:
        _check_finite(belief)
        if belief.distribution is None and belief.variance is None:
            raise InputError("this estimator has no distribution to decide on: use FixedSamples(n), or bayes")
        off, variance = belief.mean - self.threshold, belief.variance
        # Cantelli's inequality: far from the threshold, mean and variance prove it, whatever the distribution.
        proven = variance is not None and off != 0 and (off * off * (1 - confidence) >= confidence * variance)
        if proven and off > 0:
            return _against(belief)
        above = 0.0 if proven else self._above(belief, confidence)
        if above is None:
            return None
        flag = above if above >= confidence else max(above, disagreement(belief, self.threshold))
        if not math.isfinite(flag):
            raise InputError(f"the probability of a flag is {flag}: no rule can stop on that")
        if flag >= confidence:
            return _against(belief)
        return Reason.DECIDED_LOW if flag <= 1 - confidence else None

    def _above(self, belief: Belief, confidence: float) -> float | None:
        """P(entropy > threshold); an approximation where it is far from either limit, which costs much less."""
        approximate = getattr(belief.distribution, "approximate_cdf", None)
        rough = None if approximate is None else approximate(self.threshold)
        doubt = 1 - confidence
        if rough is not None and (3 * doubt < rough < 1 - 3 * doubt or not doubt / 5 < rough < 1 - doubt / 5):
            return float(1 - rough)
        return belief.probability_above(self.threshold)


def _against(belief: Belief) -> Reason | None:
    """The reason to stop with a verdict against the answer; None where that takes a sample that disagrees."""
    return None if belief.unopposed else Reason.DECIDED_HIGH


def _check_finite(belief: Belief) -> None:
    """Refuse to decide on an entropy or a variance that is no such number."""
    variance = belief.variance
    if not math.isfinite(belief.mean):
        raise InputError(f"the mean of the belief is {belief.mean}: no rule can stop on that")
    if variance is not None and not -LEAST_VARIANCE <= variance < math.inf:
        raise InputError(f"the variance of the belief is {variance}: no rule can stop on that")


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is not an entropy: NaN, infinite, negative or 0."""
    if not (is_number(threshold) and 0 < threshold < math.inf):
        raise InputError(f"threshold is {threshold!r}: an entropy in nats, a finite number above 0")


def rule_of(threshold: float, variance: float | None, confidence: float | None) -> Rule | None:
    """The rule that settings or a command line ask for, the paper's first; None where they name none.

    >>> rule_of(0.5, None, 0.9)
    Decided(threshold=0.5, confidence=0.9, relaxation=0.0, calibration=None)
    """
    if variance is not None:
        return VarianceBelow(variance)
    return None if confidence is None else Decided(threshold, confidence)


@dataclass(frozen=True, slots=True)
class FixedSamples:
    """Stop after a fixed number of samples. Methods without a variance need this rule.

    n  the number of samples

    >>> from semtropy import Belief
    >>> FixedSamples(3)(Belief(0.4), Spent(samples=2)) is None
    True
    """

    n: int

    def __post_init__(self) -> None:
        if not is_whole(self.n) or self.n < 1:
            raise InputError(f"n is {self.n!r}: a whole number of samples, at least 1")

    def __call__(self, belief: Belief, spent: Spent) -> Reason | None:
        _check_finite(belief)
        return Reason.FIXED if spent.samples >= self.n else None

"""A second opinion: how much the word of another model counts for or against an answer.

A model that repeats one error looks as if it knew, and no further sample of it helps. Another model rarely makes the
same error. Its word is weighed against the agreement of the checked model with itself:

    log-odds of "right" = intercept + own * logit(a_own) + other * sum over second models of r * logit(a_other)

a_own    the probability that another sample of the checked model means what the answer means
a_other  the same for an answer of the second model: a posterior mean, so never 0 or 1
r        how steady the second model is itself: the posterior mean of its agreement with its own first answer

A model that contradicts itself says little, whatever it says: the more of its answers differ, the less they count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, expit, logit

from .errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .nouns import Floats
    from .samples import Sample

MOST_ANSWERS = 4
"""The most answers a second model is asked for: one where it agrees with a steady answer, more where it does not."""

_AGREEMENT = (0.5, 0.5)  # Beta prior of a_other
_STEADINESS = (2.0, 1.0)  # Beta prior of r
_DOUBT = 0.05  # how far a_own is kept from 0 and 1: a certain model may be certain of an error
_TIE = 0.0  # how strongly the two weights are pulled towards each other, unless `tie` says otherwise


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the answers of one second model say of the answer that is judged.

    supports  how many of them mean what the judged answer means; for a claim, how many support it
    answers   how many there are
    repeats   how many of them, after the first, mean what the first means; None where this is unknown, as for claims
    pooled    the posterior mean of the agreement, where more is known than these counts: for a claim, those of all
              claims of its answer

    >>> once, twice, torn = Opinion(0, 1), Opinion(0, 2, repeats=1), Opinion(0, 2, repeats=0)
    >>> [round(each.agreement, 3) for each in (once, twice, torn)]
    [0.25, 0.167, 0.167]
    >>> [round(each.weight, 3) for each in (once, twice, torn)]
    [-0.732, -1.207, -0.805]
    """

    supports: float
    answers: int
    repeats: int | None = None
    pooled: float | None = None

    def __post_init__(self) -> None:
        if self.answers < 0 or not 0 <= self.supports <= self.answers:
            raise InputError(
                f"an opinion: {self.supports} of {self.answers} answers support the answer judged"
            )
        if self.repeats is not None and not 0 <= self.repeats <= max(self.answers - 1, 0):
            raise InputError(f"an opinion: {self.repeats} of {self.answers} answers repeat the first of them")
        if self.pooled is not None and not 0 < self.pooled < 1:
            raise InputError(f"an opinion: pooled is {self.pooled}: a posterior mean, between 0 and 1")

    @classmethod
    def of(cls, judged: object, meanings: Sequence[object]) -> Opinion:
        """From the meaning of the judged answer and those of the second model's answers, in order.

        >>> Opinion.of("Paris", ["Lyon", "Lyon", "Paris"])
        Opinion(supports=1, answers=3, repeats=1, pooled=None)
        """
        repeats = sum(meaning == meanings[0] for meaning in meanings[1:])
        return cls(sum(meaning == judged for meaning in meanings), len(meanings), repeats)

    @property
    def agreement(self) -> float:
        """a_other, the posterior mean."""
        a, b = _AGREEMENT
        return self.pooled if self.pooled is not None else (self.supports + a) / (self.answers + a + b)

    @property
    def steadiness(self) -> float:
        """r, the posterior mean; with one answer that of the prior."""
        a, b = _STEADINESS
        if self.repeats is None:
            return a / (a + b)
        return (self.repeats + a) / (max(self.answers - 1, 0) + a + b)

    @property
    def weight(self) -> float:
        """r * logit(a_other): above 0 for the answer, below 0 against it.

        Of a model that repeated its first answer less than half of the time, asked twice more or more, only half counts
        against the answer: it does not know, and that says little.
        """
        found = self.steadiness * float(logit(self.agreement))
        torn = self.repeats is not None and self.answers > 2 and 2 * self.repeats < self.answers - 1
        return 0.5 * found if torn and found < 0 else found

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The central credible interval of the agreement."""
        if not 0 < level < 1:
            raise InputError(f"level is {level}: a probability between 0 and 1")
        a, b = _AGREEMENT[0] + self.supports, _AGREEMENT[1] + self.answers - self.supports
        low, high = betaincinv(a, b, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class OpinionWeights:
    """How much the checked model's agreement with itself counts, and how much the word of another model.

    intercept  the log-odds of an answer of which nothing is known
    own        the weight of the checked model's agreement with itself
    other      the weight of a second model's word
    about      what they were fitted on

    >>> weights = OpinionWeights.default()
    >>> steady, alone = 0.97, weights(0.97)
    >>> agrees, contradicts = Opinion(1, 1), Opinion(0, 3, repeats=2)
    >>> weights(steady, [agrees]) > alone > 0.5 > weights(steady, [contradicts])
    True
    """

    intercept: float
    own: float
    other: float
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in ("intercept", "own", "other"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value)):
                raise InputError(f"weights of a second opinion: {name} is {value!r}: a finite number")
        if self.own < 0 or self.other < 0:
            raise InputError("weights of a second opinion: own and other are 0 or more")

    @classmethod
    def default(cls) -> OpinionWeights:
        """The weights that ship, for short answers."""
        return _SHORT

    @classmethod
    def for_claims(cls) -> OpinionWeights:
        """The weights that ship for the claims of long answers."""
        return _CLAIMS

    def log_odds(self, own: float | None, opinions: Iterable[Opinion] = ()) -> float:
        """The log-odds that the answer is right.

        own       the agreement of the checked model with its answer; None where it is unknown
        opinions  one for each second model
        """
        known = 0.0 if own is None else self.own * float(_doubted(own))
        return self.intercept + known + self.other * sum(each.weight for each in opinions if each.answers)

    def __call__(self, own: float | None, opinions: Iterable[Opinion] = ()) -> float:
        """The probability that the answer is right."""
        return float(expit(self.log_odds(own, opinions)))

    def worth_asking(self, odds: float, opinion: Opinion) -> bool:
        """Whether one more answer of a second model is worth its cost.

        It is while the model can change the verdict, unless it has already done so by two or more answers that
        mean the same.

        odds     the log-odds without this model
        opinion  what it has said so far

        >>> weights, steady = OpinionWeights.default(), OpinionWeights.default().log_odds(0.97)
        >>> said = Opinion(0, 0), Opinion(1, 1), Opinion(0, 1, repeats=0), Opinion(0, 3, repeats=2)
        >>> [weights.worth_asking(steady, each) for each in said]
        [True, False, True, False]
        """
        n, most, repeats = opinion.answers, MOST_ANSWERS, opinion.repeats or 0
        against = odds + self.other * opinion.weight < 0 if n else odds < 0
        if n >= most or (n > 1 and repeats == n - 1 and against != (odds < 0)):
            return False
        more, supports = most - n, opinion.supports
        steadier = repeats + (more if n else most - 1)
        worst = Opinion(supports, most, steadier if supports < n or not n else repeats)
        best = Opinion(supports + more, most, steadier if supports or not n else repeats)
        return odds + self.other * worst.weight < 0 <= odds + self.other * best.weight

    @classmethod
    def fit(
        cls,
        own: ArrayLike,
        word: ArrayLike,
        right: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        tie: float = _TIE,
        about: Mapping[str, Any] | None = None,
    ) -> OpinionWeights:
        """Fit the weights on graded answers, by maximum likelihood.

        The two weights are pulled towards the point where one answer of another model counts like a sample, so that
        few graded answers, or a single pair of models, do not make either run off.

        own     the agreement of the checked model with each answer
        word    the sum of `Opinion.weight` over the second models, for each answer
        right   whether each answer is right
        weight  how much each answer counts; by default all the same
        tie     how strongly the two weights are pulled together

        >>> own, word = [0.9, 0.9, 0.8, 0.4, 0.6, 0.2], [1.2, -1.2, 0.7, 0.7, -0.7, -1.2]
        >>> fitted = OpinionWeights.fit(own, word, [True, False, True, True, False, False])
        >>> fitted.other > 0
        True
        """
        graded = np.asarray(right, dtype=float)
        x = np.column_stack([_doubted(np.asarray(own, dtype=float)), np.asarray(word, dtype=float)])
        if graded.size == 0 or x.shape != (graded.size, 2):
            raise InputError("weights of a second opinion: give own, word and right for the same answers")
        if not (np.isfinite(x).all() and graded.min() < graded.max()):
            raise InputError(
                "weights of a second opinion need right and wrong answers, each with agreements between 0 and 1"
            )
        counts = np.ones_like(graded) if weight is None else np.asarray(weight, dtype=float)
        counts = counts / counts.sum()
        steadiness = _STEADINESS[0] / sum(_STEADINESS)

        def loss(w: Floats) -> tuple[float, Floats]:
            odds = w[0] + x @ w[1:]
            missed = counts * (expit(odds) - graded)
            apart = w[1] - steadiness * w[2]
            value = counts @ (np.logaddexp(0, odds) - graded * odds) + tie * apart**2
            pull = 2 * tie * apart * np.array([1.0, -steadiness])
            return float(value), np.concatenate([[missed.sum()], x.T @ missed + pull])

        intercept, alone, other = _least(loss)
        return cls(intercept, alone, other, MappingProxyType(dict(about or {})))

    def to_dict(self) -> dict[str, Any]:
        """The weights as plain data."""
        return {"intercept": self.intercept, "own": self.own, "other": self.other, "about": dict(self.about)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OpinionWeights:
        """Read what `to_dict` wrote."""
        try:
            about = MappingProxyType(dict(data.get("about") or {}))
            return cls(float(data["intercept"]), float(data["own"]), float(data["other"]), about)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"these are not weights of a second opinion: {error}") from error


@dataclass(frozen=True, slots=True)
class Consulted:
    """What one second model answered.

    model    its name
    answers  its answers, in order; refusals and empty ones are left out
    opinion  what they say of the judged answer
    instead  the commonest of its answers that differs in meaning from the judged one; None if none does
    samples  how many answers were asked for; 0 where they were given
    tokens   generated for them; None where the model does not count
    note     why it said less than it was asked for; None where it did not
    claims   of a long answer: how many claims it supports, contradicts and does not mention; None for a short one
    """

    model: str
    answers: tuple[str, ...] = ()
    opinion: Opinion = Opinion(0, 0)
    instead: str | None = None
    samples: int = 0
    tokens: int | None = 0
    note: str | None = None
    claims: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Consultation:
    """Which second models are asked, and when.

    models   the name of each, with its answers where they are there already, else None
    samples  the most samples and answers of all models together
    always   whether they are asked even where that is unlikely to change the verdict
    weights  of their word
    """

    models: tuple[tuple[str, tuple[Sample, ...] | None], ...]
    samples: int
    always: bool = False
    weights: OpinionWeights | None = None

    @property
    def own_samples(self) -> int:
        """How many samples the checked model may draw: up to a third is kept for second models that are asked."""
        asked = sum(answers is None for _, answers in self.models)
        return self.samples - min(MOST_ANSWERS * asked, self.samples // 3)


def _least(loss: Callable[[Floats], tuple[float, Floats]]) -> tuple[float, float, float]:
    """The intercept and the two weights, none below 0, with the least loss; `loss` gives it with its gradient."""
    from scipy.optimize import minimize  # slow to import, and only a fit needs it

    bounds = [(None, None), (0.0, None), (0.0, None)]  # more agreement never counts against an answer
    intercept, own, other = minimize(loss, np.zeros(3), jac=True, bounds=bounds, method="L-BFGS-B").x
    return float(intercept), float(own), float(other)


def _doubted(agreement: ArrayLike) -> Floats:
    """logit of an agreement that is kept away from 0 and 1."""
    return np.asarray(logit(_DOUBT + (1 - 2 * _DOUBT) * np.asarray(agreement, dtype=float)))


# Fitted by `python -m benchmarks.second --fit`; those for claims with `--claims-judge builtin`.
_SHORT = OpinionWeights(-0.353, 0.667, 1.003)
_CLAIMS = OpinionWeights(0.633, 0.504, 0.756)

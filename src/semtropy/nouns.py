"""The data types that all layers share: frozen values and small protocols, without heavy imports.

Entropy is in nats everywhere. Unknown is None, never 0 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .conversation import Prompt  # noqa: TC001
from .errors import ConvergenceError, InputError
from .evidence import Evidence, JudgedAnswer
from .samples import LOGPROB_SLACK, Partition, Sample, Token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "LOGPROB_SLACK",
    "Agreement",
    "Belief",
    "Beliefs",
    "Distribution",
    "Estimator",
    "Evidence",
    "Grader",
    "Judge",
    "JudgedAnswer",
    "KnownAgreement",
    "Model",
    "Partition",
    "Question",
    "Sample",
    "Token",
    "central_interval",
    "not_an_entropy",
    "tails",
]


ROUNDING = 1e-9  # by which a variance may be below 0, or a probability above 1


class Distribution(Protocol):
    """The exact distribution behind a belief."""

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        ...

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`."""
        ...


def tails(level: float) -> tuple[float, float]:
    """The levels of the ends of the interval with probability `level`, with the same probability on either side.

    >>> tails(0.5)
    (0.25, 0.75)
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}: a probability between 0 and 1")
    return (1 - level) / 2, 1 - (1 - level) / 2


def central_interval(distribution: Distribution | None, level: float) -> tuple[float, float] | None:
    """The interval between the quantiles at `tails`, None without a distribution."""
    low, high = tails(level)
    return None if distribution is None else (distribution.quantile(low), distribution.quantile(high))


class Agreement(Protocol):
    """The probability that another sample means what the judged answer means.

    mean   its posterior mean
    rival  the probability that another sample has the likeliest of the other meanings seen, 0 where none was
    """

    @property
    def mean(self) -> float: ...

    @property
    def rival(self) -> float: ...

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval, or None for a method without a distribution."""
        ...

    def probability_below(self, x: float) -> float:
        """P(agreement < x)."""
        ...


@dataclass(frozen=True, slots=True)
class KnownAgreement:
    """An agreement that is known exactly.

    >>> KnownAgreement(0.9, rival=0.1).probability_below(0.5)
    0.0
    """

    mean: float
    rival: float = 0.0

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The probability itself, twice."""
        return self.mean, self.mean

    def probability_below(self, x: float) -> float:
        """1 where the probability is at most `x`, else 0: half of the time is not mostly."""
        return float(self.mean <= x)


@dataclass(frozen=True, slots=True)
class Belief:
    """The posterior distribution of a question's semantic entropy, in nats.

    mean          the posterior mean, or the estimate of a method that is not Bayesian
    variance      the posterior variance, None for methods that have none
    distribution  the exact posterior distribution, None for methods that have none
    notes         sentences a user should read with the number (a default prior was used, log-probabilities were not)
    agreement     the probability that another sample means what the judged answer means; None without a judged
                  answer, and for methods that do not compute it
    unopposed     whether nothing but the small probability of its wording speaks against the judged answer: no sample
                  disagrees (of answers in sentences: at most one), and the prior was not fitted to such answers of this
                  model. That is no reason for a flag
    counted       whether it rests on counts alone, because no log-probability was known

    >>> belief = Belief(mean=0.4, variance=0.02)
    >>> belief.mean, belief.interval(0.9)
    (0.4, None)
    """

    mean: float
    variance: float | None = None
    distribution: Distribution | None = None
    notes: tuple[str, ...] = ()
    agreement: Agreement | None = None
    unopposed: bool = False
    counted: bool = False

    def __repr__(self) -> str:
        parts = [f"mean={self.mean:.4g}"]
        parts += [] if self.variance is None else [f"variance={self.variance:.4g}"]
        parts += [] if self.agreement is None else [f"agreement={self.agreement.mean:.4g}"]
        return f"Belief({', '.join(parts)})"

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval, or None for a method without a distribution."""
        return central_interval(self.distribution, level)

    def probability_above(self, x: float) -> float | None:
        """P(entropy > x), or None for a method without a distribution."""
        if self.distribution is None:
            return None
        above = float(1.0 - self.distribution.cdf([x])[0])
        if not math.isfinite(above):  # compared with a threshold, it would count as below
            raise ConvergenceError(f"the distribution of the entropy gave {above} as a probability")
        return above


def not_an_entropy(belief: Belief) -> str | None:
    """What keeps a belief from being one about an entropy, None where nothing does.

    >>> not_an_entropy(Belief(0.5, float("inf")))
    'inf as the variance'
    """
    if not math.isfinite(belief.mean):
        return f"{belief.mean}: not an entropy"
    if belief.variance is not None and not -ROUNDING <= belief.variance < math.inf:
        return f"{belief.variance} as the variance"
    if belief.agreement is not None and not -ROUNDING <= belief.agreement.mean <= 1 + ROUNDING:
        return f"{belief.agreement.mean} as the agreement, which is a probability"
    return None


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The beliefs of many questions as arrays, for studies.

    mean      one entry per question
    variance  one entry per question, None for methods that have none

    >>> from semtropy import Evidence, load_estimator
    >>> load_estimator("histogram").batch([Evidence(counts=(2,)), Evidence(counts=(1, 1))]).mean.round(4)
    array([0.    , 0.6931])
    """

    mean: Floats
    variance: Floats | None


@runtime_checkable
class Estimator(Protocol):
    """A method that turns evidence into a belief.

    `has_variance` says whether beliefs have a variance, which the stopping rule `VarianceBelow` needs. `uses_answer`
    says whether the judged answer is part of the evidence, so that a belief is possible before the first sample.

    >>> from semtropy import load_estimator
    >>> isinstance(load_estimator("histogram"), Estimator)
    True
    """

    name: str
    has_variance: bool
    uses_answer: bool

    def __call__(self, evidence: Evidence) -> Belief:
        """The belief about one question."""
        ...

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        """The means and variances of many questions, the same as one by one."""
        ...


@runtime_checkable
class Model(Protocol):
    """A source of answers. Asynchronous models also have `asample`, with the parameters of `sample`.

    A prompt is a question, or a list of chat messages where a check was given messages or a system message.

    >>> from semtropy.models import ScriptedModel
    >>> isinstance(ScriptedModel(default={"Paris": 1.0}), Model)
    True
    """

    name: str

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]:
        """Draw `n` independent answers to `prompt`; `rng` makes draws reproducible if the backend supports it."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Decides whether one answer entails another.

    A judge that also tells contradiction from silence has `relation(batch)`: an array n x 3 of the probabilities that
    `a` supports, contradicts or is silent about `b`; the first is what `entails` returns.

    >>> from semtropy.meaning import load_judge
    >>> load_judge("numeric").entails([("2 + 10?", "12", "twelve"), ("2 + 10?", "12", "13")]).tolist()
    [1.0, 0.0]
    """

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats:
        """For each triple (question, a, b), the probability that answer `a` entails answer `b`."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A dataset row: what is asked, what it is asked about, and the answers that count as right."""

    id: str
    text: str
    context: str | None = None
    references: tuple[str, ...] = ()


@runtime_checkable
class Grader(Protocol):
    """Decides whether an answer is correct; None if it cannot (there are no references)."""

    def __call__(self, question: Question, answer: str) -> bool | None: ...

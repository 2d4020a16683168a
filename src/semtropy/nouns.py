"""The nouns every layer speaks in: frozen values and small protocols, no behaviour that needs a library.

Entropy is in nats everywhere. Unknown is None, never 0 or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .errors import InputError
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
]


class Distribution(Protocol):
    """The exact distribution behind a belief."""

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        ...

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`."""
        ...


def central_interval(distribution: Distribution | None, level: float) -> tuple[float, float] | None:
    """The interval with probability `level` that leaves equal probability on either side."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}: a probability between 0 and 1")
    if distribution is None:
        return None
    tail = (1 - level) / 2
    return distribution.quantile(tail), distribution.quantile(1 - tail)


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
        """1 where the probability is below `x`, else 0."""
        return float(self.mean < x)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of a question's semantic entropy, in nats.

    `variance` is None for methods that have none. `agreement` is None without a judged answer, and for methods that
    do not compute it. `notes` are sentences a user should read with the number (a default prior was used, no
    log-probability could be).
    """

    mean: float
    variance: float | None = None
    distribution: Distribution | None = None
    notes: tuple[str, ...] = ()
    agreement: Agreement | None = None

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval, or None for a method without a distribution."""
        return central_interval(self.distribution, level)

    def probability_above(self, x: float) -> float | None:
        """P(entropy > x), or None for a method without a distribution."""
        if self.distribution is None:
            return None
        return float(1.0 - self.distribution.cdf([x])[0])


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Beliefs of many questions as arrays, for studies: the mean and variance of each."""

    mean: Floats
    variance: Floats | None


@runtime_checkable
class Estimator(Protocol):
    """Evidence in, belief out. `batch` gives the same numbers for many questions at once.

    `has_variance` says whether beliefs have a variance, which the stopping rule `VarianceBelow` needs. `uses_answer`
    says whether the judged answer is part of the evidence, so that a belief is possible before the first sample.
    """

    name: str
    has_variance: bool
    uses_answer: bool

    def __call__(self, evidence: Evidence) -> Belief: ...

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs: ...


@runtime_checkable
class Model(Protocol):
    """Something that answers. `sample` draws `n` independent answers to `prompt`.

    `rng` makes draws reproducible where the backend can. Asynchronous twins have `asample`.
    """

    name: str

    def sample(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: np.random.Generator | None = None
    ) -> list[Sample]: ...


@runtime_checkable
class Judge(Protocol):
    """Does `a` entail `b` as an answer to the question? A probability for each (question, a, b)."""

    def entails(self, batch: Sequence[tuple[str, str, str]]) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A dataset row: what is asked, what it is asked about, and the answers that count as right."""

    id: str
    text: str
    context: str | None = None
    references: tuple[str, ...] = ()


@runtime_checkable
class Grader(Protocol):
    """Is the answer right? None where it cannot be told (no references)."""

    def __call__(self, question: Question, answer: str) -> bool | None: ...

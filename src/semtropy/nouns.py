"""The nouns every layer speaks in: frozen values and small protocols, no behaviour that needs a library.

Entropy is in nats everywhere. Unknown is None, never 0 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "LOGPROB_SLACK",
    "Belief",
    "Beliefs",
    "Distribution",
    "Estimator",
    "Evidence",
    "Grader",
    "Judge",
    "Model",
    "Partition",
    "Question",
    "Sample",
]

Token = int | str

# Log-probabilities summed in single or half precision can end a little above 0; a probability or a loss mistaken
# for one ends well above.
LOGPROB_SLACK = 1e-2


@dataclass(frozen=True, slots=True)
class Sample:
    """One generated answer.

    `logprob` is that of the whole sequence under the distribution it was sampled from, end token included;
    None where that is not known (a provider that leaves the end token out, a cut-off distribution).
    `complete` is False when a length limit cut the answer off: its probability is that of a prefix, which is no
    lower bound for the answer's meaning.

    >>> Sample("Paris", logprob=0.7)
    Traceback (most recent call last):
    ...
    semtropy.errors.InputError: logprob is 0.7: a log-probability is a finite number, at most 0 (None where unknown)
    """

    text: str
    logprob: float | None = None
    tokens: tuple[Token, ...] | None = None
    token_logprobs: tuple[float, ...] | None = None
    complete: bool = True

    def __post_init__(self) -> None:
        if self.logprob is not None and not -math.inf < self.logprob <= LOGPROB_SLACK:
            raise InputError(
                f"logprob is {self.logprob}: a log-probability is a finite number, at most 0 (None where unknown)"
            )


@dataclass(frozen=True, slots=True)
class Partition:
    """The meanings of samples in draw order: each sample in exactly one, numbered by first appearance.

    Grows one sample at a time and never reassigns.

    >>> Partition().add(0).add(1).add(0).counts
    (2, 1)
    """

    meanings: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        fresh = 0
        for place, meaning in enumerate(self.meanings):
            if not 0 <= meaning <= fresh:
                raise InputError(
                    f"meanings[{place}] is {meaning}: meanings are numbered from 0 in order of first appearance"
                )
            fresh = max(fresh, meaning + 1)

    @classmethod
    def of(cls, labels: Sequence[object]) -> Partition:
        """Number arbitrary hashable labels by first appearance.

        >>> Partition.of(["b", "a", "b"]).meanings
        (0, 1, 0)
        """
        numbers: dict[object, int] = {}
        return cls(tuple(numbers.setdefault(label, len(numbers)) for label in labels))

    def add(self, meaning: int) -> Partition:
        """The partition with one more sample in `meaning`; the next unused number opens a new meaning."""
        return Partition((*self.meanings, meaning))

    @property
    def size(self) -> int:
        """How many meanings there are."""
        return max(self.meanings, default=-1) + 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How many samples each meaning has."""
        counts = [0] * self.size
        for meaning in self.meanings:
            counts[meaning] += 1
        return tuple(counts)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What entropy estimators see of one question, per meaning in order of first appearance.

    counts          draws
    floors          summed probability of its distinct sequences: the meaning is at least this probable
    distinct        how many distinct sequences of known probability that is
    no_logprob        draws whose probability is not known; they add no floor
    logprobs        log-probabilities of those sequences, in the order they were found
    string_floors   the paper's floors: one probability a string (that of its first draw)
    length_weights  the same sum over strings of exp(mean token log-probability), None where unknown

    Only `counts` must be given. Without more, floors are 0, a positive floor is one sequence, several sequences share
    their floor evenly, and the draws of a meaning without any known sequence are no_logprob.

    >>> Evidence(counts=(2, 1), floors=(0.5, 0.0)).no_logprob
    (0, 1)
    """

    counts: tuple[int, ...]
    floors: tuple[float, ...] = ()
    distinct: tuple[int, ...] = ()
    no_logprob: tuple[int, ...] = ()
    logprobs: tuple[tuple[float, ...], ...] = ()
    string_floors: tuple[float, ...] = ()
    length_weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        m = len(self.counts)
        fill = object.__setattr__
        if m == 0:
            raise InputError("counts is empty: an estimate needs at least one sample")
        if not self.floors:
            fill(self, "floors", (0.0,) * m)
        if not self.distinct:
            fill(self, "distinct", tuple(int(floor > 0) for floor in self.floors))
        if not self.no_logprob:
            fill(
                self,
                "no_logprob",
                tuple(0 if d else c for c, d in zip(self.counts, self.distinct, strict=False)),
            )
        if not self.logprobs:
            shares = zip(self.floors, self.distinct, strict=False)
            fill(self, "logprobs", tuple((math.log(f / d),) * d if f > 0 and d else () for f, d in shares))
        if not self.string_floors:
            fill(self, "string_floors", self.floors)
        for name in ("floors", "distinct", "no_logprob", "logprobs", "string_floors", "length_weights"):
            values = getattr(self, name)
            if values is not None and len(values) != m:
                raise InputError(f"{name} has {len(values)} entries for {m} meanings: one a meaning")

    @property
    def n(self) -> int:
        """How many samples were drawn."""
        return sum(self.counts)

    @classmethod
    def gather(cls, samples: Sequence[Sample], partition: Partition) -> Evidence:
        """Count `samples` by meaning and add up what their log-probabilities prove.

        Sequences are told apart by their tokens where known, else by text and log-probability, so that two
        tokenisations of one string raise the floor twice and one sequence drawn twice raises it once.

        >>> draws = [Sample("Paris", -0.7), Sample("Paris", -0.7), Sample("Rome", None)]
        >>> Evidence.gather(draws, Partition((0, 0, 1))).distinct
        (1, 0)
        """
        if len(samples) != len(partition.meanings):
            raise InputError(f"{len(samples)} samples but {len(partition.meanings)} meanings: one a sample")
        m = partition.size
        floors, strings, lengths = [0.0] * m, [0.0] * m, [0.0] * m
        no_logprob = [0] * m
        found: list[list[float]] = [[] for _ in range(m)]
        seen: set[object] = set()
        seen_strings: set[str] = set()
        lengths_known = True
        for sample, meaning in zip(samples, partition.meanings, strict=True):
            logprob = sample.logprob if sample.complete else None
            new_string = sample.text not in seen_strings
            seen_strings.add(sample.text)
            if sample.token_logprobs:
                if new_string:
                    lengths[meaning] += math.exp(
                        math.fsum(sample.token_logprobs) / len(sample.token_logprobs)
                    )
            else:
                lengths_known = False
            if logprob is None:
                no_logprob[meaning] += 1
                continue
            probability = math.exp(logprob)
            if new_string:
                strings[meaning] += probability
            sequence = sample.tokens if sample.tokens is not None else (sample.text, logprob)
            if sequence not in seen:
                seen.add(sequence)
                found[meaning].append(logprob)
                floors[meaning] += probability
        return cls(
            counts=partition.counts,
            floors=tuple(floors),
            distinct=tuple(len(own) for own in found),
            no_logprob=tuple(no_logprob),
            logprobs=tuple(tuple(own) for own in found),
            string_floors=tuple(strings),
            length_weights=tuple(lengths) if lengths_known else None,
        )


class Distribution(Protocol):
    """The exact distribution behind a belief."""

    def cdf(self, points: Sequence[float] | Floats) -> Floats:
        """P(entropy <= point) for each point."""
        ...

    def quantile(self, level: float) -> float:
        """The smallest entropy whose `cdf` reaches `level`."""
        ...


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of a question's semantic entropy, in nats.

    `variance` is None for methods that have none. `notes` are sentences a user should read with the number
    (a default prior was used, floors could not be).
    """

    mean: float
    variance: float | None = None
    distribution: Distribution | None = None
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval, or None for a method without a distribution."""
        if not 0 < level < 1:
            raise InputError(f"level is {level}: a probability between 0 and 1")
        if self.distribution is None:
            return None
        tail = (1 - level) / 2
        return self.distribution.quantile(tail), self.distribution.quantile(1 - tail)

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

    `has_variance` says whether beliefs have a variance, which the stopping rule `VarianceBelow` needs.
    """

    name: str
    has_variance: bool

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

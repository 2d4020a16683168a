"""The protocols of a scorer, of what it reads, and of the row it is read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from ..nouns import Beliefs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..evidence import Evidence
    from ..samples import Partition, Sample

__all__ = ["JudgedRow", "SampleInput", "SampleScorer", "Scorer", "ScorerInput", "mean_token_logprobs"]

Input = TypeVar("Input", contravariant=True)


class JudgedRow(Protocol):
    """A row of a recording, as far as scorers use it.

    >>> from semtropy.recording import Row
    >>> Row({"id": "1", "question": "2 + 2?", "answer": {"text": "4"}, "samples": []}).answer.text
    '4'
    """

    @property
    def answer(self) -> Any:
        """The judged answer with `text` and `logprob`, or None."""
        ...

    @property
    def p_true(self) -> float | None:
        """The model's own probability that its answer is true."""
        ...

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples."""
        ...

    @property
    def partition(self) -> Partition:
        """The meanings of the samples."""
        ...

    @property
    def relations(self) -> Any:
        """Which of its texts entails or contradicts which, or None."""
        ...

    def judged_sample(self) -> Sample:
        """The answer as a sample, with its log-probability at the temperature of the samples."""
        ...

    def evidence(self) -> Evidence:
        """What entropy estimators see of all samples."""
        ...

    def draws(self) -> Any:
        """The samples as arrays."""
        ...


class ScorerInput(Protocol):
    """What a scorer reads: a frozen value.

    `column` is the field of a recording that it is read from.

    >>> from semtropy.scorers import load_scorer
    >>> load_scorer("p-true").sees.column
    'p_true'
    """

    column: ClassVar[str]

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the input from a row, or return None where the row lacks the column."""
        ...


@runtime_checkable
class SampleInput(Protocol):
    """An input that holds samples: `pick` is the same input with some of them, repeats allowed.

    >>> from semtropy.scorers import load_scorer
    >>> issubclass(load_scorer("kuhn").sees, SampleInput), issubclass(load_scorer("length").sees, SampleInput)
    (True, False)
    """

    def pick(self, order: Sequence[int]) -> Self:
        """The input of the samples at these places, in this order."""
        ...


class Scorer(Protocol[Input]):
    """A method that rates one judged answer: the higher the score, the more suspicious.

    `unit` is "nats" where the score estimates the semantic entropy, else None: it orders answers and no more.

    >>> from semtropy.scorers import load_scorer
    >>> load_scorer("length").name
    'length'
    """

    name: str
    sees: type[Any]
    unit: str | None

    def __call__(self, judged: Input) -> float: ...


class SampleScorer(ABC):
    """A scorer of samples, whose score changes with their number. `batch` scores many questions at once."""

    name: ClassVar[str]
    sees: ClassVar[type[Any]]
    unit: ClassVar[str | None] = None

    @abstractmethod
    def __call__(self, drawn: Any) -> float:
        """The score of one judged answer."""

    def batch(self, drawn: Sequence[Any]) -> Beliefs:
        """One score for each; a variance where the method has one."""
        return Beliefs(np.array([self(each) for each in drawn], dtype=float), None)


def mean_token_logprobs(row: JudgedRow) -> NDArray[np.float64] | None:
    """The mean log-probability of a token of each sample, or None where one of them is unknown.

    Without token log-probabilities it is that of the sequence over the number of its tokens.

    >>> from semtropy.recording import Row
    >>> mean_token_logprobs(Row({"id": "1", "question": "?", "samples": [{"text": "4", "token_logprobs": [-1, -2]}]}))
    array([-1.5])
    """
    means = []
    for sample in row.samples:
        if sample.token_logprobs:
            means.append(sum(sample.token_logprobs) / len(sample.token_logprobs))
        elif sample.tokens and sample.logprob is not None:
            means.append(sample.logprob / len(sample.tokens))
        else:
            return None
    return np.array(means) if means else None

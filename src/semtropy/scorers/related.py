"""Inputs of pairwise scorers: which of the answers entails or contradicts which, with probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .base import mean_token_logprobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .base import JudgedRow

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

__all__ = ["RelatedAnswer", "RelatedLikelihoods", "RelatedSamples"]

REMEDY = (
    "`semtropy relate` writes it; where it related the first N samples, `evaluate --pool N` draws from those"
)


@dataclass(frozen=True, eq=False, slots=True)
class RelatedSamples:
    """Samples and the relations of their distinct texts.

    texts        for each sample, the place of its text among the distinct ones
    meanings     for each sample, the number of its meaning
    entails      entails[i, j]: the probability that text i entails text j; 1 where i = j
    contradicts  the same of contradiction; 0 where i = j
    """

    column: ClassVar[str] = "relations"
    remedy: ClassVar[str] = REMEDY
    texts: Places
    meanings: Places
    entails: Floats
    contradicts: Floats

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read the relations of all samples, or return None where some were not judged."""
        held = row.relations
        places = None if held is None else held.places([sample.text for sample in row.samples])
        if held is None or not places:
            return None
        return cls(np.array(places), np.array(row.partition.meanings), held.entails, held.contradicts)

    def pick(self, order: Sequence[int]) -> Self:
        at = np.asarray(order, dtype=np.intp)
        return replace(self, texts=self.texts[at], meanings=self.meanings[at])

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each meaning was drawn, the largest first."""
        return tuple(sorted(np.unique(self.meanings, return_counts=True)[1].tolist(), reverse=True))

    def agreement(self) -> Floats:
        """(E + E^T) / 2 of the samples, repeats included."""
        own = self.entails[np.ix_(self.texts, self.texts)]
        return np.asarray((own + own.T) / 2)


@dataclass(frozen=True, eq=False, slots=True)
class RelatedAnswer:
    """The judged answer's log-probability at the temperature of the samples, and its agreement with each sample.

    agreement  for each sample, the mean probability of entailment over both directions
    logprob    of the answer
    """

    column: ClassVar[str] = "relations or answer.sampling_logprob"
    remedy: ClassVar[str] = REMEDY
    agreement: Floats
    logprob: float

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read both, or return None where one is unknown."""
        logprob = None if row.answer is None else row.judged_sample().sampling_logprob
        related = RelatedSamples.of_row(row)
        if logprob is None or related is None:
            return None
        own = row.relations.places([row.answer.text])
        if not own:
            return None
        forth, back = related.entails[own[0], related.texts], related.entails[related.texts, own[0]]
        return cls((forth + back) / 2, logprob)

    def pick(self, order: Sequence[int]) -> Self:
        return replace(self, agreement=self.agreement[np.asarray(order, dtype=np.intp)])


@dataclass(frozen=True, eq=False, slots=True)
class RelatedLikelihoods:
    """How near each sample is to the judged answer, and how probable it is.

    texts      for each sample, the place of its text among the distinct ones
    nearness   for each sample, one minus the mean over both directions of contradiction plus half of neutral
    logprobs   for each sample, the mean log-probability of its tokens
    """

    column: ClassVar[str] = "relations or samples[].token_logprobs"
    remedy: ClassVar[str] = REMEDY
    texts: Places
    nearness: Floats
    logprobs: Floats

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read both, or return None where one is unknown."""
        related = RelatedSamples.of_row(row)
        means = mean_token_logprobs(row)
        if related is None or row.answer is None or means is None:
            return None
        own = row.relations.places([row.answer.text])
        if not own:
            return None
        # Contradiction plus half of neutral is (1 - E + C) / 2.
        far = (1 - related.entails + related.contradicts) / 2
        forth, back = far[own[0], related.texts], far[related.texts, own[0]]
        return cls(related.texts, 1 - (forth + back) / 2, means)

    def pick(self, order: Sequence[int]) -> Self:
        at = np.asarray(order, dtype=np.intp)
        return type(self)(self.texts[at], self.nearness[at], self.logprobs[at])

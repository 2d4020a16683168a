"""One question as arrays: the relations of its texts, and its samples, of which studies draw millions of subsamples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evidence import SampleTally, judged_answer, sequence_key, word_count
from ..nouns import Evidence, JudgedAnswer, Partition, Sample
from ..samples import is_certain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..nouns import Floats


# The relations of a question's texts: which entails or contradicts which, judged once for every pairwise method.


DECIMALS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Relations:
    """Probabilities of entailment and contradiction between distinct texts; what is left of 1 is neutral.

    texts        the distinct texts
    entails      entails[i, j]: the probability that text i entails text j; 1 where i = j
    contradicts  contradicts[i, j]: the probability that text i contradicts text j; 0 where i = j

    >>> held = Relations.of_json({"texts": ["4", "four"], "entails": [[1, 0.9], [0.8, 1]], "contradicts": None})
    >>> held.places(["four", "4", "four"]), held.places(["five"])
    ([1, 0, 1], None)
    """

    texts: tuple[str, ...]
    entails: Floats
    contradicts: Floats

    @classmethod
    def of_json(cls, held: Mapping[str, Any]) -> Relations:
        """From the value of `relations` in a row; a judge that tells entailment alone leaves `contradicts` null."""
        size = len(held["texts"])
        entails = np.array(held["entails"], dtype=float).reshape(size, size)
        known = held.get("contradicts")
        contradicts = np.zeros((size, size)) if known is None else np.array(known, dtype=float)
        np.fill_diagonal(entails, 1.0)
        np.fill_diagonal(contradicts, 0.0)
        return cls(tuple(held["texts"]), entails, contradicts.reshape(size, size))

    @staticmethod
    def to_json(texts: Sequence[str], entails: Floats, contradicts: Floats | None) -> dict[str, Any]:
        """The value of `relations` in a row, rounded to four decimals."""
        return {
            "texts": list(texts),
            "entails": np.round(entails, DECIMALS).tolist(),
            "contradicts": None if contradicts is None else np.round(contradicts, DECIMALS).tolist(),
        }

    def places(self, texts: Sequence[str]) -> list[int] | None:
        """The place of each text, or None where one of them was not related."""
        known = {text: place for place, text in enumerate(self.texts)}
        found = [known[text] for text in texts if text in known]
        return found if len(found) == len(texts) else None


@dataclass(frozen=True, eq=False)
class SampleArrays:
    """The samples of one question as arrays, one entry per sample.

    meanings       number of its meaning, by first appearance
    strings        number of its text among the distinct texts
    sequences      number of its token sequence, distinguished as in `Evidence.gather`; -1 if it has no log-probability
                   that can be believed
    logprobs       log-probability of the sequence; 0 where it is unknown
    probabilities  that of the sequence, 0 where it is unknown: what published methods add up, a recorded 1 included
    lengths        exp(mean token log-probability), or None if any sample lacks token log-probabilities
    answer         the judged answer, its meaning and sequence numbered as those of the samples; None if unknown
    ends_left_out  whether `logprobs` leave out the end token: they are then prefix log-probabilities, no lower bounds
    words          number of its words; empty where unknown
    answer_words   number of the answer's words; None without an answer

    >>> samples = [Sample("Paris", -0.7), Sample("Rome", -2.0), Sample("Paris", -0.7)]
    >>> arrays = SampleArrays.of(samples, Partition((0, 1, 0)))
    >>> arrays.sequences.tolist(), arrays.evidence([2, 0]).counts
    ([0, 1, 0], (2,))
    """

    meanings: NDArray[np.int32]
    strings: NDArray[np.int32]
    sequences: NDArray[np.int32]
    logprobs: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    lengths: NDArray[np.float64] | None
    answer: JudgedAnswer | None = None
    ends_left_out: bool = False
    words: tuple[int, ...] = ()
    answer_words: int | None = None

    @classmethod
    def of(
        cls,
        samples: Sequence[Sample],
        partition: Partition,
        answer: Sample | None = None,
        answer_meaning: int | None = None,
        *,
        question: str = "",
    ) -> SampleArrays:
        """The arrays of `samples` and their meanings, and the answer to `question` with its meaning in `partition`."""
        strings: dict[str, int] = {}
        sequences: dict[object, int] = {}
        string_ids, sequence_ids, lengths = [], [], []
        logprobs: list[float | None] = []
        left_out = any(sample.prefix_logprob is not None for sample in samples)
        for sample in samples:
            string_ids.append(strings.setdefault(sample.text, len(strings)))
            if sample.token_logprobs:
                lengths.append(math.exp(math.fsum(sample.token_logprobs) / len(sample.token_logprobs)))
            logprob = sample.prefix_logprob if left_out else sample.logprob
            logprob = logprob if sample.complete else None
            logprobs.append(logprob)
            if logprob is None or is_certain(logprob):
                sequence_ids.append(-1)
            else:
                sequence_ids.append(sequences.setdefault(sequence_key(sample, logprob), len(sequences)))
        sequence = np.array(sequence_ids, dtype=np.int32)
        # math.exp, sample by sample: np.exp may differ in the last bit from what Evidence.gather adds up.
        probabilities = [0.0 if value is None else math.exp(value) for value in logprobs]
        return cls(
            meanings=np.array(partition.meanings, dtype=np.int32),
            strings=np.array(string_ids, dtype=np.int32),
            sequences=sequence,
            logprobs=np.array([value or 0.0 for value in logprobs], dtype=np.float64),
            probabilities=np.array(probabilities, dtype=np.float64),
            lengths=np.array(lengths, dtype=np.float64) if len(lengths) == len(samples) else None,
            answer=None
            if answer is None or answer_meaning is None
            else judged_answer(answer, answer_meaning, sequences.get, question or None),
            ends_left_out=left_out,
            words=tuple(word_count(sample.text) for sample in samples),
            answer_words=None if answer is None or answer_meaning is None else word_count(answer.text),
        )

    def __len__(self) -> int:
        return len(self.meanings)

    @property
    def weighed(self) -> NDArray[np.bool_]:
        """Whether each sample has a log-probability, be it one that cannot be believed."""
        return (self.sequences >= 0) | (self.probabilities > 0)

    def evidence(self, order: Sequence[int] | NDArray[np.integer]) -> Evidence:
        """`Evidence.gather` of the samples at the indices `order` (repeats allowed), equal to the last bit."""
        *_, last = self._tallies(order)
        return self._read(last)

    def path(self, order: Sequence[int] | NDArray[np.integer]) -> Iterator[Evidence]:
        """Yield the evidence after 0, 1, 2, ... samples of `order`, as an adaptive run sees it.

        Without an answer there is none after 0 samples.
        """
        return map(self._read, islice(self._tallies(order), 0 if self.answer is not None else 1, None))

    def _tallies(self, order: Sequence[int] | NDArray[np.integer]) -> Iterator[SampleTally]:
        """One tally, after 0, 1, 2, ... samples of `order`."""
        tally = SampleTally(lengths_known=self.lengths is not None)
        if self.answer_words is not None:
            tally.add_answer(self.answer_words)
        yield tally
        picks, whole = np.asarray(order, dtype=np.intp), not self.ends_left_out
        none = np.zeros(len(self))
        probabilities, lengths = (
            self.probabilities if whole else none,
            none if self.lengths is None else self.lengths,
        )
        columns = (self.meanings, self.strings, self.sequences, self.logprobs, probabilities, lengths)
        words = [self.words[pick] for pick in picks.tolist()] if self.words else [1] * len(picks)
        for draw in zip(*(column[picks].tolist() for column in columns), words, strict=True):
            tally.add(*draw, whole=whole)
            yield tally

    def _read(self, tally: SampleTally) -> Evidence:
        answer = self.answer
        if answer is not None:
            meaning = tally.numbers.get(answer.meaning, len(tally.numbers))
            whole = answer.prefix_logprob is None
            place = None if answer.sequence is None else tally.place(answer.sequence, meaning, whole=whole)
            answer = replace(answer, meaning=meaning, sequence=place)
        return Evidence.trusted(**tally.fields(), answer=answer)

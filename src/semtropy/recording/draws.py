"""The samples of one question as arrays, so that studies can draw millions of subsamples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..evidence import judged_answer, sequence_key
from ..nouns import Evidence, JudgedAnswer, Partition, Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Draws"]


@dataclass(frozen=True, eq=False)
class Draws:
    """The samples of one question as arrays, one entry per sample.

    meanings       number of its meaning, by first appearance
    strings        number of its text among the distinct texts
    sequences      number of its token sequence, distinguished as in `Evidence.gather`; -1 if it has no log-probability
    logprobs       log-probability of the sequence; 0 where `sequences` is -1
    probabilities  exp(logprobs); 0 where `sequences` is -1, so that it adds nothing to a lower bound
    lengths        exp(mean token log-probability), or None if any sample lacks token log-probabilities
    answer         the judged answer, its meaning and sequence numbered as those of the samples; None if unknown
    ends_left_out  whether `logprobs` leave out the end token: they are then prefix log-probabilities, no lower bounds

    >>> draws = Draws.of([Sample("Paris", -0.7), Sample("Rome", -2.0), Sample("Paris", -0.7)], Partition((0, 1, 0)))
    >>> draws.sequences.tolist(), draws.evidence([2, 0]).counts
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

    @classmethod
    def of(
        cls,
        samples: Sequence[Sample],
        partition: Partition,
        answer: Sample | None = None,
        answer_meaning: int | None = None,
    ) -> Draws:
        """The arrays of `samples` and their meanings, and the answer with its meaning in `partition`."""
        strings: dict[str, int] = {}
        sequences: dict[object, int] = {}
        string_ids, sequence_ids, logprobs, lengths = [], [], [], []
        left_out = any(sample.prefix_logprob is not None for sample in samples)
        for sample in samples:
            string_ids.append(strings.setdefault(sample.text, len(strings)))
            if sample.token_logprobs:
                lengths.append(math.exp(math.fsum(sample.token_logprobs) / len(sample.token_logprobs)))
            logprob = sample.prefix_logprob if left_out else sample.logprob
            if logprob is None or not sample.complete:
                sequence_ids.append(-1)
                logprobs.append(0.0)
                continue
            sequence_ids.append(sequences.setdefault(sequence_key(sample, logprob), len(sequences)))
            logprobs.append(logprob)
        sequence = np.array(sequence_ids, dtype=np.int32)
        # math.exp, sample by sample: np.exp may differ in the last bit from what Evidence.gather adds up.
        numbered = zip(logprobs, sequence_ids, strict=True)
        return cls(
            meanings=np.array(partition.meanings, dtype=np.int32),
            strings=np.array(string_ids, dtype=np.int32),
            sequences=sequence,
            logprobs=np.array(logprobs, dtype=np.float64),
            probabilities=np.array(
                [math.exp(value) if name >= 0 else 0.0 for value, name in numbered], dtype=np.float64
            ),
            lengths=np.array(lengths, dtype=np.float64) if len(lengths) == len(samples) else None,
            answer=None
            if answer is None or answer_meaning is None
            else judged_answer(answer, answer_meaning, sequences.get),
            ends_left_out=left_out,
        )

    def __len__(self) -> int:
        return len(self.meanings)

    def evidence(self, order: Sequence[int] | NDArray[np.integer]) -> Evidence:
        """`Evidence.gather` of the samples at the indices `order` (repeats allowed), equal to the last bit."""
        tally = _Tally(self.lengths is not None, self.answer, self.ends_left_out)
        for draw in self._pick(order):
            tally.add(*draw)
        return tally.evidence()

    def path(self, order: Sequence[int] | NDArray[np.integer]) -> Iterator[Evidence]:
        """Yield the evidence after 0, 1, 2, ... samples of `order`, as an adaptive run sees it.

        Without an answer there is none after 0 samples.
        """
        tally = _Tally(self.lengths is not None, self.answer, self.ends_left_out)
        if self.answer is not None:
            yield tally.evidence()
        for draw in self._pick(order):
            tally.add(*draw)
            yield tally.evidence()

    def _pick(
        self, order: Sequence[int] | NDArray[np.integer]
    ) -> Iterator[tuple[int, int, int, float, float, float]]:
        picks = np.asarray(order, dtype=np.intp)
        lengths = self.probabilities if self.lengths is None else self.lengths
        return zip(
            self.meanings[picks].tolist(),
            self.strings[picks].tolist(),
            self.sequences[picks].tolist(),
            self.logprobs[picks].tolist(),
            self.probabilities[picks].tolist(),
            lengths[picks].tolist(),
            strict=True,
        )


class _Tally:
    """Running totals from which the evidence so far can be read at any time."""

    def __init__(self, lengths_known: bool, answer: JudgedAnswer | None, ends_left_out: bool) -> None:
        self.lengths_known, self.answer, self.ends_left_out = lengths_known, answer, ends_left_out
        self.numbers: dict[int, int] = {}
        self.seen: dict[int, tuple[int, int]] = {}  # the meaning of each sequence, and its place there
        self.seen_strings: set[int] = set()
        self.counts: list[int] = []
        self.found: list[tuple[float, ...]] = []
        self.no_logprob: list[int] = []
        self.floors: list[float] = []
        self.string_floors: list[float] = []
        self.lengths: list[float] = []

    def add(
        self, label: int, string: int, sequence: int, logprob: float, probability: float, length: float
    ) -> None:
        meaning = self.numbers.setdefault(label, len(self.numbers))
        if meaning == len(self.counts):
            for column in (self.counts, self.no_logprob):
                column.append(0)
            self.found.append(())
            for total in (self.floors, self.string_floors, self.lengths):
                total.append(0.0)
        self.counts[meaning] += 1
        new_string = string not in self.seen_strings
        if new_string:
            self.seen_strings.add(string)
            self.lengths[meaning] += length
        if sequence < 0:
            self.no_logprob[meaning] += 1
            return
        if new_string:
            self.string_floors[meaning] += probability
        if sequence not in self.seen:
            self.seen[sequence] = meaning, len(self.found[meaning])
            self.found[meaning] += (logprob,)
            self.floors[meaning] += probability

    def evidence(self) -> Evidence:
        if self.ends_left_out:
            return self._without_ends()
        size = len(self.counts)
        return Evidence.trusted(
            counts=tuple(self.counts),
            floors=tuple(self.floors),
            distinct=tuple(map(len, self.found)),
            no_logprob=tuple(self.no_logprob),
            logprobs=tuple(self.found),
            string_floors=tuple(self.string_floors),
            length_weights=tuple(self.lengths) if self.lengths_known else None,
            answer=self._judged(),
            prefix_logprobs=((),) * size,
            prefix_draws=(0,) * size,
            replacement=True,
        )

    def _without_ends(self) -> Evidence:
        unknown = zip(self.counts, self.no_logprob, strict=True)
        return Evidence(
            counts=tuple(self.counts),
            length_weights=tuple(self.lengths) if self.lengths_known else None,
            answer=self._judged(),
            prefix_logprobs=tuple(self.found),
            prefix_draws=tuple(count - missing for count, missing in unknown),
        )

    def _judged(self) -> JudgedAnswer | None:
        """The answer among the samples drawn so far."""
        answer = self.answer
        if answer is None:
            return None
        meaning = self.numbers.get(answer.meaning, len(self.numbers))
        home, place = self.seen.get(-1 if answer.sequence is None else answer.sequence, (None, None))
        compared = answer.prefix_logprob is None or self.ends_left_out
        return JudgedAnswer(
            meaning=meaning,
            logprob=answer.logprob,
            sequence=place if home == meaning and compared else None,
            token_entropy=answer.token_entropy,
            prefix_logprob=answer.prefix_logprob,
        )

"""The samples of one question as arrays, so that studies can draw millions of subsamples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..nouns import Evidence, Partition, Sample

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

    @classmethod
    def of(cls, samples: Sequence[Sample], partition: Partition) -> Draws:
        """The arrays of `samples` and their meanings."""
        strings: dict[str, int] = {}
        sequences: dict[object, int] = {}
        string_ids, sequence_ids, logprobs, lengths = [], [], [], []
        for sample in samples:
            string_ids.append(strings.setdefault(sample.text, len(strings)))
            if sample.token_logprobs:
                lengths.append(math.exp(math.fsum(sample.token_logprobs) / len(sample.token_logprobs)))
            if sample.logprob is None or not sample.complete:
                sequence_ids.append(-1)
                logprobs.append(0.0)
                continue
            key = sample.tokens if sample.tokens is not None else (sample.text, sample.logprob)
            sequence_ids.append(sequences.setdefault(key, len(sequences)))
            logprobs.append(sample.logprob)
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
        )

    def __len__(self) -> int:
        return len(self.meanings)

    def evidence(self, order: Sequence[int] | NDArray[np.integer]) -> Evidence:
        """`Evidence.gather` of the samples at the indices `order` (repeats allowed), equal to the last bit."""
        tally = _Tally(self.lengths is not None)
        for draw in self._pick(order):
            tally.add(*draw)
        return tally.evidence()

    def path(self, order: Sequence[int] | NDArray[np.integer]) -> Iterator[Evidence]:
        """Yield the evidence after 1, 2, ... samples of `order`, as an adaptive run sees it."""
        tally = _Tally(self.lengths is not None)
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

    def __init__(self, lengths_known: bool) -> None:
        self.lengths_known = lengths_known
        self.numbers: dict[int, int] = {}
        self.seen: set[int] = set()
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
            self.seen.add(sequence)
            self.found[meaning] += (logprob,)
            self.floors[meaning] += probability

    def evidence(self) -> Evidence:
        return Evidence(
            counts=tuple(self.counts),
            floors=tuple(self.floors),
            distinct=tuple(map(len, self.found)),
            no_logprob=tuple(self.no_logprob),
            logprobs=tuple(self.found),
            string_floors=tuple(self.string_floors),
            length_weights=tuple(self.lengths) if self.lengths_known else None,
        )

"""An answer and its samples with their meanings: what evidence is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .nouns import Evidence, Partition, Sample

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["LabelledDraws"]


@dataclass(frozen=True, slots=True)
class LabelledDraws:
    """The judged answer and the samples, each with a label; equal labels, equal meanings.

    label  the answer's; None where it is still on its way

    >>> draws = LabelledDraws(Sample("Rome"), [Sample("Paris")] * 2, "r", ["p", "p"])
    >>> draws.meaning, draws.evidence().counts, draws.evidence(bounds=True).counts
    (1, (2,), (2, 0))
    """

    answer: Sample
    samples: Sequence[Sample]
    label: Hashable | None
    labels: Sequence[Hashable]

    @property
    def partition(self) -> Partition:
        """The meanings of the samples, numbered in order of first appearance."""
        return Partition.of(self.labels)

    @property
    def meaning(self) -> int | None:
        """That of the answer: the number of meanings where no sample has it, None where it is not known yet."""
        partition = self.partition
        numbers = dict(zip(self.labels, partition.meanings, strict=True))
        return None if self.label is None else numbers.get(self.label, partition.size)

    def evidence(
        self, *, bounds: bool = False, uses_answer: bool = True, replacement: bool = True
    ) -> Evidence:
        """What an estimator sees; with `bounds` the probabilities are bare lower bounds."""
        meaning = self.meaning
        judged = None if meaning is None or (bounds and not uses_answer) else self.answer
        evidence = Evidence.gather(self.samples, self.partition, judged, meaning, replacement=replacement)
        return evidence.as_bounds() if bounds else evidence

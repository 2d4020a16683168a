"""One field of a structured answer as the sampling loop sees it: its value in the answer and in every sample."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .nouns import Sample

__all__ = ["UNPARSED_TEXT", "FieldReader", "FieldReading"]

UNPARSED_TEXT = "(unparsed)"
"""The text of every field of a sample that is not JSON."""


@dataclass(frozen=True, slots=True)
class FieldReading:
    """A field's values: texts with the log-probabilities that bound them, and which of them mean the same.

    name      the keys that lead to it, joined by dots, with the place in a list: "authors[0].name"
    value     its value in the answer as JSON, None where there is none
    required  whether the verdict waits for it
    answer    its text in the answer, None where the answer is still on its way
    samples   its text in each sample
    label     its meaning in the answer, None where the answer is still on its way
    labels    its meaning in each sample; equal labels, equal meanings
    missing   why there is nothing to judge, None where there is
    exact     whether the log-probabilities are those of the values themselves, as for a plain answer, not bounds
    """

    name: str
    value: Any
    required: bool
    answer: Sample | None
    samples: tuple[Sample, ...]
    label: Hashable | None
    labels: tuple[Hashable, ...]
    missing: str | None = None
    exact: bool = False


@runtime_checkable
class FieldReader(Protocol):
    """A grouping that reads answers with a structure.

    What such answers have in common is less than their text, so that the probabilities of texts are bare lower bounds.
    """

    def missing(self, answer: Sample) -> str | None:
        """Why there is no answer to judge, None where there is one."""
        ...

    def fields(self, answer: Sample | None, samples: Sequence[Sample]) -> Sequence[FieldReading]:
        """The fields of answers that were placed before; none where the answer is judged as a whole."""
        ...

"""Hugging Face datasets: verdicts as a `Dataset`, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import needs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..verdict import Verdict

__all__ = ["to_dataset"]


def to_dataset(verdicts: Iterable[Verdict]) -> Any:
    """The verdicts as a `datasets.Dataset`, with the columns of the pandas frame."""
    with needs("datasets", extra="hub"):
        from datasets import Dataset
    return Dataset.from_list([verdict.to_row() for verdict in verdicts])

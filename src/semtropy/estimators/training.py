"""Training questions: their samples, and the evidence of their first few samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from ..nouns import Evidence, Partition, Sample

__all__ = ["row_samples", "training_evidence"]

TRAINING_DRAWS = (8, 16)  # few, because the prior is used with few samples


def row_samples(row: Any) -> tuple[list[Sample], Partition]:
    """Samples and meanings of a recording's row, or of a dict of its schema."""
    samples = row["samples"]
    if any(sample.get("meaning") is None for sample in samples):
        raise InputError(
            f"question {row.get('id')!r} has samples without a meaning: run semtropy cluster first"
        )
    texts = [Sample(s["text"], s.get("logprob"), _tokens(s), None, s.get("complete", True)) for s in samples]
    return texts, Partition.of([sample["meaning"] for sample in samples])


def _tokens(sample: Mapping[str, Any]) -> tuple[Any, ...] | None:
    return tuple(sample["tokens"]) if sample.get("tokens") is not None else None


def training_evidence(row: Any) -> list[Evidence]:
    """The evidence of a question's first 8 and first 16 samples, or of all it has."""
    draws = getattr(
        row, "draws", None
    )  # a recording's row knows whether its log-probabilities are lower bounds
    if draws is not None:
        arrays = draws()
        return [arrays.evidence(range(n)) for n in _numbers(len(arrays))]
    samples, partition = row_samples(row)
    return [Evidence.gather(samples[:n], Partition(partition.meanings[:n])) for n in _numbers(len(samples))]


def _numbers(available: int) -> list[int]:
    if available == 0:
        raise InputError("a training question has no samples")
    return sorted({min(n, available) for n in TRAINING_DRAWS})

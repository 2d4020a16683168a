"""Training questions: their samples, and the evidence of their first few samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError
from ..nouns import Evidence, JudgedAnswer, Partition, Sample
from .ends import DEFAULT_ENDS, readings

__all__ = ["TrainingQuestion", "row_samples"]

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


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """The evidence of one training question: of its first samples alone, of them after its answer, of the answer.

    `answered` is empty where the answer's log-probability is unknown. `ends` are the log-probabilities of the end
    tokens that are known. Where log-probabilities leave out the end token, it has its default probability.
    """

    alone: tuple[Evidence, ...]
    answered: tuple[Evidence, ...]
    answer_only: Evidence
    ends: tuple[float, ...] = ()

    @classmethod
    def of(cls, row: Any) -> TrainingQuestion:
        """From a row of a recording, or a dict of its schema; a training question is returned as it is."""
        if isinstance(row, cls):
            return row
        draws = getattr(
            row, "draws", None
        )  # a recording's row knows whether its log-probabilities can be used
        if draws is not None:
            arrays = draws()
            found = [arrays.evidence(range(n)) for n in _numbers(len(arrays))]
        else:
            samples, partition = row_samples(row)
            found = [
                Evidence.gather(samples[:n], Partition(partition.meanings[:n]))
                for n in _numbers(len(samples))
            ]
        found = [_whole(evidence) for evidence in found]
        answer, ends = found[0].answer, _end_logprobs(row)
        alone = tuple(replace(evidence, answer=None) for evidence in found)
        if answer is None or answer.logprob is None:
            return cls(alone, (), alone[0], ends)
        first = JudgedAnswer(0, answer.logprob, None, answer.token_entropy)
        return cls(alone, tuple(found), Evidence(counts=(), answer=first), ends)


def _numbers(available: int) -> list[int]:
    if available == 0:
        raise InputError("a training question has no samples")
    return sorted({min(n, available) for n in TRAINING_DRAWS})


def _whole(evidence: Evidence) -> Evidence:
    """The evidence with the end token's probability taken as known, where it was left out."""
    return readings(evidence, DEFAULT_ENDS[1:2])[0].evidence


def _end_logprobs(row: Any) -> tuple[float, ...]:
    """The log-probabilities of the end tokens of a recording's row: its answer's, or those of its samples."""
    header = getattr(row, "header", None)
    if header is None or not header.logprobs_usable:
        return ()
    answer = row.get("answer") or {}
    values = answer.get("sampling_token_logprobs") if answer.get("complete") is not False else None
    if values:
        return (min(0.0, values[-1]),)
    known = [
        held["token_logprobs"][-1]
        for held in row["samples"]
        if held.get("token_logprobs") and held.get("complete") is not False
    ]
    return tuple(min(0.0, value) for value in known[:1])

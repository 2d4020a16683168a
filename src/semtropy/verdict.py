"""The verdict on one question: what was found, why sampling stopped, what it cost, and what that means."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import InputError
from .stopping import Reason, Spent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .nouns import Belief, Partition, Sample

__all__ = ["THRESHOLD", "Entropy", "Meaning", "Verdict"]

THRESHOLD = math.log(2)
"""Flagged above this many nats by default: as unsure as between two equally likely answers."""


_STEADY = "Steady is not the same as true: a model that repeats one error consistently has low entropy too."
_FLAGGED = "Flagged means the model's own samples disagree; one of them, even this one, may still be right."


@dataclass(frozen=True, slots=True)
class Entropy:
    """The semantic entropy in nats: mean, variance and 90% interval, None where the estimator has none."""

    mean: float
    variance: float | None = None
    interval: tuple[float, float] | None = None

    @classmethod
    def of(cls, belief: Belief) -> Entropy:
        return cls(belief.mean, belief.variance, belief.interval(0.9))


@dataclass(frozen=True, slots=True)
class Meaning:
    """One meaning: its commonest wording, how many samples had it, and the least probability it can have."""

    text: str
    count: int
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one question once sampling stopped.

    `probability` is the calibrated probability that the answer is made up, None without a calibration.
    `belief`, `partition` and `draws` are there after a live check only: they do not travel in JSON.
    """

    question: str
    answer: str
    entropy: Entropy
    meanings: tuple[Meaning, ...]
    spent: Spent
    reason: Reason
    flagged: bool
    probability: float | None = None
    threshold: float = THRESHOLD
    warnings: tuple[str, ...] = ()
    belief: Belief | None = field(default=None, compare=False, repr=False)
    partition: Partition | None = field(default=None, compare=False, repr=False)
    draws: tuple[Sample, ...] = field(default=(), compare=False, repr=False)

    @property
    def samples(self) -> int:
        """How many samples the entropy rests on."""
        return self.spent.samples

    def explain(self) -> str:
        """The verdict in plain sentences, with what it does not say.

        >>> found = (Meaning("Paris", 3, 0.8),)
        >>> spent = Spent(samples=3, rounds=2, tokens=9, judge_calls=2, seconds=0.5)
        >>> verdict = Verdict("Capital of France?", "Paris", Entropy(0.1, 0.01, (0.0, 0.4)), found, spent,
        ...                   Reason.VARIANCE, flagged=False)
        >>> print(verdict.explain())
        Looks steady: "Paris".
        All 3 samples mean the same.
        Semantic entropy 0.10 nats (90% between 0.00 and 0.40), below the threshold 0.69.
        The belief is firm: the variance of the entropy is down to what was asked for.
        Cost: 3 samples in 2 rounds, 9 tokens, 2 judge calls, 0.5 s.
        Steady is not the same as true: a model that repeats one error consistently has low entropy too.
        """
        return "\n".join(
            [
                self.headline(),
                self._agreement(),
                self._finding(),
                str(self.reason),
                self._cost(),
                *self._cautions(),
            ]
        )

    def headline(self) -> str:
        """One plain sentence."""
        if not self.answer.strip():
            return "No answer: the model returned an empty one."
        quoted = f'"{self.answer}"'
        if not self.flagged:
            return f"Looks steady: {quoted}."
        if self.probability is not None:
            return f"Probably made up ({self.probability:.0%}): {quoted}."
        return f"Likely made up: {quoted}."

    def _finding(self) -> str:
        entropy = f"Semantic entropy {self.entropy.mean:.2f} nats"
        if self.entropy.interval is not None:
            entropy += " (90% between {:.2f} and {:.2f})".format(*self.entropy.interval)
        if self.probability is not None:
            return (
                f"{entropy}: made up with a probability of {self.probability:.0%}, by the calibration given."
            )
        side = "above" if self.entropy.mean > self.threshold else "below"
        return f"{entropy}, {side} the threshold {self.threshold:.2f}."

    def _agreement(self) -> str:
        n, m = self.samples, len(self.meanings)
        if n == 1:
            return "One sample was drawn."
        if m == 1:
            return f"All {n} samples mean the same."
        if m == n:
            return f"The {n} samples mean {n} different things."
        most = max(self.meanings, key=lambda meaning: meaning.count)
        return f'{n} samples fall into {m} meanings; the commonest is "{most.text}" ({most.count} of {n}).'

    def _cost(self) -> str:
        spent = self.spent
        parts = [f"{_count(spent.samples, 'sample')} in {_count(spent.rounds, 'round')}"]
        if spent.tokens is not None:
            parts.append(_count(spent.tokens, "token"))
        parts.append(_count(spent.judge_calls, "judge call"))
        return f"Cost: {', '.join(parts)}, {spent.seconds:.1f} s."

    def _cautions(self) -> list[str]:
        lines = [f"Note: {warning}" for warning in self.warnings]
        if not self.flagged:
            return [*lines, _STEADY]
        return [
            *lines,
            _FLAGGED,
        ]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data, the same on the command line and over HTTP."""
        entropy, spent = self.entropy, self.spent
        return {
            "question": self.question,
            "answer": self.answer,
            "entropy": {
                "mean": entropy.mean,
                "variance": entropy.variance,
                "interval": None if entropy.interval is None else list(entropy.interval),
            },
            "meanings": [{"text": m.text, "count": m.count, "floor": m.floor} for m in self.meanings],
            "samples": spent.samples,
            "rounds": spent.rounds,
            "reason": str(self.reason),
            "flagged": self.flagged,
            "probability": self.probability,
            "threshold": self.threshold,
            "cost": {"tokens": spent.tokens, "judge_calls": spent.judge_calls, "seconds": spent.seconds},
            "warnings": list(self.warnings),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text; `from_json` reads it back."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Read what `to_dict` wrote; a missing or wrong field is named."""
        try:
            entropy, cost = data["entropy"], data["cost"]
            interval = entropy["interval"]
            return cls(
                question=data["question"],
                answer=data["answer"],
                entropy=Entropy(
                    entropy["mean"],
                    entropy["variance"],
                    None if interval is None else (interval[0], interval[1]),
                ),
                meanings=tuple(Meaning(m["text"], m["count"], m["floor"]) for m in data["meanings"]),
                spent=Spent(
                    data["samples"], data["rounds"], cost["tokens"], cost["judge_calls"], cost["seconds"]
                ),
                reason=Reason(data["reason"]),
                flagged=data["flagged"],
                probability=data["probability"],
                threshold=data.get("threshold", THRESHOLD),
                warnings=tuple(data["warnings"]),
            )
        except KeyError as error:
            raise InputError(f"this is not a verdict: the field {error.args[0]!r} is missing") from error
        except (TypeError, IndexError, ValueError) as error:
            raise InputError(f"this is not a verdict: {error}") from error

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Read what `to_json` wrote."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"this is not a verdict: {error}") from error
        if not isinstance(data, dict):
            raise InputError("this is not a verdict: expected an object")
        return cls.from_dict(data)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

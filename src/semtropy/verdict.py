"""The verdict on one question: what was found, why sampling stopped, what it cost, and what that means."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import InputError
from .stopping import Reason, Spent
from .verdict_parts import Entropy, FieldVerdict, Meaning, Outcome, VerdictAgreement, Wording, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .nouns import Belief, Partition, Sample

__all__ = [
    "THRESHOLD",
    "Entropy",
    "FieldVerdict",
    "Meaning",
    "Outcome",
    "Verdict",
    "VerdictAgreement",
    "Wording",
    "percent",
]

THRESHOLD = math.log(2)
"""Flagged above this many nats by default: as unsure as between two equally likely answers."""

_STEADY = "Steady is not the same as true: a model that repeats one error consistently has low entropy too."
_FLAGGED = "A flag says that the model is unsure, not that the answer is wrong: it may still be right."
_OUTSIDE = "A flag says that the model mostly says something else, not that the answer is wrong: it may still be right."


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of checking one question.

    question     the prompt
    answer       the judged answer
    outcome      steady, flagged, undecided or no answer
    entropy      mean, variance and 90% interval of the semantic entropy, in nats
    meanings     the meanings found, with their samples' texts
    spent        samples, rounds, tokens, judge calls and seconds
    reason       why sampling stopped
    agreement    the probability that another sample means what the answer means, None where unknown
    probability  the calibrated probability of a hallucination, None without a calibration
    threshold    the entropy in nats above which an answer is flagged
    warnings     what qualifies the numbers, as sentences
    missing      why there is no answer, None where there is one
    fields       the verdict on each field of a structured answer; empty for any other
    belief       the full posterior; after a live check only, not part of the JSON
    partition    the meaning of each sample; after a live check only, not part of the JSON
    draws        the samples; after a live check only, not part of the JSON

    >>> from semtropy import check
    >>> from semtropy.models import ScriptedModel
    >>> model = ScriptedModel(default={"Paris": 0.98, "Lyon": 0.02})
    >>> verdict = check("What is the capital of France?", model=model, judge="exact", rng=1)
    >>> verdict.answer, verdict.flagged
    ('Paris', False)
    """

    question: str
    answer: str
    outcome: Outcome
    entropy: Entropy
    meanings: tuple[Meaning, ...]
    spent: Spent
    reason: Reason
    agreement: VerdictAgreement | None = None
    probability: float | None = None
    threshold: float = THRESHOLD
    warnings: tuple[str, ...] = ()
    missing: str | None = None
    fields: tuple[FieldVerdict, ...] = ()
    belief: Belief | None = field(default=None, compare=False, repr=False)
    partition: Partition | None = field(default=None, compare=False, repr=False)
    draws: tuple[Sample, ...] = field(default=(), compare=False, repr=False)

    @property
    def samples(self) -> int:
        """How many samples the verdict rests on; the answer is not counted."""
        return self.spent.samples

    @property
    def flagged(self) -> bool:
        """Whether the outcome is `flagged`."""
        return self.outcome is Outcome.FLAGGED

    @property
    def untrusted(self) -> tuple[str, ...]:
        """The names of the fields not to trust: those that are flagged, and required ones that are not there."""
        return tuple(field.name for field in self.fields if field.untrusted)

    def explain(self) -> str:
        """The verdict in plain sentences, with what it does not say.

        >>> found = (Meaning("Paris", 3, 0.8, has_answer=True),)
        >>> spent = Spent(samples=3, rounds=2, tokens=9, judge_calls=2, seconds=0.5)
        >>> verdict = Verdict("Capital of France?", "Paris", Outcome.STEADY, Entropy(0.1, 0.01, (0.0, 0.4)), found,
        ...                   spent, Reason.DECIDED_LOW, VerdictAgreement(0.97, (0.9, 1.0)))
        >>> print(verdict.explain())
        Looks steady: "Paris".
        Asked again, the model would say so 97 times in 100 (90% interval: 90 to 100).
        All 3 samples mean what the answer means.
        Semantic entropy 0.10 nats (90% interval: 0.00 to 0.40), below the threshold 0.69.
        Stopped: more samples are unlikely to change the verdict, which is for the answer.
        Cost: 3 samples in 2 rounds, 9 tokens, 2 judge calls, 0.5 s.
        Steady is not the same as true: a model that repeats one error consistently has low entropy too.
        """
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """The sentences of `explain`. Further lines of an answer are indented, so that none looks like a sentence."""
        lines = [self.headline()]
        if self.fields:
            lines += [f"  {field.sentence()}" for field in self.fields]
        elif self.outcome is not Outcome.NO_ANSWER:
            if self.agreement is not None:
                lines.append(self.agreement.sentence())
            lines += [self._samples_sentence(), self._entropy_sentence()]
        lines += [str(self.reason), self._cost(), *(f"Note: {warning}" for warning in self.warnings)]
        caution = {Outcome.STEADY: _STEADY, Outcome.FLAGGED: self._flag_caution()}.get(self.outcome)
        return [line.replace("\n", "\n    ") for line in (*lines, caution) if line is not None]

    def _flag_caution(self) -> str:
        """What a flag does not say; below the threshold the model is sure, but of something else."""
        sure = not self.fields and self.probability is None and self.entropy.mean <= self.threshold
        return _OUTSIDE if sure else _FLAGGED

    def headline(self) -> str:
        """One plain sentence."""
        if self.fields:
            return self._fields_headline()
        quoted = f'"{self.answer}"'
        if self.outcome is Outcome.NO_ANSWER:
            return f"No answer: {self.missing or 'the model returned an empty one'}."
        if self.outcome is Outcome.UNDECIDED:
            return f"Undecided: {quoted}."
        if self.outcome is Outcome.STEADY:
            return f"Looks steady: {quoted}."
        if self.probability is not None:
            likely = "Probably" if self.probability > 0.5 else "Possibly"
            return f"{likely} made up ({self.probability:.0%}): {quoted}."
        return f"{self.suspected()}: {quoted}."

    def suspected(self) -> str:
        """What a flag says: "Possibly" where the model would mostly repeat the answer and otherwise say many things."""
        repeated = self.agreement is not None and self.agreement.mean > 0.5
        return "Possibly made up" if repeated else "Likely made up"

    def _fields_headline(self) -> str:
        waited = [field for field in self.fields if field.required] or self.fields
        undecided = [field.name for field in waited if field.outcome is Outcome.UNDECIDED]
        said = [f"Do not trust: {', '.join(self.untrusted)}."] if self.untrusted else []
        said += [f"Undecided: {', '.join(undecided)}."] if undecided else []
        return " ".join(said) or f"Looks steady: {', '.join(field.name for field in waited)}."

    def show_groups(self) -> str:
        """Every meaning by count, with all of its wordings; the answer's meaning is marked.

        >>> wordings = (Wording("Paris", 2), Wording("paris", 1))
        >>> found = (Meaning("Paris", 3, 0.8, wordings, has_answer=True),)
        >>> spent, entropy = Spent(samples=3), Entropy(0.1)
        >>> print(Verdict("?", "Paris", Outcome.STEADY, entropy, found, spent, Reason.FIXED).show_groups())
        3 x Paris (the answer)
              2 x Paris
              1 x paris
        """
        if not self.fields:
            return "\n".join(_grouped(self.meanings))
        return "\n".join(
            line
            for field in self.fields
            for line in (f"{field.name}:", *(f"  {group}" for group in _grouped(field.meanings)))
        )

    def _entropy_sentence(self) -> str:
        entropy = f"Semantic entropy {self.entropy.mean:.2f} nats"
        if self.entropy.interval is not None:
            entropy += " (90% interval: {:.2f} to {:.2f})".format(*self.entropy.interval)
        if self.probability is not None:
            return f"{entropy}; the calibration gives a probability of {self.probability:.0%} that it is made up."
        side = "above" if self.entropy.mean > self.threshold else "below"
        return f"{entropy}, {side} the threshold {self.threshold:.2f}."

    def _samples_sentence(self) -> str:
        n, drawn = self.samples, [meaning for meaning in self.meanings if meaning.count]
        if n == 0 or not drawn:
            decided = self.reason in (Reason.DECIDED_LOW, Reason.DECIDED_HIGH)
            return (
                "No sample was needed: the answer's own probability decides."
                if decided
                else "No sample was drawn: there is only the answer to go by."
            )
        own = next((meaning.count for meaning in self.meanings if meaning.has_answer), 0)
        if own == n:
            return (
                "The one sample means what the answer means."
                if n == 1
                else (f"All {n} samples mean what the answer means.")
            )
        if n == 1:
            return f'The one sample means something else than the answer: "{drawn[0].text}".'
        agree = f"{own or 'None'} of {n} samples mean{'s' * (own == 1)} what the answer means"
        if len(drawn) == 1:
            return f'{agree}; all of them say "{drawn[0].text}".'
        if len(drawn) == n:
            return f"{agree}; the {n} samples mean {n} different things."
        most = max(drawn, key=lambda meaning: meaning.count)
        return f'{agree}; they fall into {len(drawn)} meanings, the commonest "{most.text}" ({most.count} of {n}).'

    def _cost(self) -> str:
        spent = self.spent
        parts = [
            f"{_count(spent.samples, 'sample')} in {_count(spent.rounds, 'round')}"
            if spent.samples
            else "no sample"
        ]
        if spent.tokens is not None:
            parts.append(_count(spent.tokens, "token"))
        parts.append(_count(spent.judge_calls, "judge call"))
        return f"Cost: {', '.join(parts)}, {spent.seconds:.1f} s."

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data, the same on the command line and over HTTP."""
        agreement, spent = self.agreement, self.spent
        data = {
            "question": self.question,
            "answer": self.answer,
            "outcome": str(self.outcome),
            "entropy": self.entropy.to_dict(),
            "agreement": None if agreement is None else agreement.to_dict(),
            "meanings": [meaning.to_dict() for meaning in self.meanings],
            "samples": spent.samples,
            "rounds": spent.rounds,
            "reason": str(self.reason),
            "flagged": self.flagged,
            "missing": self.missing,
            "probability": self.probability,
            "threshold": self.threshold,
            "cost": {"tokens": spent.tokens, "judge_calls": spent.judge_calls, "seconds": spent.seconds},
            "warnings": list(self.warnings),
        }
        if self.fields:
            data["fields"] = [field.to_dict() for field in self.fields]
            data["untrusted"] = list(self.untrusted)
        return data

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text; `from_json` reads it back."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Read what `to_dict` wrote; a missing or wrong field is named."""
        try:
            entropy, cost = Entropy.from_dict(data["entropy"]), data["cost"]
            return cls(
                question=data["question"],
                answer=data["answer"],
                outcome=Outcome(data["outcome"]),
                entropy=entropy,
                agreement=VerdictAgreement.from_dict(data["agreement"]),
                meanings=tuple(map(Meaning.from_dict, data["meanings"])),
                fields=tuple(map(FieldVerdict.from_dict, data.get("fields", ()))),
                spent=Spent(
                    data["samples"], data["rounds"], cost["tokens"], cost["judge_calls"], cost["seconds"]
                ),
                reason=Reason(data["reason"]),
                probability=data["probability"],
                threshold=data.get("threshold", THRESHOLD),
                warnings=tuple(data["warnings"]),
                missing=data.get("missing"),
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


def _grouped(meanings: tuple[Meaning, ...]) -> list[str]:
    """Meanings by count, each with its wordings where there are several."""
    lines = []
    for meaning in sorted(meanings, key=lambda each: (-each.count, not each.has_answer)):
        if not meaning.count:  # only the answer can have a meaning that no sample has
            lines.append(f"no sample: {meaning.text} (the answer)")
            continue
        lines.append(f"{meaning.count} x {meaning.text}{' (the answer)' if meaning.has_answer else ''}")
        if len(meaning.wordings) > 1:
            drawn = [
                (f"{wording.count} x" if wording.count else "answer:", wording.text)
                for wording in meaning.wordings
            ]
            lines += [f"      {often} {text}" for often, text in drawn]
    return lines

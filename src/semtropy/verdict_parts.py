"""The parts of a verdict: what is known of an answer, or of one field of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .nouns import Belief

__all__ = ["Entropy", "FieldVerdict", "Meaning", "Outcome", "VerdictAgreement", "Wording", "percent"]


class Outcome(StrEnum):
    """What a verdict says."""

    STEADY = "steady"
    FLAGGED = "flagged"
    UNDECIDED = "undecided"
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Entropy:
    """The semantic entropy in nats: mean, variance and 90% interval, None where the estimator has none."""

    mean: float
    variance: float | None = None
    interval: tuple[float, float] | None = None

    @classmethod
    def of(cls, belief: Belief) -> Entropy:
        """What a belief says of the entropy."""
        return cls(belief.mean, belief.variance, belief.interval(0.9))

    def to_dict(self) -> dict[str, Any]:
        """The entropy as plain data."""
        return {"mean": self.mean, "variance": self.variance, "interval": _listed(self.interval)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entropy:
        """Read what `to_dict` wrote."""
        return cls(data["mean"], data["variance"], _pair(data["interval"]))


@dataclass(frozen=True, slots=True)
class VerdictAgreement:
    """The probability that another sample means what the answer means: mean and 90% interval."""

    mean: float
    interval: tuple[float, float] | None = None

    def sentence(self) -> str:
        """The probability as people read it.

        >>> VerdictAgreement(0.83, (0.61, 0.95)).sentence()
        'Asked again, the model would say so 83 times in 100 (90% interval: 61 to 95).'
        """
        often = percent(self.mean)
        times = (
            f"Asked again, the model would say so {often} time{'s' * (often[-2:] not in ('1', ' 1'))} in 100"
        )
        if self.interval is None:
            return f"{times}."
        low, high = map(percent, self.interval)
        return f"{times} (90% interval: {low} to {high})."

    def to_dict(self) -> dict[str, Any]:
        """The agreement as plain data."""
        return {"mean": self.mean, "interval": _listed(self.interval)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> VerdictAgreement | None:
        """Read what `to_dict` wrote; None where the agreement is unknown."""
        return None if data is None else cls(data["mean"], _pair(data["interval"]))


@dataclass(frozen=True, slots=True)
class Wording:
    """One text among those of a meaning, and how many samples had it."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Meaning:
    """One meaning: its commonest wording, how many samples had it, and the least probability it can have.

    `wordings` has every text grouped under it, the commonest first. `has_answer` marks the meaning of the answer,
    which counts 0 where no sample has it.
    """

    text: str
    count: int
    floor: float = 0.0
    wordings: tuple[Wording, ...] = ()
    has_answer: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The meaning as plain data."""
        return {
            "text": self.text,
            "count": self.count,
            "floor": self.floor,
            "wordings": [{"text": each.text, "count": each.count} for each in self.wordings],
            "has_answer": self.has_answer,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Meaning:
        """Read what `to_dict` wrote."""
        wordings = tuple(Wording(each["text"], each["count"]) for each in data["wordings"])
        return cls(data["text"], data["count"], data["floor"], wordings, data["has_answer"])


@dataclass(frozen=True, slots=True)
class FieldVerdict:
    """The verdict on one field of a structured answer.

    name         the keys that lead to it, joined by dots, with the place in a list: "authors[0]"; "authors[+]" is the
                 item that samples have most often and the answer has not
    value        its value in the answer as JSON, None where there is none
    required     whether sampling went on for it, and whether it counts for the outcome of the whole
    outcome      steady, flagged, undecided, or no answer: a required field is not there, or a tool was not offered
    entropy      of the field's value, in nats
    meanings     the values found
    agreement    the probability that another sample has the same value, None where unknown
    probability  the calibrated probability of a hallucination, None without a calibration

    >>> found = (Meaning("1912", 3, 0.1, has_answer=True), Meaning("1911", 2))
    >>> agreement = VerdictAgreement(0.55, (0.25, 0.83))
    >>> print(FieldVerdict("year", 1912, True, Outcome.FLAGGED, Entropy(0.8), found, agreement).sentence())
    year: 1912 (flagged; 3 of 5 samples agree; asked again, 55 times in 100)
    """

    name: str
    value: Any
    required: bool
    outcome: Outcome
    entropy: Entropy
    meanings: tuple[Meaning, ...]
    agreement: VerdictAgreement | None = None
    probability: float | None = None

    @property
    def flagged(self) -> bool:
        """Whether the outcome is `flagged`."""
        return self.outcome is Outcome.FLAGGED

    @property
    def untrusted(self) -> bool:
        """Whether the field is not to be trusted: it is flagged, required and not there, or was not offered."""
        return self.outcome in (Outcome.FLAGGED, Outcome.NO_ANSWER)

    @property
    def shown(self) -> str:
        """The value as people read it: text as it is, anything else as JSON."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)

    def sentence(self) -> str:
        """The field in one line."""
        if self.outcome is Outcome.NO_ANSWER:
            if self.value is not None:
                return f"{self.name}: {self.shown}, which was not offered"
            return f"{self.name}: required, but not in the answer"
        drawn = sum(meaning.count for meaning in self.meanings)
        own = sum(meaning.count for meaning in self.meanings if meaning.has_answer)
        said = [str(self.outcome)]
        if drawn:
            said.append(f"{own} of {drawn} samples agree")
        if self.agreement is not None:
            said.append(f"asked again, {percent(self.agreement.mean)} times in 100")
        value = f"without {self.shown}" if self.name.endswith("[+]") else self.shown
        return f"{self.name}: {value} ({'; '.join(said)})"

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {
            "name": self.name,
            "value": self.value,
            "required": self.required,
            "outcome": str(self.outcome),
            "flagged": self.flagged,
            "entropy": self.entropy.to_dict(),
            "agreement": None if self.agreement is None else self.agreement.to_dict(),
            "meanings": [meaning.to_dict() for meaning in self.meanings],
            "probability": self.probability,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FieldVerdict:
        """Read what `to_dict` wrote."""
        return cls(
            name=data["name"],
            value=data["value"],
            required=data["required"],
            outcome=Outcome(data["outcome"]),
            entropy=Entropy.from_dict(data["entropy"]),
            meanings=tuple(map(Meaning.from_dict, data["meanings"])),
            agreement=VerdictAgreement.from_dict(data["agreement"]),
            probability=data["probability"],
        )


def percent(probability: float) -> str:
    """A probability as a number out of 100: whole, but 0 and 100 only where they are exact.

    >>> percent(0.996), percent(1.0)
    ('more than 99', '100')
    """
    if 0.995 < probability < 1:
        return "more than 99"
    if 0 < probability < 0.005:
        return "less than 1"
    return f"{100 * probability:.0f}"


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _pair(interval: Sequence[float] | None) -> tuple[float, float] | None:
    return None if interval is None else (interval[0], interval[1])

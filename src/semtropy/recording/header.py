"""The header of a recording: what model answered which questions, and whether its log-probabilities can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .validate import VERSION, check_header

__all__ = ["Header", "JsonObject"]


@dataclass(frozen=True, eq=False)
class JsonObject(Mapping[str, Any]):
    """A read-only JSON object with the interface of a mapping."""

    fields: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, key: object) -> bool:
        return key in self.fields


@dataclass(frozen=True, eq=False)
class Header(JsonObject):
    """The first line of a recording: what model answered which questions, and how.

    fields  the JSON object

    >>> header = Header.make(model="llama", dataset="svamp", temperature=1.0, eos_included=False)
    >>> header.logprobs_usable
    False
    >>> header.why_logprobs_unusable
    'the log-probabilities leave out the end token (eos_included)'
    """

    def __post_init__(self) -> None:
        check_header(self.fields)

    @classmethod
    def make(cls, **fields: Any) -> Header:
        """A header of this version with `fields` after the version, in the order given."""
        return cls({"semtropy_recording": VERSION, **fields})

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return self.fields.get("model")

    @property
    def dataset(self) -> str | None:
        """The set of questions."""
        return self.fields.get("dataset")

    @property
    def temperature(self) -> float | None:
        """The temperature the samples were drawn at."""
        return self.fields.get("temperature")

    @property
    def eos_included(self) -> bool | None:
        """Whether sequence log-probabilities include that of the end token."""
        return self.fields.get("eos_included")

    @property
    def replacement(self) -> bool:
        """False where no sample of a question repeats another: they were drawn without replacement."""
        return self.fields.get("replacement") is not False

    @property
    def logprobs_usable(self) -> bool:
        """Whether the samples' log-probabilities are lower bounds on the probability of their meanings."""
        return self.why_logprobs_unusable is None

    @property
    def why_logprobs_unusable(self) -> str | None:
        """Why log-probabilities cannot be used as lower bounds, or None where they can.

        They must include the end token and belong to the distribution sampled from: temperature 1 without top-k or
        top-p, unless `logprobs_of_sampling` says that they were corrected to it. A missing key stands for the
        schema's default (end token included, temperature 1); null means unknown.
        """
        if self.fields.get("eos_included", True) is not True:
            return "the log-probabilities leave out the end token (eos_included)"
        return self._why_not_of_sampling()

    @property
    def ends_left_out(self) -> bool:
        """Whether the log-probabilities lack the end token, and nothing else: `bayes` models its probability."""
        return self.eos_included is False and self._why_not_of_sampling() is None

    def _why_not_of_sampling(self) -> str | None:
        corrected = self.fields.get("logprobs_of_sampling")
        if corrected is not None:
            return None if corrected else "the log-probabilities are not of the sampling distribution"
        if self.fields.get("temperature", 1.0) != 1.0:
            return (
                f"the log-probabilities are of temperature 1, the samples of {self.temperature or 'another'}"
            )
        if self.fields.get("top_k") or self.fields.get("top_p", 1.0) not in (None, 1.0):
            return "the log-probabilities are of the whole distribution, the samples of a truncated one (top_k, top_p)"
        return None

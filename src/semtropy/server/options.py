"""What a request may choose for itself, within the operator's limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..meaning import NAMES as JUDGES

__all__ = ["BudgetChoice", "CheckRequest", "Choices", "ReplayRequest", "RuleChoice", "SampleGiven"]

EstimatorName = Literal["bayes", "bayes-paper", "histogram", "rescaled", "rescaled-length"]
# Judges that load a path or ask another model are the operator's to choose.
OPEN_JUDGES = tuple(name for name in JUDGES if ":" not in name)
Text = Annotated[str, Field(max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RuleChoice(_Strict):
    """When to stop: at this `variance`, with this `confidence` about the threshold, or after `samples`; one of them."""

    variance: float | None = Field(None, ge=0)
    confidence: float | None = Field(None, gt=0.5, lt=1)
    samples: int | None = Field(None, ge=1, le=1000)

    @model_validator(mode="after")
    def _one(self) -> RuleChoice:
        if sum(value is not None for value in (self.variance, self.confidence, self.samples)) != 1:
            raise ValueError("give one of variance, confidence, samples")
        return self


class BudgetChoice(_Strict):
    """Hard limits, never above the operator's own."""

    samples: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, ge=0.1)


class Choices(_Strict):
    """The object under `semtropy` in a request."""

    mode: Literal["annotate", "block", "off"] | None = None
    place: Literal["body", "headers"] | None = None
    rule: RuleChoice | None = None
    budget: BudgetChoice | None = None
    estimator: EstimatorName | None = None
    judge: Text | None = Field(None, description=f"{', '.join(OPEN_JUDGES)}, or the operator's own")
    threshold: float | None = Field(None, gt=0, le=100)
    one_by_one: bool = Field(False, description="draw one sample a round: the fewest samples, more waiting")
    cache: bool = Field(True, description="whether a remembered check of the same question may be used")


class CheckRequest(Choices):
    """A question to check."""

    prompt: str = Field(min_length=1)
    model: Text | None = Field(None, description="the upstream's model to ask")
    stream: bool = Field(False, description="send each step as a server-sent event")
    seed: int | None = Field(None, ge=0, lt=2**63)


class SampleGiven(_Strict):
    """A sample that was drawn before, with the meaning it was given."""

    text: str
    meaning: int = Field(ge=0)
    logprob: float | None = Field(None, le=0)
    tokens: int | None = Field(None, ge=0, le=100_000, description="how many tokens it has")
    complete: bool = True


class ReplayRequest(Choices):
    """Samples of an earlier check, to be looked at under other terms."""

    prompt: str = Field(min_length=1)
    answer: str = ""
    samples: list[SampleGiven] = Field(min_length=1, max_length=1000)

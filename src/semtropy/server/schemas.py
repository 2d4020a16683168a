"""The options of a check, and the bodies of our own routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..conversation import as_messages
from ..estimators import NAMES as ESTIMATORS
from ..meaning import NAMES as JUDGES
from ..options import FLAGS
from ..samples import MOST_TOKEN_ENTROPY
from .settings import Mode, Place  # noqa: TC001  # pydantic reads them

if TYPE_CHECKING:
    from ..conversation import Prompt

    EstimatorName = str
else:
    EstimatorName = Literal[ESTIMATORS]


# Judges that a request may name: not those that cost more requests or a download, or read the operator's files.
OPEN_JUDGES = tuple(name for name in JUDGES if ":" not in name and name not in ("llm", "builtin-large"))
Text = Annotated[str, Field(max_length=200)]


def shared_field(name: str, **more: Any) -> Any:
    """A key that is an option of a check: its limits and its description are in `semtropy.options`."""
    return Field(**{"default": None, **FLAGS[name].request, **more})


class _Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RuleOptions(_Schema):
    """When to stop: at this `variance`, with this `confidence` about the threshold, or after `samples`. Exactly one."""

    variance: float | None = shared_field("variance")
    confidence: float | None = shared_field("confidence")
    samples: int | None = Field(None, ge=1, le=1000)

    @model_validator(mode="after")
    def _one(self) -> RuleOptions:
        if sum(value is not None for value in (self.variance, self.confidence, self.samples)) != 1:
            raise ValueError("give one of variance, confidence, samples")
        return self


class BudgetOptions(_Schema):
    """Hard limits; the operator's own limits hold as well."""

    samples: int | None = shared_field("max_samples")
    tokens: int | None = Field(None, ge=1, le=2**53)
    seconds: float | None = shared_field("max_seconds")


class CheckOptions(_Schema):
    """The object under `semtropy` in a request: how its check is made."""

    mode: Mode | None = None
    place: Place | None = None
    rule: RuleOptions | None = None
    budget: BudgetOptions | None = None
    estimator: EstimatorName | None = None
    judge: Text | None = Field(None, description=f"{', '.join(OPEN_JUDGES)}, or the one the operator set")
    threshold: float | None = shared_field("threshold")
    choices: list[Text] | None = shared_field("choices")
    required: list[Text] | None = shared_field("required")
    one_by_one: bool = shared_field("one_by_one", default=False)
    cache: bool = Field(True, description="whether a cached check of the same request may be used")


class CheckRequest(CheckOptions):
    """A question or a conversation to check, and the answer where there is one already."""

    prompt: str | None = Field(None, min_length=1)
    messages: list[dict[str, Any]] | None = Field(
        None, min_length=1, description="chat messages that end with the one to answer, instead of a prompt"
    )
    system: str | None = shared_field("system")
    answer: str | None = shared_field("answer")
    model: Text | None = shared_field("model")
    stream: bool = Field(False, description="send each step as a server-sent event")
    seed: int | None = shared_field("seed")
    answer_schema: dict[str, Any] | None = shared_field("schema", alias="schema")

    @model_validator(mode="after")
    def _asked(self) -> CheckRequest:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give one of prompt, messages")
        return self

    def asked(self) -> Prompt:
        """The prompt for the model: the question, or messages where there are some or a system message."""
        if self.messages is None and self.system is None:
            return self.prompt or ""
        return as_messages(self.messages or self.prompt or "", self.system)


class RecordedSample(_Schema):
    """A sample drawn earlier, with its meaning."""

    text: str
    meaning: int = Field(ge=0)
    logprob: float | None = Field(None, le=0)
    prefix_logprob: float | None = Field(
        None, le=0, description="without the end token, where that is left out"
    )
    tokens: int | None = Field(None, ge=0, le=100_000, description="how many tokens it has")
    complete: bool = True


class RecordedAnswer(_Schema):
    """The answer of an earlier check, as its steps show it."""

    text: str
    meaning: int | None = Field(None, ge=0, description="its meaning among those of the samples")
    logprob: float | None = Field(None, le=0, description="at the temperature of the samples")
    prefix_logprob: float | None = Field(
        None, le=0, description="without the end token, where that is left out"
    )
    token_entropy: float | None = Field(None, ge=0, le=MOST_TOKEN_ENTROPY, description="in nats")
    carried_logprob: float | None = Field(
        None, le=0, description="of the least probable token that carries the answer"
    )
    complete: bool = True


class ReplayRequest(CheckOptions):
    """The answer and samples of an earlier check, to be judged under other terms without drawing again."""

    prompt: str = Field(min_length=1)
    answer: RecordedAnswer
    samples: list[RecordedSample] = Field(max_length=1000)

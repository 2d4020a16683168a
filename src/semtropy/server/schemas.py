"""Requests: the options of a check, the bodies of our own routes, and completion requests passed to the backend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..meaning import NAMES as JUDGES
from ..samples import MOST_TOKEN_ENTROPY
from .dialects.chat import ChatDialect
from .errors import Problem
from .structures import structure_of

if TYPE_CHECKING:
    from ..structured import Structure
    from .dialects import Dialect
    from .middleware import Caller

__all__ = [
    "BudgetOptions",
    "CheckOptions",
    "CheckRequest",
    "CompletionRequest",
    "RecordedSample",
    "ReplayRequest",
    "RuleOptions",
    "parse_json",
    "read_completion_request",
]

EstimatorName = Literal[
    "bayes",
    "bayes-paper",
    "histogram",
    "rescaled",
    "rescaled-length",
    "miller-madow",
    "chao-shen",
    "james-stein",
    "nsb",
    "pitman-yor",
    "evidential",
]
# Judges that load a path or ask another model can only be chosen by the operator.
# Judges that a request may name: not those that cost more requests, or read the operator's files.
OPEN_JUDGES = tuple(name for name in JUDGES if ":" not in name and name != "llm")
Text = Annotated[str, Field(max_length=200)]


class _Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RuleOptions(_Schema):
    """When to stop: at this `variance`, with this `confidence` about the threshold, or after `samples`. Exactly one."""

    variance: float | None = Field(None, ge=0)
    confidence: float | None = Field(None, gt=0.5, lt=1)
    samples: int | None = Field(None, ge=1, le=1000)

    @model_validator(mode="after")
    def _one(self) -> RuleOptions:
        if sum(value is not None for value in (self.variance, self.confidence, self.samples)) != 1:
            raise ValueError("give one of variance, confidence, samples")
        return self


class BudgetOptions(_Schema):
    """Hard limits; the operator's own limits hold as well."""

    samples: int | None = Field(None, ge=0, le=2**53, description="0 judges the answer alone")
    tokens: int | None = Field(None, ge=1, le=2**53)
    seconds: float | None = Field(None, ge=0.1)


class CheckOptions(_Schema):
    """The object under `semtropy` in a request: how its check is made."""

    mode: Literal["annotate", "block", "off"] | None = None
    place: Literal["body", "headers"] | None = None
    rule: RuleOptions | None = None
    budget: BudgetOptions | None = None
    estimator: EstimatorName | None = None
    judge: Text | None = Field(None, description=f"{', '.join(OPEN_JUDGES)}, or the one the operator set")
    threshold: float | None = Field(None, gt=0, le=100)
    choices: list[Text] | None = Field(
        None, min_length=2, max_length=100, description="the answer names one of these"
    )
    required: list[Text] | None = Field(
        None, max_length=100, description="the fields of a structured answer that the verdict waits for"
    )
    one_by_one: bool = Field(False, description="draw one sample per round: fewest samples, longest wait")
    cache: bool = Field(True, description="whether a cached check of the same request may be used")


class CheckRequest(CheckOptions):
    """A question to check."""

    prompt: str = Field(min_length=1)
    model: Text | None = Field(None, description="the upstream's model to ask")
    stream: bool = Field(False, description="send each step as a server-sent event")
    seed: int | None = Field(None, ge=0, lt=2**63)
    answer_schema: dict[str, Any] | None = Field(
        None, alias="schema", description="answers are JSON of this schema, judged field by field"
    )


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
    complete: bool = True


class ReplayRequest(CheckOptions):
    """The answer and samples of an earlier check, to be judged under other terms without drawing again."""

    prompt: str = Field(min_length=1)
    answer: RecordedAnswer
    samples: list[RecordedSample] = Field(max_length=1000)


CompletionKind = Literal["chat", "completions"]
# Fields that the check sets itself when it draws samples; all others are sent as the client wrote them.
_SET_BY_CHECK = {
    "model",
    "stream",
    "stream_options",
    "n",
    "best_of",
    "echo",
    "suffix",
    "temperature",
    "top_p",
    "seed",
}
_SET_BY_CHECK |= {
    "logprobs",
    "top_logprobs",
    "max_tokens",
    "max_completion_tokens",
    "semtropy",
    "store",
    "metadata",
}


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A completion request: the bytes for the backend (`raw`, without the key `semtropy`), and their content."""

    kind: CompletionKind
    raw: bytes
    body: Mapping[str, Any]
    options: CheckOptions
    caller: Caller

    @property
    def path(self) -> str:
        """The path under the upstream's base URL."""
        return "/chat/completions" if self.kind == "chat" else "/completions"

    @property
    def streaming(self) -> bool:
        return self.body.get("stream") is True

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "")

    @property
    def question(self) -> str | None:
        """The question: the last user message, or the prompt; None where it is not one text."""
        if self.kind == "completions":
            prompt = self.body.get("prompt")
            if isinstance(prompt, list) and len(prompt) == 1:
                prompt = prompt[0]
            return prompt if isinstance(prompt, str) and prompt.strip() else None
        messages = self.body.get("messages")
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") == "user":
                return _text(message.get("content"))
        return None

    @property
    def answer_fields(self) -> dict[str, Any]:
        """The fields of the request that shape an answer: further samples are drawn with them."""
        return {name: value for name, value in self.body.items() if name not in _SET_BY_CHECK}

    @property
    def structure(self) -> Structure | None:
        """How its answers are read; None for plain text. A schema that cannot be read is an `InputError`."""
        return structure_of(self.body, choices=self.options.choices, required=self.options.required)

    @property
    def dialect(self) -> Dialect:
        """How the backend's replies to it are written."""
        return ChatDialect(self.kind, calls=bool(self.body.get("tools")))

    @property
    def temperature(self) -> float | None:
        """The temperature that its answer is drawn at, None where the client leaves it to the server."""
        value, top_p = self.body.get("temperature"), self.body.get("top_p")
        whole = top_p is None or top_p == 1
        known = isinstance(value, int | float) and not isinstance(value, bool) and whole
        return float(value) if known else None  # type: ignore[arg-type]

    @property
    def max_tokens(self) -> int | None:
        for name in ("max_completion_tokens", "max_tokens"):
            value = self.body.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None


def read_completion_request(
    kind: CompletionKind, raw: bytes, *, caller: Caller, header: str | None, max_prompt: int
) -> CompletionRequest:
    """Parse a request. `header` is the value of X-Semtropy, for clients that cannot add a key to the body."""
    body = parse_json(raw)
    if not isinstance(body, dict):
        raise Problem(400, "the body must be a JSON object")
    field_name = "messages" if kind == "chat" else "prompt"
    if not body.get(field_name) or not isinstance(body[field_name], (list, str) if kind != "chat" else list):
        raise Problem(400, f"{field_name} is missing or empty")
    chosen = body.pop("semtropy", None)
    if chosen is not None:  # the upstream must not see `semtropy`; without it, it gets the client's own bytes
        raw = _without_options(body)
    if header is not None:
        more = _object(parse_json(header.encode("latin-1", "replace")), "X-Semtropy")
        chosen = {**_object({} if chosen is None else chosen, "semtropy"), **more}
    try:
        options = CheckOptions.model_validate({} if chosen is None else _object(chosen, "semtropy"))
    except ValidationError as error:
        raise Problem(400, f"semtropy: {_first_error(error)}") from None
    size = _characters(body[field_name])
    if size > max_prompt:
        raise Problem(413, f"the prompt has {size} characters: at most {max_prompt} are allowed")
    return CompletionRequest(kind, raw, body, options, caller)


def _without_options(body: dict[str, Any]) -> bytes:
    """The body again, without the key `semtropy`; a number like 1e999, which JSON allows, cannot be written again."""
    try:
        return json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
    except ValueError:
        message = "a number is too large to be passed on: give the options in the header X-Semtropy"
        raise Problem(400, message) from None


def parse_json(raw: bytes) -> Any:
    """Parse JSON strictly: no NaN or Infinity, no lone surrogates."""
    try:
        parsed = json.loads(raw, parse_constant=_no_constant)
        json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {type(error).__name__}") from None
    return parsed


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _first_error(error: ValidationError) -> str:
    """The first validation error with its place; the input is not repeated."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Problem(400, f"{name} must be an object")
    return value


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) and content.strip() else None


def _characters(value: Any) -> int:
    """The characters of all strings inside, image URLs included; without recursion, as values may be nested deeply."""
    total, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            total += len(part)
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
    return total

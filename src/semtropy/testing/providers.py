"""What each provider takes, refuses and returns: the differences between endpoints as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_STANDARD = frozenset(
    {
        "model", "messages", "prompt", "stream", "stop", "n", "seed", "temperature", "top_p", "logprobs",
        "top_logprobs", "max_tokens", "max_completion_tokens", "echo", "response_format", "tools", "tool_choice",
        "frequency_penalty", "presence_penalty", "user", "reasoning_effort",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is refused: the status, the message, and the parameter where the provider names it."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400


@dataclass(frozen=True, slots=True)
class Provider:
    """An endpoint's behaviour.

    example          the name of a model there
    base_url         where it is served
    completions      whether it has plain completions as well as chat
    known            the fields it knows; None if it ignores the others, else they are refused
    choices          the most answers to one request; more are refused, or given one by one where `drops_choices`
    logprobs         which log-probabilities it returns: those of all tokens ("end"), of all but the end token
                     ("no end"), placeholders ("zeros", "-9999"), or none, refused or ignored
    temperatures     whether it takes any temperature, only 1, or none
    both             whether `temperature` and `top_p` may be given together
    max_tokens       the name of the limit that it takes
    thinking         how many tokens it spends before an answer; they count against the limit
    thinks_aloud     whether they are part of the content, between <think> tags
    seeds            whether the same seed gives the same answer
    weighs_prompts   whether it returns log-probabilities of a prompt: `prompt_logprobs` in chat, `echo` in completions
    errors           the form of its error bodies
    fingerprint      the `system_fingerprint` of its replies, None for none
    beside_calls     the content of a message that calls tools
    calls_finish     the finish reason of such a message
    """

    name: str
    example: str
    base_url: str
    completions: bool = False
    known: frozenset[str] | None = None
    choices: int = 128
    drops_choices: bool = False
    logprobs: Literal["end", "no end", "zeros", "-9999", "refused", "ignored"] = "end"
    temperatures: Literal["any", "one", "none"] = "any"
    both: bool = True
    max_tokens: str = "max_tokens"
    thinking: int = 0
    thinks_aloud: bool = False
    seeds: bool = True
    weighs_prompts: bool = False
    errors: Literal["openai", "google"] = "openai"
    fingerprint: str | None = None
    beside_calls: str | None = None
    calls_finish: str = "tool_calls"
    words: Mapping[str, str] = field(default_factory=dict)

    def refusal(self, body: Mapping[str, Any]) -> Refusal | None:
        """Why a request is refused, if it is."""
        for check in (self._unknown, self._limit, self._temperature, self._choices, self._logprobs):
            refusal = check(body)
            if refusal is not None:
                return refusal
        return None

    def _unknown(self, body: Mapping[str, Any]) -> Refusal | None:
        unknown = [] if self.known is None else sorted(set(body) - self.known)
        if not unknown:
            return None
        if self.errors == "google":
            each = [
                f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
                for name in unknown
            ]
            return Refusal("\n".join(each))
        plural = "s" * (len(unknown) > 1)
        return Refusal(f"Unrecognized request argument{plural} supplied: {', '.join(unknown)}")

    def _limit(self, body: Mapping[str, Any]) -> Refusal | None:
        if self.max_tokens == "max_tokens" or "max_tokens" not in body:
            return None
        return Refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )

    def _temperature(self, body: Mapping[str, Any]) -> Refusal | None:
        temperature = body.get("temperature")
        if self.temperatures == "none" and temperature is not None:
            return Refusal("temperature is deprecated for this model.")
        if self.temperatures == "one" and temperature not in (None, 1):
            return Refusal(
                f"Unsupported value: 'temperature' does not support {temperature:g} with this model. "
                "Only the default (1) value is supported.",
                "temperature",
                "unsupported_value",
            )
        if not self.both and temperature is not None and body.get("top_p") is not None:
            return Refusal(
                "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
            )
        return None

    def _choices(self, body: Mapping[str, Any]) -> Refusal | None:
        n = body.get("n", 1)
        if n < 1:
            return Refusal(
                f"Invalid 'n': integer below minimum value. Expected a value >= 1, but got {n} instead.", "n"
            )
        if n <= self.choices or self.drops_choices:
            return None
        return Refusal(self.words.get("n", f"n is {n}: at most {self.choices}"))

    def _logprobs(self, body: Mapping[str, Any]) -> Refusal | None:
        if self.logprobs != "refused" or not body.get("logprobs"):
            return None
        return Refusal(self.words.get("logprobs", "logprobs are not supported with this model"), "logprobs")


_OPENAI = Provider("openai", "gpt-4o-mini", "https://api.openai.com/v1", known=_STANDARD, logprobs="no end")

BY_NAME: Mapping[str, Provider] = {
    each.name: each
    for each in (
        _OPENAI,
        Provider(
            "openai-reasoning",
            "gpt-5-mini",
            "https://api.openai.com/v1",
            known=_STANDARD,
            logprobs="refused",
            temperatures="one",
            max_tokens="max_completion_tokens",
            thinking=120,
            words={"logprobs": "Unsupported parameter: 'logprobs' is not supported with this model."},
        ),
        Provider(
            "anthropic",
            "claude-sonnet-4-5",
            "https://api.anthropic.com/v1",
            choices=1,
            logprobs="ignored",
            both=False,
            seeds=False,
            beside_calls="I'll look that up for you.",
            words={"n": "n: must be exactly 1"},
        ),
        Provider(
            "anthropic-no-temperature",
            "claude-opus-4-8",
            "https://api.anthropic.com/v1",
            choices=1,
            logprobs="ignored",
            temperatures="none",
            seeds=False,
            words={"n": "n: must be exactly 1"},
        ),
        Provider(
            "gemini",
            "gemini-3.1-flash-lite",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            known=_STANDARD - {"seed", "logprobs", "top_logprobs", "frequency_penalty", "presence_penalty"},
            choices=1,
            logprobs="refused",
            thinking=80,
            errors="google",
            calls_finish="stop",
            words={"n": "Multiple candidates is not enabled for this model"},
        ),
        Provider(
            "ollama",
            "qwen3:4b",
            "http://localhost:11434/v1",
            completions=True,
            choices=1,
            drops_choices=True,
            logprobs="ignored",
            thinking=40,
            thinks_aloud=True,
            fingerprint="fp_ollama",
        ),
        Provider("vllm", "Qwen/Qwen3-8B", "http://localhost:8000/v1", completions=True, weighs_prompts=True),
        Provider("sglang", "Qwen/Qwen3-8B", "http://localhost:30000/v1", completions=True),
        Provider(
            "llama.cpp",
            "smollm2",
            "http://localhost:8080/v1",
            completions=True,
            choices=4,
            words={"n": "n_cmpl cannot be greater than the number of slots, please increase -np"},
        ),
        Provider(
            "placeholder-zeros",
            "deepseek-chat",
            "https://api.deepseek.com",
            choices=1,
            drops_choices=True,
            logprobs="zeros",
        ),
        Provider("placeholder-9999", "a-proxy", "http://localhost:4000/v1", logprobs="-9999"),
    )
}
"""The providers that are emulated, by name."""

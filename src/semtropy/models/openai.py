"""`openai:MODEL` and `completions:MODEL`: endpoints that speak OpenAI's protocol.

Endpoints differ in what they support. Requests ask for log-probabilities, several answers at once, a seed and an
untruncated distribution; an option that an endpoint refuses is left out of later requests.
"""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..conversation import as_messages
from ..errors import BadReply, InputError, ModelError, PromptTooLong
from . import portal
from .brief import brief_prompt
from .endpoint import Endpoint, Refused
from .replies import chat_sample, completion_sample, with_usage
from .temperature_probe import TemperatureProbe

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from ..conversation import Prompt
    from ..nouns import Sample

__all__ = ["Chat", "Completions", "chat", "completions"]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
BRIEF = "Answer the question as briefly as possible: a name, a number or a few words, and nothing else."

# Options that can be left out of a request -> a pattern of the messages by which endpoints refuse them.
_OPTIONAL = {
    "logprobs": r"logprob",
    "exact": r"top_k|min_p|unrecognized|unknown (field|param|arg)|extra (input|field)|unexpected|not permitted",
    "n": r"\bn\b|n_cmpl|slots|best_of|number of (choices|completions)",
    "seed": r"\bseed\b",
}


class _OpenAIModel(ABC):
    """Shared by both kinds of endpoint: builds requests, splits `n`, leaves out refused options."""

    path: str

    def __init__(self, model: str, endpoint: Endpoint, *, max_tokens: int) -> None:
        if max_tokens < 1:
            raise InputError(f"max_tokens is {max_tokens}: at least 1")
        self.model, self.endpoint, self.max_tokens = model, endpoint, max_tokens
        self.refused: frozenset[str] = frozenset()
        self.probe = TemperatureProbe()

    async def ask(
        self,
        fields: dict[str, Any],
        n: int,
        temperature: float,
        rng: Generator | None,
        read: Callable[..., Sample],
    ) -> list[Sample]:
        """Draw `n` answers to the request with `fields` (messages or prompt); missing ones are requested one by one."""
        if n < 1:
            return []
        rng = np.random.default_rng(rng)
        first = n if "n" not in self.refused else 1
        samples = await self._request(fields, first, temperature, rng, read)
        if not samples or len(samples) >= n:
            return samples[:n]
        seeds = rng.spawn(n - len(samples))
        others = (self._request(fields, 1, temperature, seed, read) for seed in seeds)
        return samples + [sample for some in await asyncio.gather(*others) for sample in some]

    async def _request(
        self, fields: dict[str, Any], n: int, temperature: float, rng: Generator, read: Callable[..., Sample]
    ) -> list[Sample]:
        seed = int(rng.integers(1 << 31))
        while True:
            asked = self.refused
            try:
                reply = await self.endpoint.post(self.path, self._body(fields, n, temperature, seed))
                break
            except Refused as error:
                if self.refused == asked:  # else a concurrent request found out the same
                    self.refused |= {self._refused_option(error, n)}
                n = 1 if "n" in self.refused else n
        choices = reply.get("choices")
        if not isinstance(choices, list):
            raise BadReply(f"{self.endpoint.label}: the reply has no choices")
        samples = with_usage(
            [read(choice, logprobs_of_sampling=True) for choice in choices], reply.get("usage")
        )
        self.probe.observe(fields, temperature, samples)
        if temperature == 1.0:
            return samples
        # At other temperatures endpoints differ in which distribution's log-probabilities they report.
        known = self.probe.before_temperature
        return [
            replace(sample, logprob=None, sampling_logprob=sample.logprob if known else None)
            for sample in samples
        ]

    def _body(self, fields: dict[str, Any], n: int, temperature: float, seed: int) -> dict[str, Any]:
        body = {"model": self.model, **fields, "temperature": temperature, "top_p": 1.0, "n": n, "seed": seed}
        body["max_completion_tokens" if "max_tokens" in self.refused else "max_tokens"] = self.max_tokens
        if "logprobs" not in self.refused:
            body |= self.logprobs()
        if "exact" not in self.refused:
            body |= {"top_k": -1, "min_p": 0.0}
        for name in ("n", "seed"):
            if name in self.refused:
                del body[name]
        return body

    @abstractmethod
    def logprobs(self) -> dict[str, Any]:
        """The request fields that ask for log-probabilities."""

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self.endpoint.aclose()

    async def __aenter__(self) -> Self:
        await self.endpoint.__aenter__()
        return self

    async def __aexit__(self, *trouble: object) -> None:
        await self.endpoint.__aexit__(*trouble)

    def close(self) -> None:
        """Close the connections that synchronous calls opened."""
        portal.run(self.endpoint.aclose())

    def _refused_option(self, error: Refused, n: int) -> str:
        """The option that the endpoint refused; raises if the refusal has another reason."""
        said = f"{error.param or ''} {error.message}"
        if re.search(r"context|too long|maximum.*tokens", said) and re.search(
            r"exceed|maximum|too long", said
        ):
            raise PromptTooLong(f"the prompt is too long for {self.model}: {error.message}") from error
        if "max_completion_tokens" in said and "max_tokens" not in self.refused:
            return "max_tokens"
        for part, words in _OPTIONAL.items():
            applies = part not in self.refused and (part != "n" or n > 1)
            if applies and re.search(words, said, re.IGNORECASE):
                return part
        raise ModelError(f"{self.endpoint.label}: {error}") from error


class Chat(_OpenAIModel):
    """A chat endpoint.

    `system` is sent before a question: it asks for brief answers, since long ones rarely agree. None sends no system
    message. Messages are sent as they are.
    """

    path = "/chat/completions"

    def __init__(
        self, model: str, endpoint: Endpoint, *, system: str | None = BRIEF, max_tokens: int = 64
    ) -> None:
        super().__init__(model, endpoint, max_tokens=max_tokens)
        self.name, self.system = f"openai:{model}", system

    def logprobs(self) -> dict[str, Any]:
        return {"logprobs": True}

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question, or to messages, which are sent as they are."""
        fields = {"messages": as_messages(prompt, self.system if isinstance(prompt, str) else None)}
        return await self.ask(fields, n, temperature, rng, chat_sample)

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`asample`, awaited in a background thread."""
        return portal.run(self.asample(prompt, n, temperature=temperature, rng=rng))


class Completions(_OpenAIModel):
    """A plain completions endpoint, prompted with brief examples before the question."""

    path = "/completions"

    def __init__(self, model: str, endpoint: Endpoint, *, max_tokens: int = 32) -> None:
        super().__init__(model, endpoint, max_tokens=max_tokens)
        self.name = f"completions:{model}"

    def logprobs(self) -> dict[str, Any]:
        return {"logprobs": 1}

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` brief answers to a question or a conversation."""
        return await self.acomplete(brief_prompt(prompt), n, temperature=temperature, rng=rng)

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`asample`, awaited in a background thread."""
        return portal.run(self.asample(prompt, n, temperature=temperature, rng=rng))

    async def acomplete(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` continuations of `prompt` as it stands, each up to its first line break."""
        # A stop string at the line break would remove the end of the answer from the log-probabilities.
        fields = {"prompt": prompt, "stop": ["Question:"]}
        return await self.ask(fields, n, temperature, rng, completion_sample)

    def complete(
        self, prompt: str, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`acomplete`, awaited in a background thread."""
        return portal.run(self.acomplete(prompt, n, temperature=temperature, rng=rng))


def _endpoint(base_url: str | None, api_key: str | None, options: dict[str, Any]) -> Endpoint:
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    known = ("timeout", "retry", "concurrency", "headers", "sleep")
    chosen = {name: options.pop(name) for name in known if name in options}
    return Endpoint(base_url, api_key=api_key or os.environ.get("OPENAI_API_KEY"), **chosen)


def chat(model: str, *, base_url: str | None = None, api_key: str | None = None, **options: Any) -> Chat:
    """A chat model; `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY."""
    return Chat(model, _endpoint(base_url, api_key, options), **options)


def completions(
    model: str, *, base_url: str | None = None, api_key: str | None = None, **options: Any
) -> Completions:
    """A plain completions model; the options are those of `chat`."""
    return Completions(model, _endpoint(base_url, api_key, options), **options)

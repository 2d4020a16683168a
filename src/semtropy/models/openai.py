"""`openai:MODEL` and `completions:MODEL`: endpoints that speak OpenAI's protocol.

Endpoints differ in what they support. Requests ask for log-probabilities, several answers at once, a seed and an
untruncated distribution; a parameter that an endpoint refuses is left out of later requests.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..conversation import as_messages
from ..errors import BadReply, InputError, ModelError
from ..pace import Pace
from . import portal, weighing
from .brief import brief_prompt
from .endpoint import Endpoint, Refused, error_said
from .parameters import THINKING_TOKENS, Wanted, known_refusals, newly_refused
from .replies import chat_sample, completion_sample, with_usage
from .temperature_probe import TemperatureProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator

    from ..conversation import Prompt
    from ..nouns import Sample

__all__ = ["Chat", "Completions", "chat", "completions"]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
LONG_TOKENS = 1024  # the default limit for answers that were not asked to be brief
MOST_CHOICES = 64  # answers per request; OpenAI allows 128
OLLAMA = "fp_ollama"  # by which its replies are known
BRIEF = "Answer the question as briefly as possible: a name, a number or a few words, and nothing else."


class _OpenAIModel(ABC):
    """Shared by both kinds of endpoint: builds requests, splits `n`, leaves out refused parameters."""

    path: str
    default_tokens: int

    def __init__(self, model: str, endpoint: Endpoint, *, max_tokens: int | None) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise InputError(f"max_tokens is {max_tokens}: at least 1")
        self.model, self.endpoint, self.max_tokens = model, endpoint, max_tokens
        self.refused: frozenset[str] = known_refusals(endpoint.base_url)
        self.probe = TemperatureProbe()
        self._weighs_samples = self._weighs_ends = False

    async def ask(
        self,
        fields: dict[str, Any],
        n: int,
        temperature: float,
        rng: Generator | None,
        read: Callable[..., Sample],
        *,
        default_tokens: int | None = None,
    ) -> list[Sample]:
        """Draw `n` answers to the request with `fields` (messages or prompt); missing ones are requested one by one."""
        if n < 1:
            return []
        default = default_tokens or self.default_tokens
        wanted = Wanted(n, temperature, 0, self.max_tokens, default, self.logprobs())
        seeds = np.random.default_rng(rng).spawn(n)
        samples: list[Sample] = []
        if "n" not in self.refused:
            parts = [(min(MOST_CHOICES, n - at), seeds[at]) for at in range(0, n, MOST_CHOICES)]
            samples = await self._requests(fields, wanted, parts, read)
            if len(samples) >= n or not (samples or "n" in self.refused):
                return samples[:n]
            if len(samples) == len(parts) < n:  # it ignores `n`: from now on all go out at once
                self.refused |= {"n"}
        singles = [(1, seed) for seed in seeds[len(samples) :]]
        return samples + await self._requests(fields, wanted, singles, read)

    async def _requests(
        self,
        fields: dict[str, Any],
        wanted: Wanted,
        parts: Sequence[tuple[int, Generator]],
        read: Callable[..., Sample],
    ) -> list[Sample]:
        """The answers to several requests at once, in their order; a part is a number of answers and a generator."""
        asked = [replace(wanted, n=size, seed=int(rng.integers(1 << 31))) for size, rng in parts]
        requests = (self._request(fields, each, read) for each in asked)
        return [sample for some in await portal.together(requests) for sample in some]

    async def _request(
        self, fields: dict[str, Any], wanted: Wanted, read: Callable[..., Sample]
    ) -> list[Sample]:
        while True:
            refused = self.refused
            if (
                wanted.n > 1 and "n" in refused
            ):  # found out just now: `ask` sends single requests, all at once
                return []
            sent = wanted.fields(refused)
            try:
                reply = await self.endpoint.post(self.path, {"model": self.model, **fields, **sent})
            except Refused as error:
                if self.refused == refused:  # else a concurrent request found out the same
                    found = newly_refused(error, sent, self.model)
                    if not found:
                        raise ModelError(f"{self.endpoint.label}: {error}") from error
                    self.refused |= found
                continue
            samples = self._read(reply, read)
            thought = self.max_tokens is None and any(not (each.text or each.complete) for each in samples)
            if thought and wanted.limit(refused) < THINKING_TOKENS:
                self.refused |= {"thinking"}
                continue
            return self._weighed(fields, samples, wanted.drawn_at(refused), known="temperature" in sent)

    def _read(self, reply: dict[str, Any], read: Callable[..., Sample]) -> list[Sample]:
        choices = reply.get("choices")
        failed = [each for each in choices if _has_error(each)] if isinstance(choices, list) else []
        message = error_said(failed[0] if failed else reply)[0]
        if not isinstance(choices, list) or failed or (message and not choices):
            said = f": {self.endpoint.masked(message)}" if message else ""
            what = "reports an error" if failed else "has no choices"
            raise BadReply(f"{self.endpoint.label}: the reply {what}{said}")
        if (
            reply.get("system_fingerprint") == OLLAMA
        ):  # it ignores `n`, which would take a round trip to find out
            self.refused |= {"n"}
        return with_usage([read(choice, logprobs_of_sampling=True) for choice in choices], reply.get("usage"))

    def _weighed(
        self, fields: dict[str, Any], samples: list[Sample], temperature: float, *, known: bool
    ) -> list[Sample]:
        """The samples with the log-probabilities that are those of the sampling distribution, temperature 1."""
        samples = [replace(sample, temperature=temperature) for sample in samples]
        self.probe.observe(fields, temperature, samples)
        if temperature == 1.0 and known:
            self._learn_logprobs(samples)
            return samples
        # At other temperatures endpoints differ in which distribution's log-probabilities they report.
        before = known and self.probe.before_temperature
        return [
            replace(
                sample,
                logprob=None,
                sampling_logprob=sample.logprob if before else None,
                prefix_logprob=sample.prefix_logprob if before else None,
            )
            for sample in samples
        ]

    def _learn_logprobs(self, samples: list[Sample]) -> None:
        """Note whether samples come with log-probabilities, and whether these include the end token."""
        complete = [sample for sample in samples if sample.complete]
        self._weighs_ends = self._weighs_ends or any(each.logprob is not None for each in complete)
        known = self._weighs_ends or any(each.prefix_logprob is not None for each in complete)
        self._weighs_samples = self._weighs_samples or known
        if complete and not self._weighs_samples:
            self.refused |= {"unweighed"}

    @property
    def pace(self) -> Pace:
        """What is known so far of the log-probabilities that the endpoint gives."""
        if self.refused & {"logprobs", "unweighed", "temperature"} and not self._weighs_samples:
            return Pace(weighs_answer=False, weighs_samples=False)
        return Pace(
            weighs_answer=self.probe.before_temperature,
            weighs_samples=self._weighs_samples or None,
            weighs_given=self._weighs_ends and not self.refused & {"exact", "prompt", "thinking"},
        )

    async def _weigh(
        self, body: dict[str, Any], read: Callable[[dict[str, Any]], Sample | None]
    ) -> Sample | None:
        """What one request tells of a given answer; an endpoint that does not take it is not asked again."""
        if not self.pace.weighs_given:
            return None
        try:
            reply = await self.endpoint.post(self.path, {"model": self.model, **body}, retries=0)
            return read(reply)
        except (ModelError, LookupError, TypeError, ValueError, AttributeError):
            self.refused |= {"prompt"}
            return None

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


class Chat(_OpenAIModel):
    """A chat endpoint.

    `system` is sent before a question: it asks for brief answers, since long ones rarely agree. None sends no system
    message. Messages are sent as they are.
    """

    path = "/chat/completions"
    default_tokens = 64

    def __init__(
        self, model: str, endpoint: Endpoint, *, system: str | None = BRIEF, max_tokens: int | None = None
    ) -> None:
        super().__init__(model, endpoint, max_tokens=max_tokens)
        self.name, self.system = f"openai:{model}", system

    def logprobs(self) -> dict[str, Any]:
        return {"logprobs": True}

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question, or to messages, which are sent as they are."""
        brief = isinstance(prompt, str) and self.system == BRIEF
        fields = {"messages": self._messages(prompt)}
        longest = None if brief else LONG_TOKENS
        return await self.ask(fields, n, temperature, rng, chat_sample, default_tokens=longest)

    async def aweigh(self, prompt: Prompt, answer: Sample) -> Sample | None:
        """The answer with its log-probability after the prompt, where the endpoint reports that of prompts (vLLM)."""
        messages = [*self._messages(prompt), {"role": "assistant", "content": answer.text}]
        body = {"messages": messages, **weighing.CHAT_FIELDS}
        return await self._weigh(body, lambda reply: weighing.prompted(reply, answer))

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        return as_messages(prompt, self.system if isinstance(prompt, str) else None)

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`asample`, awaited in a background thread."""
        return portal.run(self.asample(prompt, n, temperature=temperature, rng=rng))


class Completions(_OpenAIModel):
    """A plain completions endpoint, prompted with brief examples before the question."""

    path = "/completions"
    default_tokens = 32

    def __init__(self, model: str, endpoint: Endpoint, *, max_tokens: int | None = None) -> None:
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

    async def aweigh(self, prompt: Prompt, answer: Sample) -> Sample | None:
        """The answer with its log-probability after the prompt, where the endpoint echoes prompts."""
        before = brief_prompt(prompt)
        body = {"prompt": f"{before} {answer.text}{weighing.ECHO_END}", **weighing.ECHO_FIELDS}
        return await self._weigh(body, lambda reply: weighing.echoed(reply, before, answer))

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


def _has_error(choice: Any) -> bool:
    """Whether a choice is an error instead of an answer, as routers send them."""
    return isinstance(choice, dict) and bool(choice.get("error"))


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

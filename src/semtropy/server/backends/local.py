"""A model in this process as the backend: it answers in OpenAI's schema, each answer in one piece."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NoAnswer
from ...models import load_model
from ...numeric_checks import is_number, is_whole
from ...structured import JsonAnswers
from ..dialects import output_message, response_events
from ..errors import Problem
from . import BackendReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...conversation import Prompt
    from ...nouns import Model, Sample
    from ..middleware import Caller
    from ..requests import CompletionRequest
    from ..settings import Settings


class LocalBackend:
    """Answers with a model that `load_model` knows, or with the one given."""

    def __init__(self, settings: Settings, model: Model | None = None) -> None:
        self.settings, self._model = settings, model
        self.name = settings.model if model is None else model.name

    def load(self) -> None:
        """Load the weights."""
        if self._model is None:
            self._model = load_model(self.settings.model)

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def open(self, request: CompletionRequest, headers: Mapping[str, str]) -> BackendReply:
        """Answer a request; the reply's body is read as it comes."""
        prompt = request.prompt
        if prompt is None:
            raise Problem(400, "the built-in model answers one question in text: none was found")
        samples = await self._draw(prompt, request)
        content = "text/event-stream" if request.streaming else "application/json"
        if request.kind == "responses":
            made = _response(self.name, samples[0])
            chunks = response_events(made) if request.streaming else [json.dumps(made).encode()]
        elif request.streaming:
            chunks = _completion_events(request, self.name, samples)
        else:
            chunks = [_completion(request, self.name, samples)]
        return BackendReply(200, {"content-type": content}, _each(chunks), _do_nothing)

    async def _draw(self, prompt: Prompt, request: CompletionRequest) -> list[Sample]:
        body = request.body
        temperature, n, seed = body.get("temperature"), body.get("n"), body.get("seed")
        if temperature is not None and not (is_number(temperature) and 0 <= temperature <= 2):
            raise Problem(400, "temperature must be a number from 0 to 2")
        if n is not None and not (is_whole(n) and 1 <= n <= self.settings.max_samples):
            raise Problem(400, f"n must be a whole number from 1 to {self.settings.max_samples}")
        if seed is not None and not (is_whole(seed) and 0 <= seed < 2**63):
            raise Problem(400, "seed must be a whole number from 0")
        samples = await asyncio.to_thread(
            self.sampler(request).sample,
            prompt,
            n or 1,
            temperature=1.0 if temperature is None else max(0.01, float(temperature)),
            rng=np.random.default_rng(seed),
        )
        if not samples:
            raise NoAnswer("the model returned no answer")
        return samples

    def sampler(self, request: CompletionRequest) -> Model:
        """The model that draws answers to the request, in JSON where it asks for that."""
        structure, model = request.structure, self.model(None)
        return structure.asking(model) if isinstance(structure, JsonAnswers) else model

    def weighed(self, request: CompletionRequest, answer: Sample) -> Sample:
        """The answer as evidence: this backend's replies have no log-probabilities."""
        return answer

    def model(self, name: str | None, caller: Caller | None = None) -> Model:
        """The model that /v1/check asks."""
        if name is not None and name != self.name:
            raise Problem(404, f"this gateway has no upstream: the only model here is {self.name}")
        assert self._model is not None, "requests come once it is loaded"
        return self._model


def _frame(request: CompletionRequest, model: str, *, chunk: bool) -> dict[str, Any]:
    chat = request.kind == "chat"
    kind = ("chat.completion.chunk" if chunk else "chat.completion") if chat else "text_completion"
    made = {"id": f"{'chatcmpl' if chat else 'cmpl'}-{secrets.token_hex(12)}", "object": kind}
    return {**made, "created": int(time.time()), "model": model}


def _completion(request: CompletionRequest, model: str, samples: list[Sample]) -> bytes:
    choices = []
    for index, sample in enumerate(samples):
        text: dict[str, Any] = {"text": sample.text}
        if request.kind == "chat":
            text = {"message": {"role": "assistant", "content": sample.text, "refusal": None}}
        choices.append({"index": index, **text, "logprobs": None, "finish_reason": _finish(sample)})
    counts = [_token_count(sample) for sample in samples]
    tokens = None if None in counts else sum(count or 0 for count in counts)
    usage = {
        "prompt_tokens": None,
        "completion_tokens": tokens,
        "total_tokens": None,
    }  # the prompt's: unknown
    return json.dumps({**_frame(request, model, chunk=False), "choices": choices, "usage": usage}).encode()


def _response(model: str, sample: Sample) -> dict[str, Any]:
    """An answer in the form of the responses API."""
    status = "completed" if sample.complete else "incomplete"
    cut = None if sample.complete else {"reason": "max_output_tokens"}
    usage = {"input_tokens": None, "output_tokens": _token_count(sample), "total_tokens": None}
    return {
        "id": f"resp_{secrets.token_hex(12)}",
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "status": status,
        "incomplete_details": cut,
        "error": None,
        "output": [output_message(sample.text, status)],
        "usage": usage,
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
    }


def _token_count(sample: Sample) -> int | None:
    counted = sample.tokens if sample.tokens is not None else sample.token_logprobs
    return None if counted is None else len(counted)


def _completion_events(request: CompletionRequest, model: str, samples: list[Sample]) -> list[bytes]:
    frame = _frame(request, model, chunk=True)
    events = []
    for index, sample in enumerate(samples):
        text: dict[str, Any] = {"text": sample.text}
        end: dict[str, Any] = {"text": ""}
        if request.kind == "chat":
            text, end = {"delta": {"role": "assistant", "content": sample.text}}, {"delta": {}}
        for part, finish in ((text, None), (end, _finish(sample))):
            choice = {"index": index, **part, "logprobs": None, "finish_reason": finish}
            events.append(f"data: {json.dumps({**frame, 'choices': [choice]})}\n\n".encode())
    return [*events, b"data: [DONE]\n\n"]


def _finish(sample: Sample) -> str:
    return "stop" if sample.complete else "length"


async def _each(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def _do_nothing() -> None:
    pass

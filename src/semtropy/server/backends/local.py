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
from ...samples import generated_tokens
from ...structured import JsonAnswers
from ..dialects import Replacement
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
        whole, cut = ("completed", "max_output_tokens") if request.kind == "responses" else ("stop", "length")
        said = [Replacement(sample.text, whole if sample.complete else cut) for sample in samples]
        frame, dialect = _frame(request, self.name, samples), request.dialect
        if request.streaming:
            chunks, content = dialect.events(frame, said), "text/event-stream"
        else:
            chunks, content = [json.dumps(dialect.reply(frame, said)).encode()], "application/json"
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


def _frame(request: CompletionRequest, model: str, samples: list[Sample]) -> dict[str, Any]:
    """What a reply, or each chunk of a stream, says beside the answers; the prompt's tokens are not known."""
    now, tokens = int(time.time()), generated_tokens(samples)
    if request.kind == "responses":
        usage = {"input_tokens": None, "output_tokens": tokens, "total_tokens": None}
        made = {"object": "response", "created_at": now, "model": model, "usage": usage}
        return {**made, "parallel_tool_calls": False, "tool_choice": "none", "tools": []}
    name, kind = ("chatcmpl", "chat.completion") if request.kind == "chat" else ("cmpl", "text_completion")
    kind += ".chunk" * (request.streaming and request.kind == "chat")
    frame = {"id": f"{name}-{secrets.token_hex(12)}", "object": kind, "created": now, "model": model}
    usage = {"prompt_tokens": None, "completion_tokens": tokens, "total_tokens": None}
    return frame if request.streaming else {**frame, "usage": usage}


async def _each(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def _do_nothing() -> None:
    pass

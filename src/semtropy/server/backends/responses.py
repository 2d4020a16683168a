"""Samples from the responses API: one request for each, none of them stored."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from ...errors import BadReply, ModelError
from ...models import portal
from ...models.endpoint import Endpoint, Refused
from ...models.replies import with_usage
from ...models.tool_calls import sample_with_calls
from ...pace import Pace
from ..dialects.responses import as_choice

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...conversation import Prompt
    from ...models.openai import Chat
    from ...nouns import Sample
    from .refused import RefusedParameters

__all__ = ["ResponsesModel"]

PATH = "/responses"
_LOGPROBS = "message.output_text.logprobs"
# Parameters that a model may refuse, and how endpoints name them.
_OPTIONAL = {
    "temperature": r"temperature",
    "top_p": r"top_?p\b",
    "include": r"include|logprob",
    "max_output_tokens": r"max_output_tokens",
    "store": r"\bstore\b",
}


class ResponsesModel:
    """Draws further answers to one client's request to `/v1/responses`: same input and settings, at temperature 1.

    chat  the same model as a chat model, for other questions: a judge asks it
    """

    def __init__(
        self, chat: Chat, fields: dict[str, Any], tokens: int | None, refused: RefusedParameters
    ) -> None:
        self.name, self.plain = chat.name, chat
        self._fields, self._tokens, self._refused = fields, tokens, refused

    @property
    def pace(self) -> Pace:
        """Samples come together, and without the probability of the whole answer."""
        return Pace(together=True, weighs_answer=False, weighs_samples=False)

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers, all at once."""
        drawn = await asyncio.gather(*(self._one(temperature) for _ in range(n)))
        return [sample for sample in drawn if sample is not None]

    async def _one(self, temperature: float) -> Sample | None:
        endpoint: Endpoint = self.plain.endpoint
        while True:
            refused = self._refused.get(self.plain.model, PATH)
            sent = self._sent(temperature, refused)
            try:
                reply = await endpoint.post(PATH, sent)
            except Refused as error:
                found = _newly_refused(error, set(sent) & set(_OPTIONAL))
                if not found:
                    raise ModelError(f"{endpoint.label}: {error}") from error
                self._refused.set(self.plain.model, PATH, refused | found)
                continue
            choice = as_choice(reply, calls=True)
            if choice is None and "output" not in reply:
                raise BadReply(f"{endpoint.label}: the reply has no output")
            if choice is None:
                return None
            usage = reply.get("usage")
            spent = {"completion_tokens": usage.get("output_tokens")} if isinstance(usage, dict) else None
            [sample] = with_usage([sample_with_calls(choice, logprobs_of_sampling=True)], spent)
            return sample

    def _sent(self, temperature: float, refused: frozenset[str]) -> dict[str, Any]:
        wanted = {"temperature": temperature, "top_p": 1.0, "include": [_LOGPROBS], "store": False}
        if self._tokens is not None:
            wanted["max_output_tokens"] = self._tokens
        kept = {name: value for name, value in wanted.items() if name not in refused}
        return {"model": self.plain.model, **self._fields, **kept}

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """`asample`, awaited in a background thread."""
        return portal.run(self.asample(prompt, n, temperature=temperature, rng=rng))


def _newly_refused(error: Refused, sent: set[str]) -> frozenset[str]:
    """The parameters among those sent that a refusal names."""
    said = f"{error.param or ''} {error.message}"
    return frozenset(name for name in sent if re.search(_OPTIONAL[name], said, re.IGNORECASE))

"""Models that are asked for JSON of a schema, or given tools to call, in the way that each kind of model knows."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

from ..conversation import as_messages
from ..errors import ModelError
from . import sync_bridge
from .llama_cpp import LlamaCpp
from .openai import Chat
from .prompt_template import json_prompt
from .replies import chat_sample, sample_with_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from ..capabilities import Pace
    from ..conversation import Prompt
    from ..nouns import Model, Sample


TOKENS = 512
"""The longest structured answer in tokens, where none is set: a field takes more of them than a word."""
_REFUSED = re.compile(r"response_format|json_schema|structured output|guided|grammar", re.IGNORECASE)
SYSTEM = "Answer with JSON that follows this schema, on one line, and with nothing else: {schema}"


def with_schema(model: Model, schema: dict[str, Any]) -> Model:
    """The model, made to answer in JSON of `schema` where it can; others are asked as they are."""
    if isinstance(model, Chat):
        return JsonChat(model, {"response_format": _response_format(schema)}, _asks_for_json(schema))
    return JsonLlama(model, schema) if isinstance(model, LlamaCpp) else model


def with_tools(model: Model, tools: Sequence[Any]) -> Model:
    """The model with tools to call, where it is a chat endpoint; others are asked as they are."""
    if not isinstance(model, Chat):
        return model
    listed = [tool if "function" in tool else {"type": "function", "function": dict(tool)} for tool in tools]
    return JsonChat(model, {"tools": listed}, None)


class JsonChat(sync_bridge.AwaitedModel):
    """A chat endpoint that is asked for structured answers: `extra` goes into every request.

    An endpoint that refuses `extra` is asked without it from then on; `system` tells it the schema all the same.
    """

    def __init__(self, chat: Chat, extra: dict[str, Any], system: str | None) -> None:
        self._chat = copy.copy(chat)
        self._chat.default_tokens = TOKENS
        self.name, self.endpoint, self._extra, self._system = chat.name, chat.endpoint, extra, system

    async def asample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to a question, or to messages, which are sent as they are."""
        extra = self._extra  # a concurrent request may find out that it is refused
        read = sample_with_calls if "tools" in extra else chat_sample
        messages = as_messages(prompt, self._system if isinstance(prompt, str) else None)
        try:
            return await self._chat.ask({"messages": messages, **extra}, n, temperature, rng, read)
        except ModelError as error:
            if "response_format" not in extra or not _REFUSED.search(str(error)):
                raise
            self._extra = {}
        return await self._chat.ask({"messages": messages}, n, temperature, rng, read)

    @property
    def pace(self) -> Pace:
        """What is known so far of the log-probabilities that the endpoint gives."""
        return self._chat.pace

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._chat.aclose()


class JsonLlama:
    """A GGUF model whose tokens are restricted to JSON of the schema.

    Its log-probabilities are those before the restriction, which are lower: lower bounds of those after it.
    """

    def __init__(self, model: LlamaCpp, schema: dict[str, Any]) -> None:
        self._model, self._schema, self.name = model, _closed(schema), model.name

    def sample(
        self, prompt: Prompt, n: int, *, temperature: float = 1.0, rng: Generator | None = None
    ) -> list[Sample]:
        """Draw `n` answers to the question `prompt`."""
        how: dict[str, Any] = {"temperature": temperature, "rng": rng, "schema": self._schema}
        how["max_tokens"] = self._model.max_tokens or TOKENS
        if self._model.form == "chat":
            system = _asks_for_json(self._schema) if isinstance(prompt, str) else None
            return self._model.complete(
                self._model.rendered(as_messages(prompt, system)), n, lines=False, **how
            )
        return self._model.complete(json_prompt(prompt, self._schema.get("properties", {})), n, **how)


def _asks_for_json(schema: dict[str, Any]) -> str:
    """The system message that asks for JSON of the schema."""
    return SYSTEM.format(schema=json.dumps(schema, ensure_ascii=False))


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's `response_format`; strict where the schema is closed, as that mode asks for."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "answer"))[:64]
    named = {"name": name, "schema": schema, "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _is_strict(schema: Any) -> bool:
    """Whether every object in a schema is closed and requires all of its properties."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        named = set(schema.get("properties", ()))
        if schema.get("additionalProperties") is not False or named != set(schema.get("required", ())):
            return False
    return all(map(_is_strict, schema.values()))


def _closed(schema: Any) -> Any:
    """The schema with no properties beside those it names: models would go on inventing them."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed

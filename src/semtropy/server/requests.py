"""Completion requests that are passed to the backend: what they ask, and how their answers are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from ..conversation import as_messages, last_question
from ..errors import InputError
from ..numeric_checks import is_count, is_number
from ..structured import Choices, JsonAnswers, ToolCalls
from .dialects import ChatDialect, ResponsesDialect
from .errors import Problem, validation_message
from .schemas import CheckOptions

if TYPE_CHECKING:
    from ..conversation import Prompt
    from ..structured import Structure
    from .dialects import Dialect
    from .middleware import Caller


# What a request says about the form of its answers: a schema, tools, choices.


def structure_of(
    body: Mapping[str, Any], *, choices: Sequence[str] | None = None, required: Sequence[str] | None = None
) -> Structure | None:
    """How the answers to a completion request are read; None for plain text.

    `choices` that the client names come first, then `tools`, then a JSON schema (`response_format`, or `text.format` in
    the responses API), then the choices of vLLM's `guided_choice`. A schema beside tools is that of answers in text.

    >>> structure_of({"messages": []}) is None
    True
    """
    if choices is not None:
        return Choices(choices)
    schema = _schema(body)
    tools = [tool for tool in _list(body.get("tools")) if _is_function(tool)]
    if tools and body.get("tool_choice") != "none":
        return ToolCalls(tools, content=schema, required=required)
    if schema is not None:
        return JsonAnswers(schema, required=required)
    guided = [each for each in _list(body.get("guided_choice")) if isinstance(each, str)]
    return Choices(guided) if len(guided) > 1 else None


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema that a request asks for; an object of any form where it asks for JSON alone."""
    text = body.get("text")
    asked = body.get("response_format") or (text.get("format") if isinstance(text, Mapping) else None)
    if not isinstance(asked, Mapping):
        return None
    if asked.get("type") == "json_object":
        return {"type": "object"}
    if asked.get("type") != "json_schema":
        return None
    inner = asked.get("json_schema", asked)
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    return schema if isinstance(schema, Mapping) else {"type": "object"}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _is_function(tool: Any) -> bool:
    """Whether a tool is a function with a name; those that the provider runs itself (web search) are no calls."""
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
    return isinstance(inner, Mapping) and isinstance(inner.get("name"), str)


CompletionKind = Literal["chat", "completions", "responses"]
_INPUTS = {"chat": "messages", "completions": "prompt", "responses": "input"}
_PATHS = {"chat": "/chat/completions", "completions": "/completions", "responses": "/responses"}
RUN_BY_PROVIDER = (
    "the provider runs tools for this request, and samples would run them again: nothing was checked"
)
IN_CONVERSATION = "samples would become part of the stored conversation: nothing was checked"
IN_BACKGROUND = "the answer is made in the background: nothing was checked"
# Fields that the check sets itself when it draws samples; all others are sent as the client wrote them.
_SET_BY_CHECK = {
    "model", "stream", "stream_options", "n", "best_of", "echo", "suffix", "temperature", "top_p", "seed", "logprobs",
    "top_logprobs", "max_tokens", "max_completion_tokens", "max_output_tokens", "semtropy", "store", "metadata",
    "include", "background",
}  # fmt: skip


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
        return _PATHS[self.kind]

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
        messages = self.body.get(_INPUTS[self.kind])
        if isinstance(messages, str):
            return _text(messages)
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") == "user":
                return _text(message.get("content"))
        return None

    @property
    def prompt(self) -> Prompt | None:
        """What is asked: the whole conversation where it is one, for the judge too, or the question alone."""
        question = self.question
        if question is None or self.kind == "completions":
            return question
        try:
            messages = as_messages(self._messages())
            alone = len(messages) == 1 and isinstance(messages[0].get("content"), str)
            return question if alone or last_question(messages) != question.strip() else messages
        except InputError:  # such as a conversation that ends with the beginning of an answer
            return question

    def _messages(self) -> list[Any]:
        """The messages of a chat, or what the responses API has in their place."""
        if self.kind == "chat":
            return list(self.body["messages"])
        instructions, held = self.body.get("instructions"), self.body.get("input")
        items = [{"role": "user", "content": held}] if isinstance(held, str) else held or []
        said = [_message(item) for item in items if isinstance(item, dict) and "role" in item]
        system = isinstance(instructions, str) and instructions.strip()
        return [{"role": "system", "content": instructions}, *said] if system else said

    @property
    def unchecked(self) -> str | None:
        """Why drawing samples for it would do more than answer, None where it would not."""
        if self.kind != "responses":
            return None
        tools = self.body.get("tools")
        listed = tools if isinstance(tools, list) else ()
        if any(isinstance(tool, dict) and tool.get("type") != "function" for tool in listed):
            return RUN_BY_PROVIDER
        if self.body.get("conversation") is not None:
            return IN_CONVERSATION
        return IN_BACKGROUND if self.body.get("background") else None

    @property
    def answer_fields(self) -> dict[str, Any]:
        """The fields of the request that shape an answer: further samples are drawn with them."""
        return {name: value for name, value in self.body.items() if name not in _SET_BY_CHECK}

    @property
    def structure(self) -> Structure | None:
        """How its answers are read; None for plain text. A schema that cannot be read is an `InputError`."""
        return structure_of(self.body, choices=self.options.choices, required=self.options.required)

    @property
    def declared(self) -> Any:
        """What the client says about the form of its answers: names in it are not the model's."""
        return [self.body.get("response_format"), self.body.get("text")]

    @property
    def dialect(self) -> Dialect:
        """How the backend's replies to it are written."""
        calls = bool(self.body.get("tools"))
        return (
            ResponsesDialect(calls=calls) if self.kind == "responses" else ChatDialect(self.kind, calls=calls)
        )

    @property
    def temperature(self) -> float | None:
        """The temperature that its answer is drawn at, None where the client leaves it to the server."""
        value, top_p = self.body.get("temperature"), self.body.get("top_p")
        known = is_number(value) and 0 <= value <= 2
        return float(value) if known and (top_p is None or top_p == 1) else None  # type: ignore[arg-type]

    @property
    def max_tokens(self) -> int | None:
        for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
            value = self.body.get(name)
            if is_count(value) and value > 0:
                return value
        return None


def read_completion_request(
    kind: CompletionKind, raw: bytes, *, caller: Caller, header: str | None, max_prompt: int
) -> CompletionRequest:
    """Parse a request. `header` is the value of X-Semtropy, for clients that cannot add a key to the body."""
    body = parse_json(raw)
    if not isinstance(body, dict):
        raise Problem(400, "the body must be a JSON object")
    field_name = _INPUTS[kind]
    held = body.get(field_name)
    # Of a response the upstream may have the input: a prompt by name, a conversation.
    stored = kind == "responses" and held is None
    if not stored and (not held or not isinstance(held, list if kind == "chat" else (list, str))):
        raise Problem(400, f"{field_name} is missing or empty")
    chosen = body.pop("semtropy", None)
    if chosen is not None:  # the upstream must not see `semtropy`; without it, it gets the client's own bytes
        raw = _without_options(body)
    if header is not None:
        more = _object(parse_json(header.encode("latin-1", "replace"), "X-Semtropy"), "X-Semtropy")
        chosen = {**_object({} if chosen is None else chosen, "semtropy"), **more}
    try:
        options = CheckOptions.model_validate({} if chosen is None else _object(chosen, "semtropy"))
    except ValidationError as error:
        raise Problem(400, f"semtropy: {validation_message(error.errors(include_input=False)[0])}") from None
    refuse_long_prompt(held, max_prompt)
    return CompletionRequest(kind, raw, body, options, caller)


def _without_options(body: dict[str, Any]) -> bytes:
    """The body again, without the key `semtropy`; a number like 1e999, which JSON allows, cannot be written again."""
    try:
        return json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
    except ValueError:
        message = "a number is too large to be passed on: give the options in the header X-Semtropy"
        raise Problem(400, message) from None


def parse_json(raw: bytes, name: str = "the body") -> Any:
    """Parse JSON strictly: no NaN or Infinity, no lone surrogates."""
    try:
        parsed = json.loads(raw, parse_constant=_no_constant)
        json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        why = f" ({error.msg} at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise Problem(400, f"{name} is not JSON{why}") from None
    return parsed


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Problem(400, f"{name} must be an object")
    return value


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of the responses API as a chat message: its text alone."""
    return {"role": item["role"], "content": _text(item.get("content")) or ""}


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [
            part.get("text")
            for part in content
            if isinstance(part, dict) and part.get("type") in ("text", "input_text", "output_text")
        ]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) and content.strip() else None


def refuse_long_prompt(prompt: Any, most: int) -> None:
    """Raise 413 for a prompt with more characters in all of its strings, image URLs included."""
    size = sum(len(part) for part in parts_of(prompt) if isinstance(part, str))
    if size > most:
        raise Problem(413, f"the prompt has {size} characters: at most {most} are allowed")


def parts_of(value: Any) -> Iterator[Any]:
    """A JSON value and all that is in it, without recursion: it may be nested deeply."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part

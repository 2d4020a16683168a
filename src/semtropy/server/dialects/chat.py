"""Chat completions and plain completions: the first choice is the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import BadReply
from ...models.replies import chat_sample, content_text, well_formed, without_thinking
from ...models.tool_calls import calls_to_text
from ...nouns import Sample
from ..sse import event, event_data, is_done
from . import ReadAnswer, kept_fields

if TYPE_CHECKING:
    from . import StreamReader

__all__ = ["ChatDialect", "ChatReader"]

# Parts of a message that stand in place of text.
_NOT_TEXT = ("tool_calls", "function_call", "audio")
_TOKENS = 10_000
"""Tokens of a stream whose log-probabilities are kept; of longer answers none are."""
_CALLS = 128
"""Tool calls of one answer that are read."""
_FRAME = ("id", "object", "created", "model")


class ChatDialect:
    """`chat` or `completions`; with `calls`, tool calls are answers."""

    def __init__(self, kind: str, *, calls: bool = False) -> None:
        self.kind, self.calls = kind, calls

    def reader(self) -> ChatReader:
        return ChatReader(calls=self.calls)

    def answer(self, body: Any) -> ReadAnswer | None:
        """The answer in the first choice.

        >>> ChatDialect("chat").answer({"choices": [{"message": {"content": "Paris"}}]}).sample.text
        'Paris'
        >>> ChatDialect("completions").answer({"choices": [{"text": " Rom", "finish_reason": "length"}]}).finish
        'length'
        """
        try:
            choice = body["choices"][0]
            message = choice["message"] if "message" in choice else {"content": choice["text"]}
            finish = choice.get("finish_reason")
            made = message.get("tool_calls")
            if self.calls and isinstance(made, list) and made:
                return _called(made, finish)
            if any(message.get(name) for name in _NOT_TEXT):
                return None
            return _answer(content_text(message.get("content")), choice.get("logprobs"), finish)
        except (KeyError, IndexError, TypeError, AttributeError):
            return None

    def ends(self, raw: bytes) -> bool:
        return is_done(raw)

    def ending(self, reader: StreamReader, last: bytes, payload: dict[str, Any]) -> bytes:
        assert isinstance(reader, ChatReader)
        return event({**reader.first, "choices": [], "semtropy": payload}) + last

    def refusal(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        """The completion with the refusal as its only answer, without log-probabilities and alternatives."""
        said: dict[str, Any] = {"text": text}
        if self.kind == "chat":
            said = {"message": {"role": "assistant", "content": text, "refusal": None}}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": "content_filter"}
        return {**kept_fields(body, (*_FRAME, "usage")), "choices": [choice]}

    def refusal_events(self, reader: StreamReader, text: str) -> tuple[list[bytes], bytes]:
        assert isinstance(reader, ChatReader)
        parts: list[dict[str, Any]] = [{"text": text}, {"text": ""}]
        if self.kind == "chat":
            parts = [{"delta": {"role": "assistant", "content": text}}, {"delta": {}}]
        chunks = [
            {**reader.first, "choices": [{"index": 0, **part, "logprobs": None, "finish_reason": finish}]}
            for part, finish in zip(parts, (None, "content_filter"), strict=True)
        ]
        return [event(chunk) for chunk in chunks], b"data: [DONE]\n\n"


def _answer(text: str, logprobs: Any, finish: Any) -> ReadAnswer:
    """The answer with its log-probabilities, if they can be read; the text is what matters."""
    said = finish if isinstance(finish, str) else None
    if finish == "length":
        return ReadAnswer(Sample(without_thinking(text).strip(), complete=False), said)
    choice = {"message": {"content": text}, "logprobs": logprobs, "finish_reason": "stop"}
    try:
        return ReadAnswer(chat_sample(choice, logprobs_of_sampling=True), said)
    except BadReply:
        return ReadAnswer(Sample(text.strip()), said)


def _called(calls: list[Any], finish: Any) -> ReadAnswer:
    sample = Sample(calls_to_text(calls[:_CALLS]), complete=finish != "length")
    return ReadAnswer(sample, finish if isinstance(finish, str) else None)


class ChatReader:
    """Collects the first choice from the events of a stream: its text, up to `limit` characters, and its end."""

    def __init__(self, limit: int = 1_000_000, *, calls: bool = False) -> None:
        self._parts: list[str] = []
        self._left = limit
        self._tokens: list[Any] = []
        self._finish: Any = None
        self._chosen, self._other = False, False
        self._calls: dict[int, dict[str, str]] | None = {} if calls else None
        self.first: dict[str, Any] = {}

    def feed(self, raw: bytes) -> None:
        """Read one event; events that are not completion chunks are ignored."""
        try:
            data = json.loads(event_data(raw))
            choices = [choice for choice in data["choices"] if choice.get("index", 0) == 0]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if not self.first:
            named = {name: data[name] for name in _FRAME if name in data}
            self.first = {name: value for name, value in named.items() if isinstance(value, str | int)}
        for choice in choices:
            self._read(choice)

    def _read(self, choice: dict[str, Any]) -> None:
        delta, self._chosen = choice.get("delta"), True
        text = delta.get("content") if isinstance(delta, dict) else choice.get("text")
        if isinstance(text, str):
            self._parts.append(self._room(text))
        elif text is not None or (isinstance(delta, dict) and any(delta.get(name) for name in _NOT_TEXT)):
            self._other = True
        if isinstance(delta, dict) and self._calls is not None and isinstance(delta.get("tool_calls"), list):
            for call in delta["tool_calls"]:
                self._read_call(call)
        self._finish = choice.get("finish_reason") or self._finish
        logprobs = choice.get("logprobs")
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        if isinstance(tokens, list) and len(self._tokens) <= _TOKENS:
            self._tokens += tokens

    def _read_call(self, call: Any) -> None:
        """A piece of a tool call: its name comes once, its arguments in parts."""
        assert self._calls is not None
        place = call.get("index", 0) if isinstance(call, dict) else None
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(place, int) or not isinstance(function, dict):
            return
        if place not in self._calls and len(self._calls) >= _CALLS:
            return
        held = self._calls.setdefault(place, {"name": "", "arguments": ""})
        for name in held:
            if isinstance(function.get(name), str):
                held[name] += self._room(function[name])

    def _room(self, text: str) -> str:
        kept = text[: self._left]
        self._left -= len(kept)
        return kept

    def answer(self) -> ReadAnswer | None:
        """The answer so far. Characters that were cut in two by the chunks are whole again."""
        if self._calls:
            return _called([self._calls[place] for place in sorted(self._calls)], self._finish)
        text = well_formed("".join(self._parts))
        if not self._chosen or (self._other and not text.strip()):
            return None
        logprobs = {"content": self._tokens} if 0 < len(self._tokens) <= _TOKENS else None
        return _answer(text, logprobs, self._finish)

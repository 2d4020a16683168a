"""OpenAI's responses API: the answer is the text of the messages in `output`, or its function calls.

The verdict stands under `semtropy` in the response; in a stream, in the response of the event that ends it.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..sse import event, event_data
from . import ReadAnswer, kept_fields
from .chat import ChatDialect

if TYPE_CHECKING:
    from . import StreamReader

__all__ = ["ResponsesDialect", "ResponsesReader", "as_choice", "output_message", "response_events"]

_LAST = ("response.completed", "response.incomplete")
# What a refusal keeps of a response: nothing that the model wrote.
_KEPT = frozenset(
    {
        "object",
        "created_at",
        "model",
        "usage",
        "instructions",
        "metadata",
        "parallel_tool_calls",
        "store",
    }
    | {"previous_response_id", "temperature", "top_p", "tool_choice", "tools", "text", "truncation"}
)


def as_choice(response: Any, *, calls: bool) -> dict[str, Any] | None:
    """A response as a choice of a chat completion, which has the same content; None where there is no answer.

    >>> part = {"type": "output_text", "text": "Paris"}
    >>> response = {"status": "completed", "output": [{"type": "message", "content": [part]}]}
    >>> as_choice(response, calls=False)["message"]
    {'role': 'assistant', 'content': 'Paris'}
    """
    if not isinstance(response, dict) or response.get("status") not in ("completed", "incomplete"):
        return None
    items = [item for item in _list(response.get("output")) if isinstance(item, dict)]
    made = [{"function": item} for item in items if item.get("type") == "function_call"]
    message: dict[str, Any] = {"role": "assistant", "content": None}
    logprobs: list[Any] = []
    texts = []
    for item in items:
        for part in _list(item.get("content")) if item.get("type") == "message" else ():
            text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
            if isinstance(text, str):
                texts.append(text)
                logprobs += _list(part.get("logprobs"))
    if made and calls:
        message["tool_calls"] = made
    elif not texts:
        return None
    else:
        message["content"] = "".join(texts)
    cut = _cut_short(response) == "max_output_tokens"
    known = {"content": logprobs} if logprobs else None
    return {"message": message, "logprobs": known, "finish_reason": "length" if cut else "stop"}


def _cut_short(response: dict[str, Any]) -> str | None:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return reason if isinstance(reason, str) else None


class ResponsesDialect:
    """`/v1/responses`; with `calls`, function calls are answers."""

    def __init__(self, *, calls: bool = False) -> None:
        self.calls = calls

    def reader(self) -> ResponsesReader:
        return ResponsesReader(self)

    def answer(self, body: Any) -> ReadAnswer | None:
        """The answer in a response; its end is named as the response names it."""
        choice = as_choice(body, calls=self.calls)
        if choice is None:
            return None
        read = ChatDialect("chat", calls=self.calls).answer({"choices": [choice]})
        return None if read is None else ReadAnswer(read.sample, _cut_short(body) or body["status"])

    def ends(self, raw: bytes) -> bool:
        return _event_of(raw).get("type") in _LAST

    def ending(self, reader: StreamReader, last: bytes, payload: dict[str, Any]) -> bytes:
        held = _event_of(last)
        if isinstance(held.get("response"), dict):
            with suppress(
                ValueError, RecursionError
            ):  # it may hold a number that cannot be written, such as 1e999
                return event({**held, "response": {**held["response"], "semtropy": payload}}, held["type"])
        # Or the stream broke off before its end.
        return event({"type": "semtropy.verdict", "semtropy": payload}, "semtropy.verdict") + last

    def refusal(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        """The response with the refusal as its only message, ended by a content filter.

        Its id is new: with that of the upstream, a client could go on from the answer that is withheld.
        """
        ended = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "error": None}
        made = {"id": f"resp_{secrets.token_hex(12)}"}
        return {**made, **kept_fields(body, _KEPT), **ended, "output": [output_message(text, "incomplete")]}

    def refusal_events(self, reader: StreamReader, text: str) -> tuple[list[bytes], bytes]:
        assert isinstance(reader, ResponsesReader)
        *events, last = response_events(self.refusal(reader.response, text))
        return events, last


def response_events(response: dict[str, Any]) -> list[bytes]:
    """The events of a stream whose response has one message with one text."""
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    item = response["output"][0]
    part = item["content"][0]
    where = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    empty = {**item, "status": "in_progress", "content": []}
    steps: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": empty},
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **where, "delta": part["text"], "logprobs": []},
        {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": f"response.{response['status']}", "response": response},
    ]
    return [event({**step, "sequence_number": number}, step["type"]) for number, step in enumerate(steps)]


class ResponsesReader:
    """Collects a response from the events of a stream: the one that ends it has all of it."""

    def __init__(self, dialect: ResponsesDialect, limit: int = 1_000_000) -> None:
        self._dialect, self._left = dialect, limit
        self._parts: list[str] = []
        self.response: dict[str, Any] = {}

    def feed(self, raw: bytes) -> None:
        """Read one event; events of other kinds are ignored."""
        data = _event_of(raw)
        if isinstance(data.get("response"), dict):
            self.response = data["response"]
        if data.get("type") == "response.output_text.delta" and isinstance(data.get("delta"), str):
            self._parts.append(data["delta"][: self._left])
            self._left -= len(self._parts[-1])

    def answer(self) -> ReadAnswer | None:
        """The answer; of a stream without its end, the text so far."""
        read = self._dialect.answer(self.response)
        if read is not None or not self._parts:
            return read
        part = {"type": "output_text", "text": "".join(self._parts)}
        made = {"status": "incomplete", "output": [{"type": "message", "content": [part]}]}
        return self._dialect.answer(made)


def output_message(text: str, status: str) -> dict[str, Any]:
    """The item of `output` that holds a text."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_semtropy", "type": "message", "role": "assistant", "status": status, "content": [part]}


def _event_of(raw: bytes) -> dict[str, Any]:
    """The data of an event, an empty object for anything else."""
    try:
        data = json.loads(event_data(raw))
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""The protocols of an upstream: reading an answer from a reply or a stream, and writing another in its place."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import BadReply
from ..models.replies import MOST_CALLS, content_text, sample_with_calls, well_formed
from .sse import event, event_data, is_done, with_field

if TYPE_CHECKING:
    from ..nouns import Sample


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer that a client gets.

    sample  its text, or its tool calls as text, with what log-probabilities came: what is judged
    finish  why the upstream ended it
    calls   the tool calls as they came
    alone   whether the model wrote nothing else that the client sees: thinking, another choice, text beside a call
    """

    sample: Sample
    finish: str | None
    calls: Sequence[Any] = ()
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Replacement:
    """An answer to be written: in place of the upstream's, and with nothing else that the model wrote."""

    text: str
    finish: str | None
    calls: Sequence[Any] = ()


def kept_fields(body: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The fields of a reply that another answer keeps, without those that JSON cannot hold (a number from 1e999).

    >>> kept_fields({"id": "a", "usage": {"n": float("inf")}, "choices": []}, ("id", "usage"))
    {'id': 'a'}
    """
    return {name: value for name, value in body.items() if name in names and _is_writable(value)}


def _is_writable(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def comment(payload: dict[str, Any]) -> bytes:
    """A verdict that readers of events ignore: where it belongs into headers, which are sent already."""
    return f": semtropy {json.dumps(payload)}\n\n".encode()


# Chat completions and plain completions: the first choice is the answer.


_NOT_TEXT = ("tool_calls", "function_call", "audio")
"""Parts of a message that stand in place of text."""
_JUDGED = ("role", "content", "refusal", "tool_calls")
_TOKENS = 10_000
"""Tokens of a stream whose log-probabilities are kept; of longer answers none are."""
_CHARACTERS = 1_000_000
"""Characters of a stream that are read."""
_FRAME = ("id", "object", "created", "model")


class ChatDialect:
    """`chat` or `completions`; with `calls`, tool calls are answers."""

    def __init__(self, kind: str, *, calls: bool = False) -> None:
        self.kind, self.calls = kind, calls

    def reader(self) -> ChatReader:
        """A reader for one stream."""
        return ChatReader(self)

    def answer(self, body: Any) -> ReadAnswer | None:
        """The answer in the first choice, None where it is not text (and no call of a tool).

        >>> ChatDialect("chat").answer({"choices": [{"message": {"content": "Paris"}}]}).sample.text
        'Paris'
        >>> ChatDialect("completions").answer({"choices": [{"text": " Rom", "finish_reason": "length"}]}).finish
        'length'
        """
        try:
            choice = body["choices"][0]
            message = choice["message"] if "message" in choice else {"content": choice["text"]}
            calls = message.get("tool_calls") if self.calls else None
            made = calls[:MOST_CALLS] if isinstance(calls, list) else []
            text = content_text(message.get("content") or message.get("refusal")).strip()
            if not made and not text and any(message.get(name) for name in _NOT_TEXT):
                return None
            read = {**message, "tool_calls": made}
            sample = sample_with_calls({**choice, "message": read})
            alone = (
                len(body["choices"]) == 1
                and len(made) == len(calls or message.get("tool_calls") or ())
                and (not text if made else text == sample.text)
                and not (message.get("content") and message.get("refusal"))
                and not any(value for name, value in message.items() if name not in _JUDGED)
            )
        except (KeyError, IndexError, TypeError, AttributeError, BadReply):
            return None
        finish = choice.get("finish_reason")
        return ReadAnswer(sample, finish if isinstance(finish, str) else None, made, alone)

    def reply(self, body: dict[str, Any], said: Sequence[Replacement]) -> dict[str, Any]:
        """The completion with `said` as its only answers, without log-probabilities."""
        choices = [_choice(self._whole(each), each.finish, index) for index, each in enumerate(said)]
        return {**kept_fields(body, (*_FRAME, "usage")), "choices": choices}

    def _whole(self, said: Replacement) -> dict[str, Any]:
        if self.kind == "chat":
            return {"message": {**_message(said), "refusal": None}}
        return {"text": said.text}

    def events(self, frame: dict[str, Any], said: Sequence[Replacement]) -> list[bytes]:
        """The events of a stream with `said` as its only answers."""
        chunks = []
        for index, each in enumerate(said):
            part = {"delta": _message(each)} if self.kind == "chat" else {"text": each.text}
            chunks += [_choice(part, None, index), _choice(self.nothing, each.finish, index)]
        return [*(event({**frame, "choices": [choice]}) for choice in chunks), b"data: [DONE]\n\n"]

    @property
    def nothing(self) -> dict[str, Any]:
        """The part of a chunk that adds nothing to the answer."""
        return {"delta": {}} if self.kind == "chat" else {"text": ""}


def _choice(part: dict[str, Any], finish: str | None, index: int = 0) -> dict[str, Any]:
    return {"index": index, **part, "logprobs": None, "finish_reason": finish}


def _message(said: Replacement) -> dict[str, Any]:
    if not said.calls:
        return {"role": "assistant", "content": said.text}
    calls = [{**call, "index": place} for place, call in enumerate(said.calls) if isinstance(call, dict)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


class ChatReader:
    """Collects the first choice from the events of a stream. Holds back its last chunk where that has no text."""

    def __init__(self, dialect: ChatDialect) -> None:
        self._dialect = dialect
        self._parts: list[str] = []
        self._left = _CHARACTERS
        self._tokens: list[Any] = []
        self._finish: Any = None
        self._calls: dict[int, dict[str, Any]] = {}
        # Whether there is a first choice, something else than text in it, and anything that is not judged.
        self._chosen = self._other = self._beside = False
        self._held: list[bytes] = []
        self.frame: dict[str, Any] = {}  # what every chunk has beside its choices

    def feed(self, raw: bytes) -> list[bytes]:
        """Read one event; the events that can be passed on now. Those that are no completion chunks are not read."""
        if is_done(raw) or not raw:
            self._held += [raw] if raw else []
            return []
        try:
            data = json.loads(event_data(raw))
            choices = [choice for choice in data["choices"] if choice.get("index", 0) == 0]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            data, choices = {"choices": ()}, []
        if not self.frame:
            named = {name: data[name] for name in _FRAME if name in data}
            self.frame = {name: value for name, value in named.items() if isinstance(value, str | int)}
        for choice in choices:
            self._read(choice)
        self._beside = self._beside or len(choices) < len(data["choices"])
        if not data["choices"] and self._held:  # such as a chunk with the usage
            self._held.append(raw)
            return []
        passed, self._held = self._held, []
        if data["choices"] and all(map(_ends, data["choices"])):
            self._held = [raw]
            return passed
        return [*passed, raw]

    def _read(self, choice: dict[str, Any]) -> None:
        delta, self._chosen = choice.get("delta"), True
        said = delta if isinstance(delta, dict) else {"content": choice.get("text")}
        text = said.get("content") or said.get("refusal")
        if isinstance(text, str):
            self._parts.append(self._room(text))
        elif text is not None or any(said.get(name) for name in _NOT_TEXT):
            self._other = True
        self._beside = self._beside or any(value for name, value in said.items() if name not in _JUDGED)
        calls = said.get("tool_calls")
        for call in calls if self._dialect.calls and isinstance(calls, list) else ():
            self._read_call(call)
        self._finish = choice.get("finish_reason") or self._finish
        logprobs = choice.get("logprobs")
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        if isinstance(tokens, list) and len(self._tokens) <= _TOKENS:
            self._tokens += tokens

    def _read_call(self, call: Any) -> None:
        """A piece of a tool call: its name comes once, its arguments in parts."""
        place = call.get("index", 0) if isinstance(call, dict) else None
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(place, int) or not isinstance(function, dict):
            return
        if place not in self._calls and len(self._calls) >= MOST_CALLS:
            self._beside = True
            return
        made = {"id": call.get("id"), "type": "function", "function": {"name": "", "arguments": ""}}
        held = self._calls.setdefault(place, made)["function"]
        for name in held:
            if isinstance(function.get(name), str):
                held[name] += self._room(function[name])

    def _room(self, text: str) -> str:
        kept = text[: self._left]
        self._left -= len(kept)
        self._beside = self._beside or len(kept) < len(text)
        return kept

    def answer(self) -> ReadAnswer | None:
        """The answer so far. Characters that were cut in two by the chunks are whole again."""
        text = well_formed("".join(self._parts))
        if not self._chosen or (self._other and not self._calls and not text.strip()):
            return None
        message: dict[str, Any] = {
            "content": text,
            "beside": self._beside or (self._other and not self._calls),
        }
        if self._calls:
            message["tool_calls"] = [self._calls[place] for place in sorted(self._calls)]
        logprobs = {"content": self._tokens} if 0 < len(self._tokens) <= _TOKENS else None
        choice = {"message": message, "logprobs": logprobs, "finish_reason": self._finish}
        return self._dialect.answer({"choices": [choice]})

    def ending(self, payload: dict[str, Any], place: str) -> bytes:
        """The end of the stream with the verdict in it; `place` is that of the settings.

        Clients that know nothing of semtropy read `choices[0]` of every chunk: the verdict is in one that has it.
        """
        done = self._held.pop() if self._held and is_done(self._held[-1]) else b""
        held = b"".join(self._held)
        if place == "headers":
            return held + comment(payload) + done
        if place == "chunk":
            return held + event({**self.frame, "choices": [], "semtropy": payload}) + done
        if self._held:
            return with_field(self._held[0], "semtropy", payload) + b"".join(self._held[1:]) + done
        choice = _choice(self._dialect.nothing, None)
        return event({**self.frame, "choices": [choice], "semtropy": payload}) + done


def _ends(choice: Any) -> bool:
    """Whether a choice of a chunk says why the answer ended, and nothing that a client waits for."""
    said = choice.get("delta") if "delta" in choice else {"content": choice.get("text")}
    return bool(choice.get("finish_reason")) and not (
        isinstance(said, dict) and any(value for name, value in said.items() if name != "role")
    )


# OpenAI's responses API: the answer is the text of the messages in `output`, or its function calls.
#
# The verdict stands under `semtropy` in the response; in a stream, in the response of the event that ends it.


_LAST = ("response.completed", "response.incomplete")
# What another answer keeps of a response: nothing that the model wrote.
_KEPT: tuple[str, ...]
_KEPT = ("object", "created_at", "model", "usage", "instructions", "metadata", "parallel_tool_calls", "store")
_KEPT += ("previous_response_id", "temperature", "top_p", "tool_choice", "tools", "text", "truncation")


def as_choice(response: Any, *, calls: bool) -> dict[str, Any] | None:
    """A response as a choice of a chat completion, which has the same content; None where there is no answer.

    >>> part = {"type": "output_text", "text": "Paris"}
    >>> response = {"status": "completed", "output": [{"type": "message", "content": [part]}]}
    >>> as_choice(response, calls=False)["message"]["content"]
    'Paris'
    """
    if not isinstance(response, dict) or response.get("status") not in ("completed", "incomplete"):
        return None
    items = [item for item in _list(response.get("output")) if isinstance(item, dict)]
    made = [{"function": item} for item in items if item.get("type") == "function_call"]
    logprobs: list[Any] = []
    texts = []
    for item in items:
        for part in _list(item.get("content")) if item.get("type") == "message" else ():
            text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
            if isinstance(text, str):
                texts.append(text)
                logprobs += _list(part.get("logprobs"))
    if not texts and not (made and calls):
        return None
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts)}
    # The summary of what a model thought is text that nothing is compared with.
    thought = [item for item in items if item.get("type") == "reasoning"]
    message["beside"] = any(item.get("summary") or item.get("content") for item in thought)
    if made and calls:
        message["tool_calls"] = made
    known = {"content": logprobs} if logprobs else None
    finish = _cut_short(response) or response["status"]
    return {"message": message, "logprobs": known, "finish_reason": finish}


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
        choice = as_choice(body, calls=self.calls)
        return None if choice is None else ChatDialect("chat", calls=self.calls).answer({"choices": [choice]})

    def reply(self, body: dict[str, Any], answers: Sequence[Replacement]) -> dict[str, Any]:
        """The response with the first answer: one message, or the function calls alone.

        Its id is new: with that of the upstream, a client could go on from what is withheld.
        """
        said = answers[0]
        status = "completed" if said.finish == "completed" else "incomplete"
        reason = None if said.finish in ("completed", "incomplete") else {"reason": said.finish}
        ended = {"status": status, "incomplete_details": reason, "error": None}
        made = {"id": f"resp_{secrets.token_hex(12)}"}
        output = [call["function"] for call in said.calls] or [_output_message(said.text, status)]
        return {**made, **kept_fields(body, _KEPT), **ended, "output": output}

    def events(self, frame: dict[str, Any], answers: Sequence[Replacement]) -> list[bytes]:
        return _response_events(self.reply(frame, answers))


def _response_events(response: dict[str, Any]) -> list[bytes]:
    """The events of a stream of a response whose items are messages with one text, or function calls."""
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    steps: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for place, item in enumerate(response["output"]):
        where = {"item_id": item.get("id"), "output_index": place}
        called = item["type"] == "function_call"
        empty = {**item, "status": "in_progress", **({"arguments": ""} if called else {"content": []})}
        steps.append({"type": "response.output_item.added", "output_index": place, "item": empty})
        if called:
            written = item.get("arguments", "")
            steps += [
                {"type": "response.function_call_arguments.delta", **where, "delta": written},
                {"type": "response.function_call_arguments.done", **where, "arguments": written},
            ]
        else:
            part, where = item["content"][0], {**where, "content_index": 0}
            steps += [
                {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
                {"type": "response.output_text.delta", **where, "delta": part["text"], "logprobs": []},
                {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
                {"type": "response.content_part.done", **where, "part": part},
            ]
        steps.append({"type": "response.output_item.done", "output_index": place, "item": item})
    steps.append({"type": f"response.{response['status']}", "response": response})
    return [event({**step, "sequence_number": number}, step["type"]) for number, step in enumerate(steps)]


class ResponsesReader:
    """Collects a response from the events of a stream: the one that ends it has all of it, and is held back."""

    def __init__(self, dialect: ResponsesDialect) -> None:
        self._dialect, self._left, self._last = dialect, _CHARACTERS, b""
        self._parts: list[str] = []
        self.frame: dict[str, Any] = {}

    def feed(self, raw: bytes) -> list[bytes]:
        """Read one event; those of other kinds are passed on unread."""
        data = _event_of(raw)
        if isinstance(data.get("response"), dict):
            self.frame = data["response"]
        if data.get("type") == "response.output_text.delta" and isinstance(data.get("delta"), str):
            self._parts.append(data["delta"][: self._left])
            self._left -= len(self._parts[-1])
        if data.get("type") not in _LAST:
            return [raw]
        passed, self._last = self._last, raw
        return [passed] if passed else []

    def answer(self) -> ReadAnswer | None:
        """The answer; of a stream without its end, the text so far."""
        read = self._dialect.answer(self.frame)
        if read is not None or not self._parts:
            return read
        part = {"type": "output_text", "text": "".join(self._parts)}
        made = {"status": "incomplete", "output": [{"type": "message", "content": [part]}]}
        return self._dialect.answer(made)

    def ending(self, payload: dict[str, Any], place: str) -> bytes:
        held = _event_of(self._last)
        if place == "headers":
            return comment(payload) + self._last
        if isinstance(held.get("response"), dict):
            with suppress(ValueError, RecursionError):  # a number that cannot be written, like 1e999
                return event({**held, "response": {**held["response"], "semtropy": payload}}, held["type"])
        # Or the stream broke off before its end.
        return event({"type": "semtropy.verdict", "semtropy": payload}, "semtropy.verdict") + self._last


Dialect = ChatDialect | ResponsesDialect
StreamReader = ChatReader | ResponsesReader
"""Collects an answer from the events of a stream, and holds back its end until the verdict is known."""


def _output_message(text: str, status: str) -> dict[str, Any]:
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

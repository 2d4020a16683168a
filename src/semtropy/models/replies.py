"""Samples from the choices of OpenAI-style replies; detects whether the log-probabilities include the end token."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import BadReply
from ..nouns import Sample
from ..numeric_checks import is_count
from ..samples import pieces_of

Entry = tuple[bytes, float]
"""A token's bytes and its log-probability."""

ROUNDING = 1e-6  # what rounding may add to a log-probability of 0
# Why an answer ended: it is whole, or cut off. After any other reason its probability is unknown.
_WHOLE = ("stop", "", "eos", "eos_token", "end_turn", "stop_sequence", "stop_string", "complete", "completed")
_CUT = (
    "length", "max_tokens", "max_output_tokens", "model_length", "incomplete", "content_filter", "safety",
    "recitation", "blocklist", "prohibited_content", "spii", "error", "error_limit", "error_toxic", "abort",
    "cancelled", "user_cancel", "insufficient_system_resource", "model_context_window_exceeded",
)  # fmt: skip
# Whole where calls are the answer, cut off where text is.
_CALLED = ("tool_calls", "tool_use", "function_call")
_THOUGHT = re.compile(r"</think(?:ing)?>")
_THINKS = re.compile(r"\s*<think(?:ing)?>")
PLACEHOLDER = -9998.0  # at or below: sent for tokens whose log-probability the endpoint does not know


def chat_sample(choice: dict[str, Any], *, logprobs_of_sampling: bool = True) -> Sample:
    """The sample in a choice of a chat completion.

    `logprobs_of_sampling` says whether the log-probabilities belong to the distribution sampled from; where they
    do not, `Sample.logprob` is None. Where the end token is missing from them, they make `Sample.prefix_logprob`.
    """
    text, finish, entries = _read(choice, "chat completions")
    answer = without_thinking(text)
    if answer != text:
        return _thought(answer, entries, complete=not is_cut_off(finish))
    return _sample(text, entries, finish, of_sampling=logprobs_of_sampling)


def _read(choice: dict[str, Any], form: str) -> tuple[str, str, list[Entry] | None]:
    """The text of a choice, why it ended, and its tokens with their log-probabilities."""
    try:
        said = choice["text"] if form == "completions" else choice["message"]
        text = content_text(said if form == "completions" else said.get("content") or said.get("refusal"))
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise BadReply(f"a choice does not follow the {form} format: {error!r}") from error
    return text, _finish(choice), _entries(choice.get("logprobs"))


def is_cut_off(finish: str | None, *, calls: bool = False) -> bool:
    """Whether an answer that ended for this reason is not whole; endpoints spell the reasons in many ways.

    calls  the answer consists of tool calls

    >>> [is_cut_off(finish) for finish in ("length", "MAX_TOKENS", "content_filter", "stop", None)]
    [True, True, True, False, False]
    >>> is_cut_off("tool_calls"), is_cut_off("tool_calls", calls=True)
    (True, False)
    """
    said = (finish or "").casefold()
    return said in _CUT or (said in _CALLED and not calls)


def without_thinking(text: str) -> str:
    """The text after what a model thought aloud before it; all of it is thinking where the thinking does not end.

    Templates that begin the thinking themselves leave out the first tag.

    >>> without_thinking("<think>France? Easy.</think>\\n\\nParis"), without_thinking("Easy.</think>Paris")
    ('\\n\\nParis', 'Paris')
    >>> without_thinking("<think>The capital of"), without_thinking("Paris")
    ('', 'Paris')
    """
    if "think" not in text:
        return text
    *thought, answer = _THOUGHT.split(text)
    return "" if not thought and _THINKS.match(text) else answer


def completion_sample(choice: dict[str, Any]) -> Sample:
    """The sample in a choice of a plain completion: it ends at the first line break, whose token is the end token."""
    text, finish, entries = _read(choice, "completions")
    answer = without_thinking(text)
    if answer != text:
        first, ended, _ = answer.strip().partition("\n")
        return _thought(first, entries, complete=bool(ended) or not is_cut_off(finish))
    if "\n" not in text:
        return _sample(text, entries, finish)
    first = text.split("\n", 1)[0]
    if entries is not None:
        # Tokens up to and with the first line break, if they spell the text that came back.
        spelled = b"".join(piece for piece, _ in entries)
        last = next((k for k, (piece, _) in enumerate(entries) if b"\n" in piece), None)
        faithful = spelled.decode("utf-8", "replace").startswith(first)
        entries = entries[: last + 1] if last is not None and faithful else None
    return _sample(first, entries, "stop", ended=True)


def with_usage(samples: list[Sample], usage: Any) -> list[Sample]:
    """The samples of one reply, each with its part of the tokens that the endpoint reports as generated.

    Endpoints report the sum over all choices, tokens spent on thinking included; it is split evenly.

    >>> [each.token_count for each in with_usage([Sample("a"), Sample("b")], {"completion_tokens": 7})]
    [4, 3]
    """
    total = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if not is_count(total) or total == 0 or not samples:
        return samples
    each, more = divmod(total, len(samples))
    return [replace(sample, token_count=each + (k < more)) for k, sample in enumerate(samples)]


def content_text(content: Any) -> str:
    """The text of a message's `content`: a string, a list of parts of which those of text count, or nothing.

    >>> content_text([{"type": "text", "text": "Par"}, {"type": "text", "text": "is"}]), content_text(None)
    ('Paris', '')
    """
    if isinstance(content, list):
        parts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        content = "".join(part for part in parts if isinstance(part, str))
    if content is not None and not isinstance(content, str):
        raise TypeError(f"content must be text, not {type(content).__name__}")
    return well_formed(content or "")


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, so that it can be encoded.

    JSON escapes let both through: servers that cut a character in two send the halves.

    >>> well_formed("\\ud83d\\ude00") == "\\U0001f600", well_formed("a\\ud800") == "a\\ufffd"
    (True, True)
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _finish(choice: dict[str, Any]) -> str:
    """Why the answer ended, in lower case; "" where the endpoint does not say, "unknown" for what is no text."""
    finish = choice.get("finish_reason")
    return finish.casefold() if isinstance(finish, str) else "" if finish is None else "unknown"


def _entries(logprobs: Any) -> list[Entry] | None:
    """Tokens as bytes with their log-probabilities, None where there are none, or none that can be read.

    They come in today's layout or the older one. Odd ones do not cost the answer: it is counted without them.
    """
    if not isinstance(logprobs, dict):
        return None
    try:
        if logprobs.get("content") is not None:
            found = [(_bytes(entry), float(entry["logprob"])) for entry in logprobs["content"]]
        else:
            pairs = zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True)
            found = [(well_formed(str(token)).encode(), float(value)) for token, value in pairs]
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError):
        return None
    return found if are_logprobs([value for _, value in found]) else None


def are_logprobs(values: list[float]) -> bool:
    """Whether these can be log-probabilities of sampled tokens; placeholders cannot.

    Some endpoints send 0.0 for every token, or -9999 for those outside their table. A real sequence of exactly 0.0 is
    possible, and then its probability is not used: that loses a lower bound, where the other error invents one.

    >>> are_logprobs([-0.5, 0.0]), are_logprobs([0.0, 0.0]), are_logprobs([-0.5, -9999.0])
    (True, False, False)
    """
    known = all(PLACEHOLDER < value <= ROUNDING for value in values)
    return known and not (values and all(value == 0.0 for value in values))


def _bytes(entry: dict[str, Any]) -> bytes:
    raw = entry.get("bytes")
    if raw is None:
        return well_formed(str(entry["token"])).encode()
    if not isinstance(raw, list):  # `bytes` of a number would reserve that much memory
        raise TypeError("bytes must be a list")
    return bytes(raw)


def _end_has_logprob(text: str, entries: list[Entry] | None) -> bool:
    """Whether the last token is the end: the others spell the whole text, and it adds something else, or nothing.

    >>> _end_has_logprob("Paris", [(b"Paris", -0.1)])
    False
    >>> _end_has_logprob("Paris", [(b"Paris", -0.1), (b"<|im_end|>", -0.2)])
    True
    """
    if not entries:
        return False
    before = b"".join(piece for piece, _ in entries[:-1]).strip()
    last = entries[-1][0].strip()
    if before != text.encode().strip():
        return False
    if not text.strip() and last:  # an empty answer: nothing but the look of it tells an end from lost text
        return last.startswith(b"<") and last.endswith(b">")
    return not entries[-1][0] or bool(last)


def _thought(answer: str, entries: list[Entry] | None, *, complete: bool) -> Sample:
    """An answer after thinking: the log-probabilities are those of both together, so its own is unknown."""
    return Sample(answer.strip(), complete=complete, token_count=len(entries) if entries else None)


def _sample(
    text: str, entries: list[Entry] | None, finish: str, *, of_sampling: bool = True, ended: bool = False
) -> Sample:
    """The sample, with its log-probability or, where the end token is missing from that, that of its prefix.

    `ended` says that the last token is known to be the end.
    """
    values = tuple(min(0.0, value) for _, value in entries) if entries else None
    whole, ended = finish in _WHOLE, ended or _end_has_logprob(text, entries)
    total = math.fsum(values) if values and whole and of_sampling else None
    pieces = tuple(piece.decode("utf-8", "backslashreplace") for piece, _ in entries) if entries else None
    return Sample(
        text.strip(),
        logprob=total if ended else None,
        tokens=pieces,
        token_logprobs=values,
        complete=not is_cut_off(finish),
        prefix_logprob=total if not ended and _spell(entries, text) else None,
        pieces=pieces_of((piece, min(0.0, value)) for piece, value in entries)
        if entries and of_sampling
        else None,
    )


def _spell(entries: list[Entry] | None, text: str) -> bool:
    """Whether the tokens are the text, no more and no less."""
    spelled = b"".join(piece for piece, _ in entries or ()).strip()
    return bool(spelled) and spelled == text.encode().strip()


# Tool calls in replies, as text: what two of them are compared by.


def calls_to_text(calls: Sequence[Any]) -> str:
    """Tool calls as text: what an endpoint sends under `tool_calls`, without ids.

    >>> calls_to_text([{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}])
    '{"tool_calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}'
    """
    made = []
    for call in calls:
        inner = call.get("function", call) if isinstance(call, Mapping) else {}
        inner = inner if isinstance(inner, Mapping) else {}
        arguments = inner.get("arguments")
        if isinstance(arguments, str):
            with suppress(ValueError, RecursionError):  # arguments that are not JSON are compared as text
                arguments = json.loads(arguments or "{}")
        made.append({"name": str(inner.get("name") or ""), "arguments": arguments})
    return json.dumps({"tool_calls": made}, ensure_ascii=False)


MOST_CALLS = 128
"""Tool calls of one answer that are read."""


def sample_with_calls(choice: dict[str, Any]) -> Sample:
    """The sample in a choice of a chat or plain completion, in full.

    Tool calls are its text, and their probability is unknown.
    """
    message = choice.get("message", {"content": choice.get("text")})
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list) or not calls:
        return chat_sample({**choice, "message": message})
    bare = chat_sample({**choice, "message": {"content": ""}, "logprobs": None})
    return replace(
        bare, text=calls_to_text(calls[:MOST_CALLS]), complete=not is_cut_off(_finish(choice), calls=True)
    )

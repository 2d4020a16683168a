"""Prompts: one question as text, or a conversation as a list of chat messages that ends with the one to answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InputError

Message = Mapping[str, Any]
"""A chat message: `role` and `content`, and whatever else an endpoint takes."""

Prompt = str | Sequence[Message]
"""A question, or a conversation that ends with the message to answer."""

SHORT = 10
"""A question with at most this number of words may follow up an earlier one."""
CONTEXT = 320
"""How many characters of earlier messages the judge gets."""
_EXCERPT = 160  # characters of one earlier message
_REFERENCE = re.compile(
    r"\b(he|she|it|they|him|her|his|hers|its|them|their|this|that|these|those|there|one|ones|same|other|former|latter)\b",
    re.IGNORECASE,
)


def as_messages(prompt: Prompt, system: str | None = None) -> list[dict[str, Any]]:
    """The prompt as a list of messages, `system` first where it is given and not empty.

    Messages may also be objects with `model_dump`, as those that clients return.

    >>> as_messages("Who?", "Be brief.")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Who?'}]
    """
    if isinstance(prompt, str):
        if not prompt.strip():
            raise InputError("the prompt is empty: ask a question")
        messages = [{"role": "user", "content": prompt}]
    elif isinstance(prompt, Sequence) and not hasattr(prompt, "decode"):
        messages = [_message(each, place) for place, each in enumerate(prompt)]
        _check_last(messages)
    else:
        raise InputError(
            f"the prompt is of type {type(prompt).__name__}: give a question as text, or a list of messages"
        )
    if system is None:
        return messages
    if any(message["role"] in ("system", "developer") for message in messages):
        raise InputError("system is given, and messages has a system message too: give one of them")
    return [{"role": "system", "content": system}, *messages] if system else messages


def _message(message: Any, place: int) -> dict[str, Any]:
    dump = getattr(message, "model_dump", None)
    if callable(dump):
        message = dump(exclude_none=True)
    if not isinstance(message, Mapping):
        raise InputError(
            f"messages[{place}] is of type {type(message).__name__}: an object with role and content is expected"
        )
    if not isinstance(message.get("role"), str):
        raise InputError(f"messages[{place}].role is missing: user, assistant, system or tool")
    content = message.get("content")
    if content is not None and not isinstance(content, str | list | tuple):
        raise InputError(
            f"messages[{place}].content is of type {type(content).__name__}: text, or a list of parts, is expected"
        )
    return dict(message)


def _check_last(messages: Sequence[Message]) -> None:
    if not messages:
        raise InputError("messages is empty: the last message is the one to answer")
    last = messages[-1]
    if last["role"] == "assistant":
        raise InputError(
            "the last message is the assistant's: leave it out, and give its text as the answer to judge"
        )
    if last["role"] == "user" and not last.get("content"):
        raise InputError(f"messages[{len(messages) - 1}].content is empty: ask a question")


def message_text(message: Message) -> str:
    """The text of a message; parts that are not text, such as images, are left out.

    >>> message_text({"role": "user", "content": [{"type": "text", "text": "Who is"}, {"type": "text", "text": "he?"}]})
    'Who is\\nhe?'
    """
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = [
        part.get("text") for part in content or () if isinstance(part, Mapping) and part.get("type") == "text"
    ]
    return "\n".join(part for part in parts if isinstance(part, str)).strip()


def last_question(prompt: Prompt) -> str:
    """What is asked: the text of the last user message.

    >>> last_question([{"role": "user", "content": "Who?"}, {"role": "tool", "content": "42"}])
    'Who?'
    """
    if isinstance(prompt, str):
        return prompt
    asked = _asked(prompt)
    if not asked:
        raise InputError(
            "messages: no user message has text, so there is no question to judge answers by: give it the role user"
        )
    return asked[-1]


def _asked(prompt: Prompt) -> list[str]:
    """The texts of the user's messages."""
    texts = (message_text(each) for each in as_messages(prompt) if each["role"] == "user")
    return [text for text in texts if text]


def judge_question(prompt: Prompt) -> str:
    """The question as the judge reads it: what is asked, after as many of the user's messages as a follow-up needs.

    They go back to one that stands alone, within `CONTEXT` characters. The assistant's answers are left out: beside
    the answers that are compared, a judge takes them for one more.

    >>> said = ["Who won the Nobel Prize in Physics in 1910, which was the tenth one?", "And in 1911?", "And in 1912?"]
    >>> judge_question([{"role": "user", "content": text} for text in said]).splitlines()[1:]
    ['And in 1911?', 'And in 1912?']
    """
    question = last_question(prompt)
    if isinstance(prompt, str):
        return question
    lines, room = [question], CONTEXT
    for text in reversed(_asked(prompt)[:-1]):
        line = _excerpt(text)
        room -= len(line)
        if room < 0 or not _follows_up(lines[0]):
            break
        lines.insert(0, line)
    return "\n".join(lines)


def _follows_up(question: str) -> bool:
    """Whether a question may need what came before it: it is short, or points back.

    >>> _follows_up("And in 1912?"), _follows_up("In which year did the engineer who built the tower publish his book?")
    (True, True)
    >>> _follows_up("In which year did the engineer of the Eiffel Tower publish a book on wind?")
    False
    """
    words = question.split()
    return (len(words) <= SHORT and len(question) <= 8 * SHORT) or bool(_REFERENCE.search(question))


def _excerpt(text: str) -> str:
    """The end of a message, where it asks, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"… {line[-_EXCERPT:]}"

"""The few-shot prompt that makes a completion model answer in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..conversation import as_messages, message_text
from ..errors import InputError

if TYPE_CHECKING:
    from ..conversation import Message, Prompt

__all__ = ["EXAMPLES", "HEAD", "brief_prompt", "json_prompt", "text_only"]

EXAMPLES = (
    ("What is the capital of Italy?", "Rome"),
    ("Who wrote the play Hamlet?", "William Shakespeare"),
    ("How many legs does a spider have?", "8"),
    ("In what year did the Titanic sink?", "1912"),
    ("What is the chemical symbol of gold?", "Au"),
)

HEAD = "Answer each question briefly, in a few words.\n\n" + "".join(
    f"Question: {question}\nAnswer: {answer}\n\n" for question, answer in EXAMPLES
)
"""The text before every question: five examples. An answer ends at its first line break."""


def brief_prompt(prompt: Prompt) -> str:
    """The prompt for a question, to be continued with the answer; earlier turns of a conversation come before it.

    >>> brief_prompt("Who?").splitlines()[-2:]
    ['Question: Who?', 'Answer:']
    """
    if isinstance(prompt, str):
        return f"{HEAD}Question: {prompt.strip()}\nAnswer:"
    return f"{HEAD}{''.join(_lines(as_messages(prompt)))}"


JSON_HEAD = """Answer each question with JSON on one line.

Question: Tell me about the book Moby-Dick.
JSON (author, year): {"author": "Herman Melville", "year": 1851}

Question: Tell me about the planet Mars.
JSON (moons, colour): {"moons": ["Phobos", "Deimos"], "colour": "red"}

"""


def json_prompt(prompt: Prompt, fields: Iterable[str]) -> str:
    """The prompt for an answer in JSON; of a conversation, the texts of its messages, one after another.

    >>> json_prompt("Tell me about Oslo.", ["country"]).splitlines()[-2:]
    ['Question: Tell me about Oslo.', 'JSON (country):']
    """
    messages = as_messages(prompt)
    asked = "\n".join(text_only(message, place) for place, message in enumerate(messages))
    return f"{JSON_HEAD}Question: {asked.strip()}\nJSON ({', '.join(fields)}):"


def _lines(messages: Sequence[Message]) -> Iterator[str]:
    """The lines of each message. An answer takes one line, since its end is a line break."""
    for place, message in enumerate(messages):
        text, role = text_only(message, place), message["role"]
        if role in ("system", "developer"):
            yield f"{text}\n\n"
        elif role == "user":
            after_question = place and messages[place - 1]["role"] == "user"
            yield f"{text}\n" if after_question else f"Question: {text}\n"
            if place + 1 == len(messages) or messages[place + 1]["role"] != "user":
                yield "Answer:"
        elif role == "assistant":
            yield f" {' '.join(text.split())}\n\n"
        else:
            raise InputError(f"messages[{place}]: the role {role} needs a chat endpoint (openai:MODEL)")


def text_only(message: Message, place: int) -> str:
    """The text of a message for a model that takes nothing else."""
    content = message.get("content")
    parts = () if isinstance(content, str) or content is None else content
    if any(not isinstance(part, Mapping) or part.get("type") != "text" for part in parts):
        raise InputError(
            f"messages[{place}].content has a part that is not text: use a model that takes it (openai:MODEL)"
        )
    return message_text(message)

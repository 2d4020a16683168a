"""What makes a model answer in a few words: examples before the question, or a system message for a chat model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..conversation import as_messages, message_text
from ..errors import InputError

if TYPE_CHECKING:
    from ..conversation import Message, Prompt

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


LONG_HEAD = """Answer each question in one paragraph.

Question: Tell me about the city of Venice.
Answer: Venice is a city in north-eastern Italy, built on more than a hundred small islands in a shallow lagoon. It \
was the capital of a wealthy trading republic for about a thousand years, until Napoleon conquered it in 1797. Its \
best-known sights are Saint Mark's Square, the Doge's Palace and the Rialto Bridge over the Grand Canal. The city and \
its lagoon have been a World Heritage Site since 1987.

"""
"""The text before a question that asks for more than a few words."""

_ASKS_FOR_LONG = re.compile(
    r"""\b(?:write|give|provide|tell|compose|generate|create|draft)\b[^.?!]{0,80}
        \b(?:paragraphs?|essay|biography|bio|summary|overview|story|article|report|description|facts|introduction)\b
    | \btell\ me\ (?:\w+\ ){0,4}about\b
    | (?:^|[.?!:\n]\s*|\b(?:please|you|and|to)\ )
        (?:explain|describe|summari[sz]e|discuss|elaborate|outline|introduce)\b
    | ^(?:an?\ |the\ )?(?:\w+\ )?(?:biography|bio|life\ story)\ of\b | \bin\ (?:detail|depth)\b
    | \b(?:one|two|three|four|five|several|a\ few|an?|\d+)\ (?:short\ |long\ )?(?:paragraphs?|essay)\b
    | \b(?:two|three|four|five|six|several|a\ few|\d+)\ (?:short\ |long\ |brief\ )?sentences\b""",
    re.IGNORECASE | re.VERBOSE,
)


def asks_for_long(prompt: Prompt) -> bool:
    """Whether the question asks for a paragraph or more, rather than for a name, a number or a few words.

    >>> asks_for_long("Tell me about Marie Curie."), asks_for_long("Who discovered radium?")
    (True, False)
    >>> asks_for_long("In three short sentences: who was she?"), asks_for_long("Who was she? Answer in one sentence.")
    (True, False)
    """
    if isinstance(prompt, str):
        return _ASKS_FOR_LONG.search(prompt[-2000:]) is not None
    asked = [message for message in as_messages(prompt) if message["role"] == "user"]
    return bool(asked) and _ASKS_FOR_LONG.search(message_text(asked[-1])[-2000:]) is not None


def brief_prompt(prompt: Prompt) -> str:
    """The prompt for a question, to be continued with the answer; earlier turns of a conversation come before it.

    A question that asks for more gets an example of one paragraph instead of examples of a few words.

    >>> brief_prompt("Who?").splitlines()[-2:]
    ['Question: Who?', 'Answer:']
    """
    head = LONG_HEAD if asks_for_long(prompt) else HEAD
    if isinstance(prompt, str):
        return f"{head}Question: {prompt.strip()}\nAnswer:"
    return f"{head}{''.join(_lines(as_messages(prompt)))}"


BRIEF = "Answer the question as briefly as possible: a name, a number or a few words, and nothing else."
"""The system message that chat models get before a question."""


def system_for(prompt: Prompt, system: str | None) -> str | None:
    """The system message that goes before the prompt: none before messages, and no `BRIEF` where it asks for more.

    >>> system_for("Who discovered radium?", BRIEF) == BRIEF, system_for("Tell me about Marie Curie.", BRIEF)
    (True, None)
    """
    if not isinstance(prompt, str) or (system == BRIEF and asks_for_long(prompt)):
        return None
    return system


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


END_TOKENS: tuple[str, ...]
END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>")
END_TOKENS += ("<|end|>", "<eos>")
"""Special tokens that end a turn or a text, whatever the end token is that a file of weights names."""

"""One answer in many wordings: bare, in a sentence, with a hedge, with a slip of the pen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

FRAMES = (
    "{}.", "It is {}.", "It was {}.", "The answer is {}.", "{} is the answer.", "That would be {}.",
    "It's {}.", "The correct answer is {}.", "Answer: {}", "I believe it was {}.", "I think it is {}.",
    "My answer is {}.", "This is {}.", "It was {}, I think.", "Probably {}.", "I would say {}.",
    "The answer to your question is {}.", "**{}**", "{}, of course.",
)  # fmt: skip
_VOWELS = tuple("aeiouAEIOU")
_WHO = re.compile(r"^(?:who|what|which (?:\w+ ){0,2}?\w+)(?= (?:is|was|were|are|has|had|did|won|wrote|played|became|"
                  r"invented|discovered|directed|sang|founded|painted|composed|created|starred|led|died|said)\b)",
                  re.IGNORECASE)  # fmt: skip


def article(noun: str) -> str:
    """The noun with its indefinite article.

    >>> article("apple"), article("dog")
    ('an apple', 'a dog')
    """
    return ("an " if noun.startswith(_VOWELS) else "a ") + noun


def say(answer: str, rng: random.Random, question: str = "") -> str:
    """The answer, half of the time in a sentence: a frame, or the question turned into a statement."""
    if rng.random() < 0.5:
        return answer
    if question and rng.random() < 0.5:
        told = tell(question, answer)
        if told:
            return told
    return rng.choice(FRAMES).format(answer)


def tell(question: str, answer: str) -> str | None:
    """The question as a statement with the answer in it, where its form allows.

    >>> tell("Who was the next British Prime Minister after Arthur Balfour?", "Henry Campbell-Bannerman")
    'Henry Campbell-Bannerman was the next British Prime Minister after Arthur Balfour.'
    >>> tell("In which year did it end?", "1945") is None
    True
    """
    match = _WHO.match(question)
    if not match or " did " in question:
        return None
    rest = question[match.end() :].strip().rstrip("?").strip()
    return f"{answer} {rest}." if 10 < len(rest) < 120 else None


def slip(text: str, rng: random.Random) -> str:
    """The text with one slip of the pen in a long word, or with other capitals."""
    words = text.split(" ")
    long = [place for place, word in enumerate(words) if len(word) >= 6 and word.isalpha()]
    if not long or rng.random() < 0.3:
        return rng.choice((text.lower(), text.upper(), text.title()))
    place = rng.choice(long)
    word = words[place]
    at = rng.randrange(2, len(word) - 1)
    changed = (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] * 2 + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    words[place] = rng.choice(changed)
    return " ".join(words)

"""The few-shot prompt that makes a completion model answer in a few words."""

from __future__ import annotations

__all__ = ["EXAMPLES", "HEAD", "brief_prompt"]

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


def brief_prompt(question: str) -> str:
    """The prompt for `question`, to be continued with the answer.

    >>> brief_prompt("Who?").splitlines()[-2:]
    ['Question: Who?', 'Answer:']
    """
    return f"{HEAD}Question: {question.strip()}\nAnswer:"

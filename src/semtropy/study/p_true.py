"""P(True), the Nature paper's few-shot form: does the model hold its own answer true?

Each training question is shown with the answers the model brainstormed, one of them as the possible answer,
and whether that one was right. The measure is the probability that the model goes on with "A" (True) for a
new question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .prompt import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Question

__all__ = ["TRUE", "p_true_prompt", "worked_example"]

TRUE, FALSE = " A", " B"
BRAINSTORMED = 10  # answers shown beside the one in question, as in the Nature paper


def p_true_prompt(examples: Sequence[str], question: Question, answer: str, others: Sequence[str]) -> str:
    """The prompt that the model continues with " A" if it holds `answer` true.

    >>> from semtropy.nouns import Question
    >>> print(p_true_prompt([], Question("1", "Who wrote Emma?"), "Austen", ["Jane Austen", "Eliot"]))
    Question: Who wrote Emma?
    Brainstormed Answers: Austen
    Jane Austen
    Eliot
    Possible answer: Austen
    Is the possible answer:
    A) True
    B) False
    The possible answer is:
    """
    brainstormed = "\n".join(one_line(text) for text in (answer, *others[:BRAINSTORMED]))
    asked = (
        f"Question: {one_line(question.text)}\nBrainstormed Answers: {brainstormed}\n"
        f"Possible answer: {one_line(answer)}\n"
        "Is the possible answer:\nA) True\nB) False\nThe possible answer is:"
    )
    return "".join(f"{example}\n\n" for example in examples) + asked


def worked_example(question: Question, answer: str, others: Sequence[str], correct: bool) -> str:
    """A training question with the right reply."""
    return p_true_prompt([], question, answer, others) + (TRUE if correct else FALSE)

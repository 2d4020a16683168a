"""The two prompts of the Nature paper: the brief-answer prompt and the few-shot P(True) prompt.

P(True) asks whether the model holds its own answer true. Each training question is shown with the answers the model
gave, one of them as the possible answer, and whether that one was right. The score is the probability that the model
continues a new question with "A" (True).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...nouns import Question

__all__ = ["BRAINSTORMED", "TRUE", "BriefPrompt", "one_line", "p_true_prompt", "worked_example"]

INSTRUCTION = "Answer the following question as briefly as possible."
TRUE, FALSE = " A", " B"
BRAINSTORMED = 10  # sampled answers shown besides the judged one, as in the Nature paper


@dataclass(frozen=True, slots=True)
class BriefPrompt:
    """The brief-answer prompt. It ends where the answer begins; an answer ends at the end of its line.

    >>> from semtropy.nouns import Question
    >>> shots = (Question("1", "What is the capital of Peru?", references=("Lima",)),)
    >>> print(BriefPrompt(shots).ask(Question("2", "Who wrote Emma?")))
    Answer the following question as briefly as possible.
    Question: What is the capital of Peru?
    Answer: Lima
    <BLANKLINE>
    Question: Who wrote Emma?
    Answer:
    """

    examples: tuple[Question, ...] = ()
    with_context: bool = False
    instruction: str = INSTRUCTION

    def ask(self, question: Question) -> str:
        """The whole prompt for one question."""
        shots = "".join(
            f"{self.pose(shot)} {one_line(shot.references[0])}\n\n"
            for shot in self.examples
            if shot.references
        )
        return f"{self.instruction}\n{shots}{self.pose(question)}"

    def pose(self, question: Question) -> str:
        """The question alone, up to where its answer begins."""
        about = f"Context: {question.context}\n" if self.with_context and question.context else ""
        return f"{about}Question: {one_line(question.text)}\nAnswer:"


def one_line(text: str) -> str:
    """The text on one line; a line break would end a question or an answer early.

    >>> one_line("a\\n b ")
    'a b'
    """
    return " ".join(text.split())


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
    """A training question followed by the correct reply."""
    return p_true_prompt([], question, answer, others) + (TRUE if correct else FALSE)

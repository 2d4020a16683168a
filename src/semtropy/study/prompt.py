"""The brief-answer prompt of the Nature paper: an instruction, a few worked examples, the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..nouns import Question

__all__ = ["BriefPrompt", "one_line"]

INSTRUCTION = "Answer the following question as briefly as possible."


@dataclass(frozen=True, slots=True)
class BriefPrompt:
    """A prompt that ends where the answer begins; answers end at the end of the line.

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
    """Text without line ends, which would end an answer or a question early.

    >>> one_line("a\\n b ")
    'a b'
    """
    return " ".join(text.split())

"""A language model as the judge: asked in words whether one answer entails another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Floats, Model
    from .partition import Triple

__all__ = ["Llm", "load_llm"]

_PROMPT = """Two people answered the same question.

Question: {question}
Answer A: {a}
Answer B: {b}

Taken as an answer to the question, does answer A semantically entail answer B? Say "entailment" if whoever
gives answer A also asserts answer B, "contradiction" if both cannot be right, "neutral" otherwise. Reply with
one word."""
_WORD = re.compile(r"\b(?:(not?|non|isn't|doesn't)[ -])?(entail\w*|contradict\w*|neutral)", re.IGNORECASE)
_ORDER = ("entail", "neutral", "contradict")
# Close to deterministic, as in the Nature paper; some endpoints refuse exactly 0.
_TEMPERATURE = 0.02


class Llm:
    """Entailment by asking a `Model`, once a pair or `votes` times.

    A reply that names no relation is asked for again, then counted in `unread` and taken as neutral.
    """

    def __init__(self, model: Model, *, votes: int = 1, retries: int = 2) -> None:
        if votes < 1:
            raise InputError(f"votes is {votes}: at least one")
        self.model, self.votes, self.retries = model, votes, retries
        self.name = f"llm:{getattr(model, 'name', type(model).__name__)}/{votes}"
        self.unread = 0

    def relations(self, batch: Sequence[Triple]) -> Floats:
        """Shares of the votes for entailment, neutral and contradiction, a row a pair."""
        return np.array([self._vote(*triple) for triple in batch]).reshape(-1, 3)

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The share of votes for entailment."""
        return np.asarray(self.relations(batch)[:, 0])

    def _vote(self, question: str, a: str, b: str) -> list[float]:
        prompt = _PROMPT.format(question=question, a=a, b=b)
        counts = [0] * 3
        for _ in range(1 + self.retries):
            missing = self.votes - sum(counts)
            for sample in self.model.sample(
                prompt, missing, temperature=_TEMPERATURE if self.votes == 1 else 1.0
            ):
                relation = read_relation(sample.text)
                if relation is not None:
                    counts[relation] += 1
            if sum(counts) >= self.votes:
                break
        missing = self.votes - sum(counts)
        self.unread += missing
        counts[1] += max(missing, 0)
        return [count / sum(counts) for count in counts]


def read_relation(reply: str) -> int | None:
    """The first relation named: 0 entailment, 1 neutral, 2 contradiction; None where none is.

    >>> read_relation("Entailment."), read_relation("It is: contradiction"), read_relation("I think so")
    (0, 2, None)
    >>> read_relation("A does not entail B")
    1
    """
    match = _WORD.search(reply)
    if match is None:
        return None
    if match[1]:
        return 1
    word = match[2].casefold()
    return next(place for place, stem in enumerate(_ORDER) if word.startswith(stem))


def load_llm(name: str, model: Model | None = None) -> Llm:
    """The judge that asks the model of that name, or `model` where the name is empty."""
    from ..models import load_model

    if not name:
        if model is None:
            raise InputError(
                "judge llm asks the model that is checked, and no model is checked here: name one, llm:MODEL"
            )
        return Llm(model)
    try:
        return Llm(load_model(name))
    except InputError as error:
        raise InputError(f"judge llm:{name}: {error}") from error

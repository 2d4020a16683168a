"""Graders: whether an answer is correct. True, False, or None where a question has no usable reference."""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import unknown
from .requests import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...nouns import Grader, Model, Question


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")


def normalise(text: str) -> str:
    """SQuAD's normal form: lower case, no punctuation, no articles, single spaces.

    >>> normalise("The  Beatles!")
    'beatles'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(answer: str, reference: str) -> float:
    """SQuAD's F1: the harmonic mean of precision and recall over normalised words.

    >>> round(token_f1("the Eiffel Tower in Paris", "Eiffel Tower"), 3)
    0.667
    >>> token_f1("", "Paris")
    0.0
    """
    words, wanted = normalise(answer).split(), normalise(reference).split()
    if not words or not wanted:
        return float(words == wanted)
    common = sum((Counter(words) & Counter(wanted)).values())
    return 2 * common / (len(words) + len(wanted))


def f1(question: Question, answer: str) -> bool | None:
    """The paper's grade: whether the token F1 with the best reference is at least 0.5.

    >>> from semtropy.nouns import Question
    >>> f1(Question("1", "Who?", references=("Neil Armstrong",)), "Armstrong"), f1(Question("2", "Who?"), "x")
    (True, None)
    """
    return _any(question, lambda reference: token_f1(answer, reference) >= 0.5)


def exact(question: Question, answer: str) -> bool | None:
    """Whether the answer equals a reference, up to case, punctuation and articles."""
    return _any(question, lambda reference: normalise(answer) == normalise(reference))


def numeric(question: Question, answer: str) -> bool | None:
    """Whether the last number in the answer equals that of a reference; None where no reference has a number.

    >>> from semtropy.nouns import Question
    >>> numeric(Question("1", "How many?", references=("1000.0",)), "It is 1,000.")
    True
    """
    wanted = [number for number in map(last_number, question.references) if number is not None]
    if not wanted:
        return None
    said = last_number(answer)
    return said is not None and any(np.isclose(said, number, rtol=1e-6, atol=1e-9) for number in wanted)


def last_number(text: str) -> float | None:
    """The last number in a text, thousands separators allowed."""
    found = [match for match in _NUMBER.findall(text) if any(map(str.isdigit, match))]
    return float(found[-1].replace(",", "")) if found else None


def _any(question: Question, right: Callable[[str], bool]) -> bool | None:
    return any(map(right, question.references)) if question.references else None


@dataclass(frozen=True)
class ModelGrader:
    """Asks a model whether the answer means the same as a reference; None if it answers neither yes nor no."""

    model: Model

    def __call__(self, question: Question, answer: str) -> bool | None:
        if not question.references:
            return None
        expected = "; ".join(map(one_line, question.references))
        prompt = (
            f"Question: {one_line(question.text)}\nExpected answers: {expected}\n"
            f"Proposed answer: {one_line(answer)}\n"
            "Does the proposed answer mean the same as one of the expected answers? Reply yes or no.\nReply:"
        )
        ask = getattr(self.model, "complete", self.model.sample)
        said = ask(prompt, 1, temperature=0.1, rng=np.random.default_rng(0))[0].text.strip().lower()
        return True if said.startswith("yes") else False if said.startswith("no") else None


GRADERS = {"f1": f1, "exact": exact, "numeric": numeric}


def load_grader(name: str) -> Grader:
    """A grader by name: f1, exact, numeric, or `model:NAME` to ask a model.

    >>> load_grader("f1") is f1
    True
    """
    if name.startswith("model:"):
        from ...models import load_model

        return ModelGrader(load_model(name.removeprefix("model:")))
    check_grader(name)
    return GRADERS[name]


def check_grader(name: str) -> None:
    """Refuse a name that no grader has; nothing is loaded."""
    if name not in GRADERS and not name.startswith("model:"):
        raise unknown("grader", name, (*GRADERS, "model:NAME"))

"""Multiple choice: which of the choices an answer names. No judge is needed."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from ..errors import InputError
from ..meaning.normal import normalise
from ..refusals import missing_answer

if TYPE_CHECKING:
    from ..fields import FieldReading
    from ..nouns import Floats, Model, Sample, Token

__all__ = ["ChoiceGrouping", "Choices"]

_LEAD = r"(?:the |my )?(?:(?:correct|final|right|best) )?(?:answer|option|choice)?(?: is)?\s*[:\-]?\s*"


class Choices:
    """The choices of a question.

    choices  the texts that an answer may be, at least two, all different

    >>> chosen = Choices(["Paris", "Lyon"])
    >>> chosen.find("It is Paris."), chosen.find("Paris or Lyon"), chosen.find("Rome")
    (0, None, None)
    >>> Choices(["A", "B", "C"]).find("(B) because it is the capital")
    1
    """

    def __init__(self, choices: Sequence[str]) -> None:
        if isinstance(choices, str) or not all(isinstance(each, str) and each.strip() for each in choices):
            raise InputError("choices must be a list of texts, none of them empty")
        self.choices = tuple(each.strip() for each in choices)
        if len({each.casefold() for each in self.choices}) < max(2, len(self.choices)):
            raise InputError(f"choices are {', '.join(self.choices)}: give at least two, all different")
        named = "|".join(re.escape(each) for each in sorted(self.choices, key=len, reverse=True))
        self._words = re.compile(rf"(?<!\w)(?:{named})(?!\w)", re.IGNORECASE)
        # A single letter is a label only where nothing but a mark follows it: "A cat" is not choice A.
        self._label = re.compile(rf"\W*{_LEAD}\W*({named})(?=\W*$|[).:,\]*]|\s+[-–—])", re.IGNORECASE)

    def find(self, text: str) -> int | None:
        """The place of the one choice that an answer names; None where it names none or several."""
        folded = [each.casefold() for each in self.choices]
        stripped = text.strip().strip("\"'`*.()[] ").casefold()
        if stripped in folded:
            return folded.index(stripped)
        spelled = [normalise(each) for each in self.choices]
        if spelled.count(normalise(text)) == 1:
            return spelled.index(normalise(text))
        label = self._label.match(text.strip())
        if label is not None:
            return folded.index(label[1].casefold())
        if min(map(len, self.choices)) < 2:
            return None
        named = {match.casefold() for match in self._words.findall(text)}
        return folded.index(named.pop()) if len(named) == 1 else None

    def asking(self, model: Model) -> Model:
        """The model as it is: the question names the choices."""
        return model

    def grouping(self, question: str) -> ChoiceGrouping:
        """A grouping of the answers to one question."""
        return ChoiceGrouping(self)


class ChoiceGrouping:
    """Places answers by the choice they name; those that name none are one outcome."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def place(
        self, text: str, tokens: Sequence[Token] | None = None
    ) -> Generator[Sequence[tuple[str, str, str]], Floats, int]:
        """The place of the choice, or the number of choices for none."""
        yield from ()
        found = self._choices.find(text)
        return len(self._choices.choices) if found is None else found

    def missing(self, answer: Sample) -> str | None:
        """Why there is no answer to judge: none was given, or it names none of the choices."""
        if self._choices.find(answer.text) is not None:
            return None
        return missing_answer(answer) or f"it names none of the choices {', '.join(self._choices.choices)}"

    def fields(self, answer: Sample | None, samples: Sequence[Sample]) -> Sequence[FieldReading]:
        """None: a choice is judged as a whole."""
        return ()

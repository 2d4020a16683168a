"""Meanings of one question's answers, one answer at a time, without I/O.

A new answer passes a cascade and stops at the first step that knows it: the same tokens or string, the same
normalised string, the same number or date, and only then the judge, against one representative a meaning (its
first answer), the most frequent meaning first, both directions in one batch. An answer equivalent to two
meanings joins one of them; no answer is ever moved.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..nouns import Partition
from .normal import normalise
from .quantity import Quantity, quantity

if TYPE_CHECKING:
    from ..nouns import Floats, Token

__all__ = ["MODES", "Grouper", "Placing", "Tally", "Triple"]

Triple = tuple[str, str, str]
Placing = Generator[list[Triple], "Floats", int]
MODES = {
    "strict": "each entails the other (the paper's, and the default)",
    "relaxed": "one entails the other and neither contradicts the other (the Nature paper's looser variant)",
    "either": "one entails the other",
}


@dataclass(frozen=True, slots=True)
class Tally:
    """How samples found their meaning, and how many pairs the judge saw (each in both directions).

    >>> (Tally(samples=2, identical=1) + Tally(samples=1, pairs=3)).samples
    3
    """

    samples: int = 0
    identical: int = 0
    normalised: int = 0
    quantities: int = 0
    pairs: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.samples + other.samples,
            self.identical + other.identical,
            self.normalised + other.normalised,
            self.quantities + other.quantities,
            self.pairs + other.pairs,
        )


class Grouper:
    """Groups the answers to one question by meaning as they come.

    `place` is a generator: it yields lists of (question, a, b) to be judged, takes the judge's array for each
    list by `send`, and returns the meaning's number. Drivers differ only in who asks the judge and how.

    >>> grouper = Grouper("What is the capital of France?")
    >>> placing = grouper.place("Paris")
    >>> next(placing)
    Traceback (most recent call last):
    ...
    StopIteration: 0
    >>> [(a, b) for question, a, b in next(grouper.place("It is Paris."))]
    [('Paris', 'It is Paris.'), ('It is Paris.', 'Paris')]
    """

    def __init__(self, question: str, *, mode: str = "strict", threshold: float = 0.5) -> None:
        if mode not in MODES:
            raise InputError(f"no mode is called {mode!r}: choose one of {', '.join(MODES)}")
        self.question, self.mode, self.threshold = question, mode, threshold
        self.tally = Tally()
        self._meanings: list[int] = []
        self._counts: list[int] = []
        self._representatives: list[str] = []
        self._known: dict[object, int] = {}

    @property
    def partition(self) -> Partition:
        """The meanings so far."""
        return Partition(tuple(self._meanings))

    @property
    def representatives(self) -> tuple[str, ...]:
        """The first answer of each meaning."""
        return tuple(self._representatives)

    def place(self, text: str, tokens: Sequence[Token] | None = None) -> Placing:
        """Find the meaning of the next answer, asking for judgements only where nothing cheaper knows."""
        normal = normalise(text)
        amount = quantity(text)
        meaning = self._recall(text, tokens, normal, amount)
        if meaning is None:
            meaning = yield from self._compare(text, normal)
        if meaning == len(self._counts):
            self._counts.append(0)
            self._representatives.append(text)
        self._remember(meaning, text, tokens, normal, amount)
        return meaning

    def _recall(
        self, text: str, tokens: Sequence[Token] | None, normal: str, amount: Quantity | None
    ) -> int | None:
        steps: tuple[tuple[str, object | None], ...] = (
            ("identical", ("text", text)),
            ("identical", ("tokens", tuple(tokens)) if tokens else None),
            ("normalised", ("normal", normal)),
            ("quantities", ("quantity", amount) if amount is not None else None),
        )
        for step, key in steps:
            if key is not None and key in self._known:
                self.tally += Tally(**{step: 1})
                return self._known[key]
        return None

    def _compare(self, text: str, normal: str) -> Placing:
        """Ask the judge, meaning by meaning; a new number if none is the same."""
        if not normal:  # nothing was said: the same as other silence, and like no answer
            return len(self._counts)
        for meaning in sorted(range(len(self._counts)), key=lambda m: (-self._counts[m], m)):
            other = self._representatives[meaning]
            if not normalise(other):
                continue
            judged = yield [(self.question, other, text), (self.question, text, other)]
            self.tally += Tally(pairs=1)
            if self._same(np.asarray(judged, dtype=float)):
                return meaning
        return len(self._counts)

    def _same(self, judged: Floats) -> bool:
        """Whether two directions make one meaning; three columns are entailment, neutral, contradiction."""
        if judged.shape not in ((2,), (2, 3)):
            raise InputError(f"the judge gave {judged.shape[0]} values for 2 pairs: one a pair")
        if not np.all(np.isfinite(judged)):
            raise InputError("the judge gave a value that is not a number: a judge returns probabilities")
        entails = (judged if judged.ndim == 1 else judged[:, 0]) >= self.threshold
        if self.mode == "strict":
            return bool(entails.all())
        if self.mode == "either":
            return bool(entails.any())
        if judged.ndim == 1:
            raise InputError(
                "mode 'relaxed' needs a judge that knows contradiction: use 'either' with this one"
            )
        return bool(entails.any()) and not bool((judged.argmax(axis=1) == 2).any())

    def _remember(
        self, meaning: int, text: str, tokens: Sequence[Token] | None, normal: str, amount: Quantity | None
    ) -> None:
        self._meanings.append(meaning)
        self._counts[meaning] += 1
        self.tally += Tally(samples=1)
        known = self._known.setdefault
        if tokens:
            known(("tokens", tuple(tokens)), meaning)
        known(("text", text), meaning)
        known(("normal", normal), meaning)
        if amount is not None:
            known(("quantity", amount), meaning)

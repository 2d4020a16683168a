"""Meanings of one question's answers, one answer at a time, without I/O.

A new answer passes a cascade and stops at the first step that knows it: the same tokens or string, the same
normalised string, the same number or date, and only then the judge, against the first answer of each meaning (the
first two if they are sentences), the most frequent meaning first. The judge is not asked about a meaning that has an
answer whose numbers conflict with the new one, nor where it has said that it need not be (`unlike`). An answer
equivalent to two meanings joins one of them; no answer is ever moved.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..nouns import Partition
from ..numeric_checks import shown
from .quantities import Quantity, conflict, quantity
from .spelling import normalise

if TYPE_CHECKING:
    from ..nouns import Floats, Token


Triple = tuple[str, str, str]
Placing = Generator[list[Triple], "Floats", int]
IDENTITIES = ("text", "words", "amounts")
MODES = {
    "strict": "each entails the other (the paper's, and the default)",
    "relaxed": "one entails the other and neither contradicts the other (the Nature paper's looser variant)",
    "either": "one entails the other",
}


PRIOR = 0.6  # the weight of the prior odds, fitted on sampled answers (docs/judge-card.md)
_MOST = 2.0  # prior log-odds at most: more answers than the weight was fitted on make no stronger prior
_SLACK = 1e-3  # what rounding in half precision may add to a probability
_TELLINGS = 2  # of a meaning, with which a new sentence is compared: no two say quite the same
_MEMBERS = 50  # different answers of a meaning that a new one's numbers are compared with


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One pair of answers that was compared, and what came of it.

    `there` is the probability that `first` entails `second`, `back` the other direction; None where it was not asked
    for. `needed` is the probability that both had to reach. All are None where no judge was asked, because the numbers
    of the two conflict or they have nothing in common.
    """

    first: str
    second: str
    there: float | None
    back: float | None
    needed: float | None
    joined: bool

    @property
    def probability(self) -> float | None:
        """The lower of the probabilities that were asked for."""
        known = [value for value in (self.there, self.back) if value is not None]
        return min(known, default=None)

    @property
    def margin(self) -> float | None:
        """How far the probability is from the one needed, in log-odds; small for a close call, negative for apart."""
        if self.probability is None or self.needed is None:
            return None
        found, needed = (min(max(p, 1e-9), 1 - 1e-9) for p in (self.probability, self.needed))
        return math.log(found / (1 - found)) - math.log(needed / (1 - needed))


@dataclass(frozen=True, slots=True)
class Tally:
    """How samples found their meaning, and what the judge was asked.

    samples     answers grouped
    identical   answers with the text or tokens of an earlier one
    normalised  answers with the words of an earlier one
    quantities  answers with the number, date or time of an earlier one
    pairs       pairs of answers the judge compared
    judgements  directions of those pairs it judged

    >>> (Tally(samples=2, identical=1) + Tally(samples=1, pairs=3)).samples
    3
    """

    samples: int = 0
    identical: int = 0
    normalised: int = 0
    quantities: int = 0
    pairs: int = 0
    judgements: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.samples + other.samples,
            self.identical + other.identical,
            self.normalised + other.normalised,
            self.quantities + other.quantities,
            self.pairs + other.pairs,
            self.judgements + other.judgements,
        )


class Grouper:
    """Groups the answers to one question by meaning as they come.

    question   what was asked
    judge      who will be asked. Only what it says of its ways is read here: `identity`, what makes two answers one
               without asking it (`IDENTITIES`: the text, its words, or amounts as well, the default);
               `unlike(triple)`, that it need not be asked because it would keep the two apart (mode strict only); and
               `sentences(triple)`, that the two answers are sentences: a meaning has two to compare with, and either
               order gives the same
    mode       when two answers are one meaning: strict, relaxed or either (`MODES`)
    threshold  the probability of entailment from which a direction counts where the prior is even
    prior      how much the prior odds of joining a meaning count; 0 for the same threshold throughout

    `place` is a generator: it yields lists of (question, a, b) to be judged, takes the judge's array for each
    list by `send`, and returns the meaning's number. Drivers differ only in who asks the judge and how.

    >>> grouper = Grouper("What is the capital of France?")
    >>> placing = grouper.place("Paris")
    >>> next(placing)
    Traceback (most recent call last):
    ...
    StopIteration: 0
    >>> next(grouper.place("Paris, France"))
    [('What is the capital of France?', 'Paris', 'Paris, France')]
    """

    def __init__(
        self,
        question: str,
        judge: object = None,
        *,
        mode: str = "strict",
        threshold: float = 0.5,
        prior: float = PRIOR,
    ) -> None:
        if mode not in MODES:
            raise InputError(f"no mode is called {mode!r}: choose one of {', '.join(MODES)}")
        if not 0 < threshold < 1:
            raise InputError(f"threshold is {threshold}: a probability between 0 and 1")
        self.question, self.mode, self.threshold, self.prior = question, mode, threshold, prior
        self._unlike = getattr(judge, "unlike", None) if mode == "strict" else None
        self._sentences = getattr(judge, "sentences", lambda triple: False)
        self._identity = IDENTITIES.index(getattr(judge, "identity", IDENTITIES[-1]))
        self.tally = Tally()
        self._meanings: list[int] = []
        self._counts: list[int] = []
        self._members: list[list[str]] = []
        self._comparisons: list[PairComparison] = []
        self._known: dict[object, int] = {}
        self._silence: int | None = None  # the meaning of answers that say nothing

    @property
    def partition(self) -> Partition:
        """The meanings so far."""
        return Partition(tuple(self._meanings))

    @property
    def wordings(self) -> tuple[tuple[str, ...], ...]:
        """The different answers of each meaning, in order of appearance."""
        return tuple(tuple(texts) for texts in self._members)

    @property
    def comparisons(self) -> tuple[PairComparison, ...]:
        """Every pair that the judge or arithmetic compared, in order: why the groups are what they are."""
        return tuple(self._comparisons)

    def place(self, text: str, tokens: Sequence[Token] | None = None) -> Placing:
        """Find the meaning of the next answer, asking for judgements only where nothing cheaper knows."""
        normal = normalise(text) if self._identity else text
        amount = quantity(text, self.question) if self._identity > 1 else None
        meaning = self._recall(text, tokens, normal, amount)
        if meaning is None:
            meaning = yield from self._compare(text, normal)
        if meaning == len(self._counts):
            self._counts.append(0)
            self._members.append([])
            if not normal:
                self._silence = meaning
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
            if meaning == self._silence:
                continue
            rival = self._conflicting(meaning, text)
            first = (self.question, self._members[meaning][0], text)
            if rival is None and self._unlike is not None:
                rival = first[1] if self._unlike(first) else None
            if rival is not None:
                self._comparisons.append(PairComparison(rival, text, None, None, None, joined=False))
                continue
            for other in self._members[meaning][: _TELLINGS if self._sentences(first) else 1]:
                if (yield from self._same(meaning, other, text)):
                    return meaning
        return len(self._counts)

    def needed(self, meaning: int) -> float:
        """The probability of entailment a new answer needs to join a meaning, given the answers so far.

        The prior log-odds of joining meaning j rather than a new one are log((n_j + 1/2) / (k + 1/2)), as in a Chinese
        restaurant process whose concentration is about the number k of meanings so far; n_j counts the answers of j.
        They count by the factor `prior`, and at most as e^2 to 1. So a question whose answers all differ asks for
        stronger evidence than one with a clear majority.
        """
        odds = math.log((self._counts[meaning] + 0.5) / (len(self._counts) + 0.5))
        even = math.log(self.threshold / (1 - self.threshold))
        return 1 / (1 + math.exp(self.prior * min(max(odds, -_MOST), _MOST) - even))

    def _same(self, meaning: int, other: str, text: str) -> Generator[list[Triple], Floats, bool]:
        """Whether an answer means what another, of a meaning, does.

        The second direction is asked for only where the first leaves it open: most answers that differ fail in
        the first, which saves nearly half of the judge's work. Mode 'relaxed' needs both, in one batch.
        """
        needed, alike = self.needed(meaning), self._sentences((self.question, other, text))
        if alike:
            needed = max(needed, self.threshold)  # with two to join by, a majority needs no help
        there, back = (self.question, other, text), (self.question, text, other)
        self.tally += Tally(pairs=1)
        if self.mode == "relaxed":
            judged = yield from self._ask(there, back)
            joined = _relaxed(judged, needed)
            found = float(judged[0, 0]), float(judged[1, 0])
            self._comparisons.append(PairComparison(other, text, *found, needed, joined))
            return joined
        enough = self.mode == "either"
        first = float((yield from self._ask(there))[0])
        joined, second = first >= needed, None
        if joined is not enough and not alike:
            second = float((yield from self._ask(back))[0])
            joined = second >= needed
        self._comparisons.append(PairComparison(other, text, first, second, needed, joined))
        return joined

    def _conflicting(self, meaning: int, text: str) -> str | None:
        """An answer of the meaning whose numbers rule the new one out, so that it cannot join by way of another."""
        members = self._members[meaning][:_MEMBERS] if self._identity > 1 else ()
        return next((member for member in members if conflict(member, text, self.question)), None)

    def _ask(self, *triples: Triple) -> Generator[list[Triple], Floats, Floats]:
        """The judge's values, checked: one a triple, or a row of three relations in mode 'relaxed'."""
        reply = yield list(triples)
        try:
            judged = np.asarray(reply, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(f"the judge gave {shown(reply)}: a judge returns probabilities") from error
        self.tally += Tally(judgements=len(triples))
        if judged.shape[:1] != (len(triples),) or judged.shape[1:] not in ((), (3,)):
            raise InputError(
                f"the judge gave an array of shape {judged.shape} for {len(triples)} triples: one value per triple"
            )
        if not np.all((judged >= -_SLACK) & (judged <= 1 + _SLACK)):
            raise InputError(
                f"the judge gave {shown(judged.tolist())}: a judge returns probabilities, between 0 and 1"
            )
        return judged if self.mode == "relaxed" or judged.ndim == 1 else judged[:, 0]

    def _remember(
        self, meaning: int, text: str, tokens: Sequence[Token] | None, normal: str, amount: Quantity | None
    ) -> None:
        self._meanings.append(meaning)
        self._counts[meaning] += 1
        self.tally += Tally(samples=1)
        if ("text", text) not in self._known:
            self._members[meaning].append(text)
        known = self._known.setdefault
        if tokens:
            known(("tokens", tuple(tokens)), meaning)
        known(("text", text), meaning)
        known(("normal", normal), meaning)
        if amount is not None:
            known(("quantity", amount), meaning)


def _relaxed(judged: Floats, threshold: float) -> bool:
    """One direction entails and neither contradicts."""
    if judged.ndim == 1:
        raise InputError("mode 'relaxed' needs a judge that knows contradiction: use 'either' with this one")
    return bool((judged[:, 0] >= threshold).any()) and not bool((judged.argmax(axis=1) == 1).any())

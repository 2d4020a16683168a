"""From a belief to the probability of a hallucination: a curve fitted on graded questions, as a file.

`semtropy calibrate` fits one; `score` and `check` read it. A curve holds for the model, the kind of questions and
the estimator it was fitted on, which is why the file names them.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr, betaincinv

from .errors import InputError, one_line
from .files import read_json, replacing
from .second import OpinionWeights

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from .nouns import Belief


VERSION = 1


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(slope * entropy + intercept).

    >>> Logistic(slope=2.0, intercept=-1.0)([0.5]).tolist()
    [0.5]
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept)):
            raise InputError("slope and intercept must be finite numbers")

    def __call__(self, entropies: ArrayLike) -> NDArray[np.float64]:
        x = self.slope * np.asarray(entropies, dtype=float) + self.intercept
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))

    def entropy_at(self, probability: float) -> float | None:
        """The largest entropy whose probability is at most this, None where there is no such limit."""
        if self.slope <= 0 or not 0 < probability < 1:
            return None
        return (math.log(probability / (1 - probability)) - self.intercept) / self.slope


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A non-decreasing curve through knots, straight between them and flat outside.

    >>> Isotonic(knots=(0.0, 1.0), values=(0.25, 0.75))([-1, 0.5, 2]).tolist()
    [0.25, 0.5, 0.75]
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.knots or len(self.knots) != len(self.values):
            raise InputError(
                f"{len(self.knots)} knots with {len(self.values)} values: one each, at least one"
            )
        if not (all(map(math.isfinite, self.knots)) and all(0 <= value <= 1 for value in self.values)):
            raise InputError("knots must be finite numbers, and values probabilities from 0 to 1")
        if any(b <= a for a, b in zip(self.knots, self.knots[1:], strict=False)):
            raise InputError("knots do not grow: they are entropies in increasing order")
        if any(b < a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise InputError("values fall: a higher entropy is never less suspicious")

    def __call__(self, entropies: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.interp(np.asarray(entropies, dtype=float), self.knots, self.values))

    def entropy_at(self, probability: float) -> float | None:
        """The largest entropy whose probability is at most this, None where there is no such limit."""
        above = [at for at, value in enumerate(self.values) if value > probability]
        if not above or above[0] == 0:
            return None
        last = above[0] - 1
        low, high = self.values[last], self.values[last + 1]
        share = (probability - low) / (high - low)
        return self.knots[last] + share * (self.knots[last + 1] - self.knots[last])


# What can be promised about answers that pass, from graded ones.


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A promise about the answers that pass, or the claims that are kept: at most this share of them is wrong.

    at_most     the largest share of wrong answers among those that pass
    confidence  the probability, over graded questions, that the promise holds
    threshold   the entropy in nats above which an answer is flagged; for claims, one minus their agreement
    graded      the number of graded answers, or claims, behind it
    passed      how many of these pass
    wrong       how many of those that pass are wrong
    samples     the most samples of a check, which draws them by the default rule
    about       whose answers were graded, to which questions
    answers     whose claims were graded: the number of answers; None for a promise about answers

    >>> print(Guarantee(0.05, 0.95, 0.4, 214, 120, 1, 10, "gpt-4o-mini").sentence())
    Guarantee: with 95% confidence at most 5% of the answers that pass are wrong (214 graded answers of gpt-4o-mini; \
other questions or another model are not covered).
    >>> print(Guarantee(0.05, 0.95, 0.2, 1800, 900, 9, 5, "gpt-4o-mini", answers=160).sentence())
    Guarantee: with 95% confidence at most 5% of the claims that are kept are wrong (1800 graded claims in 160 answers \
of gpt-4o-mini; other questions or another model are not covered).
    """

    at_most: float
    confidence: float
    threshold: float
    graded: int
    passed: int
    wrong: int
    samples: int
    about: str = ""
    answers: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.at_most < 1 and 0 < self.confidence < 1):
            raise InputError("at_most and confidence must be probabilities between 0 and 1")
        if not (0 < self.threshold < math.inf and 0 <= self.wrong <= self.passed <= self.graded):
            raise InputError(
                "a guarantee needs a threshold above 0, and no more wrong than passed than graded answers"
            )

    def sentence(self) -> str:
        """The promise, what it rests on, and what it does not cover."""
        about = f" of {self.about}" if self.about else ""
        confidence, share = (f"{100 * each:.4g}%" for each in (self.confidence, self.at_most))
        which, graded = "answers that pass", f"{self.graded} graded answers"
        if self.answers is not None:
            which, graded = "claims that are kept", f"{self.graded} graded claims in {self.answers} answers"
        return (
            f"Guarantee: with {confidence} confidence at most {share} of the {which} are wrong "
            f"({graded}{about}; other questions or another model are not covered)."
        )


def upper_bound(wrong: int, n: int, confidence: float) -> float:
    """The largest probability of an error that `wrong` of `n` leave open (Clopper and Pearson, one-sided).

    >>> round(upper_bound(0, 59, 0.95), 4), round(upper_bound(3, 100, 0.95), 4)
    (0.0495, 0.0757)
    """
    return 1.0 if wrong >= n else float(betaincinv(wrong + 1, n - wrong, confidence))


@dataclass(frozen=True, slots=True)
class PassedAnswers:
    """Which answers pass at each of some thresholds, and which of them are wrong.

    passed   one row for each threshold, in ascending order; one column for each answer, or claim of an answer
    wrong    one entry for each column
    answers  the answer that each column belongs to, where columns are claims; None where they are answers. The claims
             of one answer are no independent trials, answers are
    """

    passed: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    answers: NDArray[np.intp] | None = None

    def trials(self, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What passes at a threshold in each answer of which something does, and how much of that is wrong."""
        passed = self.passed[row]
        if self.answers is None:
            return np.ones(int(passed.sum())), np.asarray(self.wrong[passed], dtype=float)
        places = np.unique(self.answers[passed], return_inverse=True)[1]
        kept, wrong = np.bincount(places), np.bincount(places, self.wrong[passed])
        return np.asarray(kept, dtype=float), np.asarray(wrong, dtype=float)

    def error(self, row: int) -> float:
        """The share of what passes at a threshold that is wrong; 1 where nothing passes."""
        kept, wrong = self.trials(row)
        return float(wrong.sum() / kept.sum()) if kept.size else 1.0

    def p_value(self, row: int, at_most: float) -> float:
        """The largest probability of so few errors where a larger share than `at_most` is wrong.

        Binomial for answers. For claims, by a wager that is fair at best if the share is larger: what the answers make
        of a stake of 1 reaches 1 / p with a probability of at most p (Markov), whatever the claims of an answer have in
        common. An answer with more than eight claims counts like one with eight.

        >>> answers, kept = np.repeat(np.arange(90), 8), np.ones((1, 720), dtype=bool)
        >>> round(PassedAnswers(kept, np.arange(720) < 8, answers).p_value(0, 0.05), 3)
        0.225
        >>> round(PassedAnswers(kept, np.arange(720) % 90 == 0, answers).p_value(0, 0.05), 3)
        0.057
        """
        kept, wrong = self.trials(row)
        if not kept.size:
            return 1.0
        if self.answers is None:
            return float(bdtr(round(wrong.sum()), kept.size, at_most))
        return min(1.0, 1 / _wealth(self._log_wealth(row, at_most)))

    def _log_wealth(self, row: int, at_most: float) -> NDArray[np.float64]:
        """The logarithm of what the answers make of each part of the stake."""
        kept, wrong = self.trials(row)
        gains = (at_most * kept - wrong) * np.minimum(1.0, MOST_OF_ANSWER / kept)
        stakes = np.array(WAGERS)[:, None] / ((1 - at_most) * MOST_OF_ANSWER)
        return np.asarray(np.log1p(stakes * gains).sum(axis=1))

    def largest(self, at_most: float, confidence: float) -> int | None:
        """The row of the largest threshold with the guarantee; None where there is none.

        Thresholds are tested in a fixed order, from the lowest at which enough answers pass. Four fifths of what may
        go wrong are for that one, the rest is for the others in equal parts, and each test that succeeds hands its part
        on to the next (Wiens' fallback procedure). The order and the parts do not depend on the grades.

        >>> passed = np.array([[True] * 60 + [False] * 40, [True] * 100])
        >>> wrong = np.arange(100) >= 60
        >>> PassedAnswers(passed, wrong).largest(0.1, 0.95), PassedAnswers(passed, wrong).largest(0.01, 0.95)
        (0, None)
        """
        doubt = 1 - confidence
        sizes = [self.trials(row)[0].size for row in range(len(self.passed))]
        least = math.log(doubt) / math.log1p(-at_most)
        rows = [row for row, size in enumerate(sizes) if size >= least]
        if not rows:
            return None
        first = next((row for row in rows if sizes[row] >= ENOUGH * least), rows[-1])
        found, handed_on = None, 0.0
        for row in rows:
            part = doubt * FIRST if row == first else doubt * (1 - FIRST) / max(len(rows) - 1, 1)
            handed_on += part if len(rows) > 1 else doubt
            if self.p_value(row, at_most) <= handed_on:
                found = row
            else:
                handed_on = 0.0
        return found

    def more_needed(self, at_most: float, confidence: float) -> int | None:
        """About how many more graded answers the guarantee takes; None where more do not help.

        As many are wrong among them as among those that are there, at the threshold that needs the fewest.
        """
        doubt, needed = FIRST * (1 - confidence), []
        answers = self.wrong.size if self.answers is None else np.unique(self.answers).size
        for row in range(len(self.passed)):
            n = size = self.trials(row)[0].size
            rate = self.error(row)
            if rate >= at_most:
                continue
            wealth = None if self.answers is None else self._log_wealth(row, at_most)
            while size < MOST_NEEDED and (
                bdtr(math.floor(rate * size), size, at_most) > doubt
                if wealth is None
                else _wealth(wealth * size / n) < 1 / doubt
            ):
                size = math.ceil(1.02 * size + 1)
            if size < MOST_NEEDED:
                needed.append(math.ceil((size - n) * answers / n))
        return min(needed, default=None)


def _wealth(logarithms: NDArray[np.float64]) -> float:
    """What equal parts of a stake of 1 have become; no more than a number can hold."""
    return float(np.exp(np.minimum(logarithms, 700.0)).mean())


FIRST = 0.8  # the part of what may go wrong that is for the first threshold
ENOUGH = 1.6  # times as many answers as a guarantee takes at least pass at the first threshold
MOST_NEEDED = 100_000
WAGERS = 0.5, 0.95  # parts of the largest stake that no answer can turn into a debt
# Claims: with fewer a long answer would count too little, with more most stakes would be small.
MOST_OF_ANSWER = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve from entropy to the probability of a hallucination, and the probability above which an answer is flagged.

    curve         the fitted curve
    estimator     the name of the estimator whose beliefs it was fitted on
    threshold     the probability above which an answer is flagged; None if no threshold reaches the target error
    target_error  the largest share of wrong answers among those that are not flagged
    about         what the curve was fitted on
    second        how much a second model's word counts; None for the weights that ship
    guarantee     what is promised about answers that pass, and the threshold that decides then; None for no promise

    >>> from semtropy import Belief
    >>> from semtropy.study import example_recording
    >>> from semtropy.study.calibrate import fit_calibration
    >>> calibration = fit_calibration(example_recording(), estimator="histogram").calibration
    >>> calibration(Belief(0.2)) < calibration(Belief(2.0))
    True
    """

    curve: Logistic | Isotonic
    estimator: str
    threshold: float | None = None
    target_error: float | None = None
    about: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    second: OpinionWeights | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        for name in ("threshold", "target_error"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise InputError(f"{name} is {value}: it must be a probability from 0 to 1")

    def __call__(self, belief: Belief) -> float:
        return float(self.curve([belief.mean])[0])

    def flags(self, belief: Belief) -> bool | None:
        """Whether the answer is to be flagged; None if the calibration has no threshold."""
        if self.guarantee is not None:
            return belief.mean > self.guarantee.threshold
        return None if self.threshold is None else self(belief) > self.threshold

    @property
    def entropy_threshold(self) -> float | None:
        """The entropy in nats at the threshold: what the stopping rule `Decided` should decide about."""
        if self.guarantee is not None:
            return self.guarantee.threshold
        return None if self.threshold is None else self.curve.entropy_at(self.threshold)

    @property
    def flags_above(self) -> float | None:
        """The entropy in nats above which an answer is flagged; None where all answers are, or none.

        Without a threshold, an answer is flagged above a probability of one half.
        """
        if self.guarantee is not None:
            return self.guarantee.threshold
        limit = self.curve.entropy_at(0.5 if self.threshold is None else self.threshold)
        return limit if limit is not None and limit > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "semtropy_calibration": VERSION,
            "estimator": self.estimator,
            "kind": type(self.curve).__name__.lower(),
            **asdict(self.curve),
            "threshold": self.threshold,
            "target_error": self.target_error,
            "entropy_threshold": self.entropy_threshold,
            "about": dict(self.about),
            **({} if self.second is None else {"second": self.second.to_dict()}),
            **({} if self.guarantee is None else {"guarantee": asdict(self.guarantee)}),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration to a JSON file."""
        with replacing(path) as partial:
            partial.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read what `save` wrote; an error names the file and the field."""
        held = read_json(path)
        if not isinstance(held, dict) or held.get("semtropy_calibration") != VERSION:
            raise InputError(
                f"{path}, semtropy_calibration: expected {VERSION}: `semtropy calibrate` makes such a file"
            )
        try:
            return cls(
                curve=_curve(held),
                estimator=str(held["estimator"]),
                threshold=_number(held, "threshold"),
                target_error=_number(held, "target_error"),
                about=MappingProxyType(dict(held.get("about") or {})),
                second=None if held.get("second") is None else OpinionWeights.from_dict(held["second"]),
                guarantee=None if held.get("guarantee") is None else Guarantee(**held["guarantee"]),
            )
        except KeyError as error:
            raise InputError(f"{path}, {error.args[0]}: is missing") from None
        except (InputError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{path}: {one_line(str(error), 300)}") from None


def _curve(held: Mapping[str, Any]) -> Logistic | Isotonic:
    if held["kind"] == "logistic":
        return Logistic(float(held["slope"]), float(held["intercept"]))
    if held["kind"] == "isotonic":
        return Isotonic(tuple(map(float, held["knots"])), tuple(map(float, held["values"])))
    raise InputError(f"kind is {held['kind']!r}: logistic or isotonic")


def _number(held: Mapping[str, Any], name: str) -> float | None:
    value = held.get(name)
    return None if value is None else float(value)

"""On what terms a question is asked: the estimator, when to stop, what may be spent, and how the answer is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .errors import InputError
from .evidence import refused_without_replacement
from .nouns import Estimator
from .refusals import missing_answer
from .step import PENDING
from .stopping import Budget, FixedSamples, Rounds, check_threshold
from .verdict import THRESHOLD

if TYPE_CHECKING:
    from .nouns import Belief, Sample
    from .stopping import Rule, Spent

__all__ = ["ANSWER_TEMPERATURE", "Calibrated", "Terms"]

ANSWER_TEMPERATURE = 0.1
"""The temperature at which the answer to be judged is drawn."""


class Calibrated(Protocol):
    """Turns a belief into the probability that the answer is made up; `flags` is None where it has no threshold."""

    estimator: str

    def __call__(self, belief: Belief) -> float: ...

    def flags(self, belief: Belief) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a question is asked: all of a check but the question and the I/O."""

    estimator: Estimator
    rule: Rule
    budget: Budget = field(default_factory=Budget)
    rounds: Rounds | None = None
    temperature: float = 1.0
    answer_temperature: float = ANSWER_TEMPERATURE
    threshold: float = THRESHOLD
    calibration: Calibrated | None = None
    replacement: bool = True

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        warmth = self.answer_temperature
        if not (isinstance(warmth, int | float) and 0 <= warmth <= 2):
            raise InputError(f"answer_temperature is {warmth!r}: a temperature from 0 to 2")
        if not isinstance(self.estimator, Estimator) or isinstance(self.estimator, type):
            raise InputError(f"estimator is {self.estimator!r}: give the name of one, or an estimator")
        if not isinstance(self.budget, Budget):
            raise InputError(f"budget is {self.budget!r}: give limits, such as Budget(samples=10)")
        if self.rounds is not None and not isinstance(self.rounds, Rounds):
            raise InputError(f"rounds is {self.rounds!r}: give their sizes, such as Rounds(first=3)")
        if self.calibration is not None and not hasattr(self.calibration, "flags"):
            raise InputError(
                f"calibration is {self.calibration!r}: give a Calibration, as `calibrate` makes it"
            )
        if not callable(self.rule) or isinstance(self.rule, type):
            raise InputError(
                f"rule is {self.rule!r}: give a stopping rule, such as Decided(0.69) or VarianceBelow(0.1)"
            )
        if self.budget.samples == 0 and not self.estimator.uses_answer:
            raise InputError(
                f"budget: samples is 0, and the estimator {self.estimator.name} needs samples: use bayes, "
                "or allow at least one"
            )

        if not (self.replacement or getattr(self.estimator, "without_replacement", False)):
            raise InputError(refused_without_replacement(self.estimator.name))

    def starts_with_answer(self, answer: Sample | None) -> bool:
        """Whether to form a belief from the answer alone, before the first sample.

        An answer that is given without its log-probability says nothing yet, so its first samples are drawn at once.
        Where there is none, because it is empty or a refusal, samples would say nothing about it.
        """
        if not self.estimator.uses_answer or isinstance(self.rule, FixedSamples):
            return False
        if answer is PENDING:
            return False
        if answer is None:
            return True
        known = answer.sampling_logprob is not None or answer.prefix_logprob is not None
        return known or self.budget.samples == 0 or missing_answer(answer) is not None

    def round_size(self, spent: Spent) -> int:
        """The samples of the next round: a fixed number goes out at once, else rounds grow."""
        rounds = self.rounds
        if rounds is None:
            rounds = Rounds(first=self.rule.n) if isinstance(self.rule, FixedSamples) else Rounds()
        return min(rounds.size(spent), self.budget.room(spent))

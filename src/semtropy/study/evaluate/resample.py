"""Resampling: draws with replacement among a question's stored samples, and the estimators' scores along them.

Each draw of a question is one order of samples. Its first n samples are those of the fixed budget n, and the adaptive
curves follow the same order. The order is seeded by the study's seed, the number of the draw and the question's id
through a stable hash, so no other question, process or row order changes it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .repeats import SEE_SEQUENCES, without_repeats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ...nouns import Beliefs, Estimator, Evidence
    from ...scorers.base import SampleScorer
    from .metrics import Floats
    from .questions import StudyQuestion

__all__ = [
    "EvidenceScore",
    "ResamplingPlan",
    "Scores",
    "draw_order",
    "estimate_draws",
    "score_draws",
    "seed_words",
]


@dataclass(frozen=True, slots=True)
class ResamplingPlan:
    """How samples are drawn: `draws` orders of `budget` samples per question, from one `seed`.

    Scores are computed at every step of an order from `first` samples on, or only at the numbers of samples in
    `steps`. With `first` 0, estimators that use the judged answer are also scored before the first sample.
    """

    budget: int = 10
    draws: int = 5
    seed: int = 0
    steps: tuple[int, ...] | None = None
    first: int = 1

    @property
    def scored_steps(self) -> tuple[int, ...]:
        """The numbers of samples at which scores are computed, ascending."""
        return tuple(range(self.first, self.budget + 1)) if self.steps is None else self.steps


@dataclass(frozen=True, slots=True)
class Scores:
    """One method's scores, shape (budgets, draws, questions); (1, 1, questions) where they need no samples.

    `first` is the budget of the first row, None where the scores are the same at every budget.
    """

    mean: Floats
    variance: Floats | None
    first: int | None = 1

    def row(self, budget: int) -> int | None:
        """The row of a budget, None where the method has no score for it."""
        if self.first is None:
            return 0
        return budget - self.first if 0 <= budget - self.first < len(self.mean) else None

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several groups of questions, concatenated, from the first budget that all of them have."""
        first = max(part.first or 0 for part in parts)
        cut = [first - (part.first or 0) for part in parts]
        variances = [
            part.variance[at:] for part, at in zip(parts, cut, strict=True) if part.variance is not None
        ]
        return cls(
            np.concatenate([part.mean[at:] for part, at in zip(parts, cut, strict=True)], axis=-1),
            np.concatenate(variances, axis=-1) if len(variances) == len(parts) else None,
            first,
        )


def seed_words(*parts: object) -> list[int]:
    """Eight 32-bit words derived from the parts by SHA-256, to seed a generator.

    >>> seed_words(0, "q1")[:2]
    [401151887, 4058411936]
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 32, 4)]


def draw_order(question: StudyQuestion, plan: ResamplingPlan, draw: int) -> list[int]:
    """Indices of the samples drawn, in order; the order of a smaller budget is a prefix."""
    rng = np.random.default_rng(seed_words("draw", plan.seed, draw, question.id))
    picks: list[int] = rng.integers(0, len(question.draws), size=plan.budget, dtype=np.int64).tolist()
    return picks


def estimate_draws(
    questions: Sequence[StudyQuestion],
    estimators: Mapping[str, Estimator | EvidenceScore],
    plan: ResamplingPlan,
) -> dict[str, Scores]:
    """Scores of every estimator at every budget, draw and question.

    Equal evidence is common (an easy question gives the same answer every time), so each estimator sees each
    distinct evidence once.
    """
    answered = all(question.draws.answer is not None for question in questions)
    steps = [n for n in plan.scored_steps if n > 0 or answered]
    wanted = frozenset(steps)
    places: dict[Evidence, int] = {}
    which = np.array(
        [
            places.setdefault(evidence, len(places))
            for question in questions
            for draw in range(plan.draws)
            for evidence in question.draws.path(draw_order(question, plan, draw))
            if evidence.n in wanted
        ],
        dtype=np.intp,
    )
    which = which.reshape(len(questions), plan.draws, len(steps)).transpose(2, 1, 0)
    distinct = list(places)
    scores = {}
    for name, estimator in estimators.items():
        skipped = 0 if estimator.uses_answer or steps[0] > 0 else 1  # no score before the first sample
        if name in SEE_SEQUENCES:
            fewer: dict[Evidence, int] = {}
            at = np.array([fewer.setdefault(without_repeats(each), len(fewer)) for each in distinct])
            scores[name] = _scores(estimator, list(fewer), at[which[skipped:]], steps[skipped])
        else:
            scores[name] = _scores(estimator, distinct, which[skipped:], steps[skipped])
    return scores


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """A scorer of the samples' evidence, with the interface of an estimator."""

    scorer: SampleScorer
    uses_answer: bool = False

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        """The scores of many evidences."""
        return self.scorer.batch([self.scorer.sees(evidence) for evidence in evidences])


def score_draws(
    questions: Sequence[StudyQuestion], scorers: Mapping[str, SampleScorer], plan: ResamplingPlan
) -> dict[str, Scores]:
    """Scores of every scorer of samples at every budget, draw and question, along the same orders."""
    steps = [n for n in plan.scored_steps if n > 0]
    orders = [[draw_order(each, plan, draw) for draw in range(plan.draws)] for each in questions]
    found: dict[str, list[Beliefs]] = {name: [] for name in scorers}
    for n in steps:
        drawn: dict[str, list[Any]] = {}
        for name, scorer in scorers.items():
            key = scorer.sees.__name__
            if key not in drawn:
                drawn[key] = [
                    each.inputs[key].pick(order[:n])  # type: ignore[union-attr]
                    for each, own in zip(questions, orders, strict=True)
                    for order in own
                ]
            found[name].append(scorer.batch(drawn[key]))
    shape = (len(steps), len(questions), plan.draws)
    return {name: _stacked(beliefs, shape, steps[0]) for name, beliefs in found.items()}


def _stacked(beliefs: Sequence[Beliefs], shape: tuple[int, int, int], first: int) -> Scores:
    mean = np.stack([each.mean for each in beliefs]).reshape(shape).transpose(0, 2, 1)
    variances = [each.variance for each in beliefs if each.variance is not None]
    if len(variances) < len(beliefs):
        return Scores(mean, None, first)
    return Scores(mean, np.stack(variances).reshape(shape).transpose(0, 2, 1), first)


def _scores(
    estimator: Estimator | EvidenceScore, distinct: Sequence[Evidence], which: NDArray[np.intp], first: int
) -> Scores:
    used = np.unique(which)
    beliefs = estimator.batch([distinct[place] for place in used])
    at = np.searchsorted(used, which)
    return Scores(beliefs.mean[at], None if beliefs.variance is None else beliefs.variance[at], first)

"""Draws with replacement among a question's samples, and every estimator's belief at each step along them.

One order of draws serves a question and a draw: its first n samples are those of the fixed budget n, and the
adaptive curves walk along it. The seed of an order comes from the study's seed, the number of the draw and
the question's id by a stable hash, so that no other question, process or row order changes it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...nouns import Estimator, Evidence
    from .metrics import Floats
    from .questions import StudyQuestion

__all__ = ["ResamplingPlan", "Scores", "draw_order", "estimate_draws", "seed_words"]


@dataclass(frozen=True, slots=True)
class ResamplingPlan:
    """How samples are drawn: `draws` orders of `budget` samples a question, from one `seed`.

    Beliefs are held at every step of an order, or only at the `steps` given.
    """

    budget: int = 10
    draws: int = 5
    seed: int = 0
    steps: tuple[int, ...] | None = None

    @property
    def held(self) -> tuple[int, ...]:
        """The numbers of samples at which beliefs are held, in order."""
        return tuple(range(1, self.budget + 1)) if self.steps is None else self.steps


@dataclass(frozen=True, slots=True)
class Scores:
    """One estimator's beliefs as (budgets, draws, questions); a constant has one budget and draw."""

    mean: Floats
    variance: Floats | None

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several groups of questions, one after the other."""
        variances = [part.variance for part in parts if part.variance is not None]
        return cls(
            np.concatenate([part.mean for part in parts], axis=-1),
            np.concatenate(variances, axis=-1) if len(variances) == len(parts) else None,
        )


def seed_words(*parts: object) -> list[int]:
    """Eight 32-bit words that depend on the parts alone, to seed a generator.

    >>> seed_words(0, "q1")[:2]
    [401151887, 4058411936]
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 32, 4)]


def draw_order(question: StudyQuestion, plan: ResamplingPlan, draw: int) -> list[int]:
    """Which of the question's samples are drawn, first to last; that of a smaller budget is a prefix."""
    rng = np.random.default_rng(seed_words("draw", plan.seed, draw, question.id))
    picks: list[int] = rng.integers(0, len(question.draws), size=plan.budget, dtype=np.int64).tolist()
    return picks


def estimate_draws(
    questions: Sequence[StudyQuestion], estimators: Mapping[str, Estimator], plan: ResamplingPlan
) -> dict[str, Scores]:
    """The belief of every estimator at every budget, draw and question.

    Equal evidence is common (an easy question gives the same answer every time) and is put to an estimator
    once.
    """
    held = frozenset(plan.held)
    places: dict[Evidence, int] = {}
    which = np.array(
        [
            places.setdefault(evidence, len(places))
            for question in questions
            for draw in range(plan.draws)
            for n, evidence in enumerate(question.draws.path(draw_order(question, plan, draw)), start=1)
            if n in held
        ],
        dtype=np.intp,
    )
    which = which.reshape(len(questions), plan.draws, len(held)).transpose(2, 1, 0)
    different = list(places)
    scores = {}
    for name, estimator in estimators.items():
        beliefs = estimator.batch(different)
        variance = None if beliefs.variance is None else beliefs.variance[which]
        scores[name] = Scores(beliefs.mean[which], variance)
    return scores

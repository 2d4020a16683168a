"""Fitting the weights of a mixture of components to training questions.

Two likelihoods, each over a fixed grid of columns (a component with one of its sizes or concentrations). Without an
answer it is the likelihood of the training samples. With one, the answer is no random draw: it is close to the most
probable sequence. Its evidence therefore must not teach the weights how probable first draws are, only how samples
follow an answer, and the likelihood is conditional,

    sum_i log( sum_k w_k Z_ik(answer and samples) / sum_k w_k Z_ik(answer) ),

Z_ik being the evidence of question i under column k. Minorisation-maximisation (expectation maximisation, without an
answer) finds the weights. Pseudo-questions keep every column possible. Components that a fit can do without are
dropped one by one: the cost of a belief is the number of its components.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..entropy.components import DirichletComponent, PitmanYorComponent, SequencePrior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..entropy.components import Component

    Floats = NDArray[np.float64]
    Likelihood: TypeAlias = "MarginalLikelihood | ConditionalLikelihood"

__all__ = ["NEGLIGIBLE", "ConditionalLikelihood", "MarginalLikelihood", "component_grid", "fit_weights"]

SEQUENCE_PRIORS = (
    *(SequencePrior(theta) for theta in (0.03, 0.1, 0.3, 1.0)),
    SequencePrior(0.03, main=2, evenness=1.0),
    SequencePrior(0.1, main=2, evenness=1.0),
    *(SequencePrior(theta, discount=0.5) for theta in (0.1, 0.5, 2.0, 10.0)),
)
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200)
# A discount of 0.02 is a light tail, nearly a Dirichlet process; 0.5 is a heavy one, as open questions have. With 0.25
# in its place intervals on open questions are too narrow; 0.75 fits samples best, and overestimates entropy by a nat.
LIGHT, HEAVY = 0.02, 0.5
CONCENTRATIONS = {
    LIGHT: (0.03, 0.1, 0.3, 0.7, 1.5, 3.0, 6.0, 12.0, 25.0, 50.0, 100.0),
    HEAVY: (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0),
}
# Only questions without any common answer need a larger concentration than this. Such columns are kept where they
# explain more of the training questions than the least share; otherwise one odd question would raise every mean.
LARGE, LEAST_SHARE = 32.0, 0.02
PSEUDO_QUESTIONS = 20.0
ROUNDS, ROUNDS_AFTER_DROP = 400, 100
DISPENSABLE = 0.003  # nats a question of log-likelihood that dropping components may cost
NEGLIGIBLE = 0.02  # the share of the training questions that all dropped columns together may explain


def component_grid() -> tuple[Component, ...]:
    """The grid of components whose weights are fitted."""
    return (
        *(DirichletComponent(1.0, sequences, SIZES) for sequences in SEQUENCE_PRIORS),
        *(
            PitmanYorComponent(discount, sequences, concentrations)
            for discount, concentrations in CONCENTRATIONS.items()
            for sequences in SEQUENCE_PRIORS
        ),
    )


@dataclass(frozen=True)
class MarginalLikelihood:
    """The likelihood of training samples under a mixture.

    evidence  of every row under every column, each row up to a factor
    shares    the share of a question that each row is
    """

    evidence: Floats
    shares: Floats

    def only(self, columns: NDArray[np.bool_]) -> MarginalLikelihood:
        """The same with some of the columns."""
        return replace(self, evidence=self.evidence[:, columns])

    def possible(self) -> bool:
        """Whether some column explains each row at all."""
        return bool(self.evidence.any(axis=1).all())

    def step(self, weights: Floats) -> tuple[Floats, Floats]:
        """How many questions each column explains, and what a unit of weight costs there."""
        explained = weights * ((self.shares / (self.evidence @ weights)) @ self.evidence)
        return explained, np.full(weights.size, self.shares.sum())

    def log_likelihood(self, weights: Floats) -> float:
        """In nats, up to a constant."""
        return float(self.shares @ np.log(self.evidence @ weights))


@dataclass(frozen=True)
class ConditionalLikelihood:
    """The likelihood of training samples given the answer that they follow.

    joint   evidence of every row's answer and samples under every column, each row up to a factor
    answer  the same for the answer alone
    shares  the share of a question that each row is
    """

    joint: Floats
    answer: Floats
    shares: Floats

    def only(self, columns: NDArray[np.bool_]) -> ConditionalLikelihood:
        """The same with some of the columns."""
        return replace(self, joint=self.joint[:, columns], answer=self.answer[:, columns])

    def possible(self) -> bool:
        """Whether some column explains each row at all."""
        return bool(self.joint.any(axis=1).all() and self.answer.any(axis=1).all())

    def step(self, weights: Floats) -> tuple[Floats, Floats]:
        """How many questions each column explains, and what a unit of weight costs there.

        Jensen's inequality for the numerator and a tangent for the denominator, so that every step increases the
        likelihood.
        """
        explained = weights * ((self.shares / (self.joint @ weights)) @ self.joint)
        return explained, (self.shares / (self.answer @ weights)) @ self.answer

    def log_likelihood(self, weights: Floats) -> float:
        """In nats, up to a constant."""
        return float(self.shares @ np.log((self.joint @ weights) / (self.answer @ weights)))


def fit_weights(
    grid: Sequence[Component], likelihood: Likelihood, negligible: float = NEGLIGIBLE
) -> tuple[Floats, NDArray[np.bool_]]:
    """The weight of every column of the grid, and which columns are worth keeping.

    Components are dropped as long as that costs less than `DISPENSABLE` nats of log-likelihood a question, then
    columns that together explain a `negligible` share of the questions.
    """
    component = np.repeat(np.arange(len(grid)), [len(each.points) for each in grid])
    columns = np.ones(component.size, dtype=bool)
    weights, explained = _maximise(likelihood, np.ones(component.size), ROUNDS)
    best = likelihood.log_likelihood(weights)
    allowed = DISPENSABLE * float(likelihood.shares.sum())
    by_component = np.bincount(component, explained)
    finite = np.array([isinstance(each, DirichletComponent) for each in grid])[component]
    for least in np.argsort(by_component)[:-1].tolist():
        fewer = columns & (component != least)
        if finite.any() and not (fewer & finite).any():
            continue  # a question may have a known, finite number of meanings
        left = likelihood.only(fewer)
        if not left.possible():
            continue
        trial = _maximise(left, weights[fewer[columns]], ROUNDS_AFTER_DROP)
        value = left.log_likelihood(trial[0])
        if value >= best - allowed:
            best, columns, (weights, explained) = max(best, value), fewer, trial
    all_weights, all_explained = np.zeros((2, columns.size))
    all_weights[columns], all_explained[columns] = weights, explained
    return all_weights, columns & _matters(grid, all_explained, negligible)


def _maximise(likelihood: Likelihood, start: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Weights of most likelihood, and how many questions each column explains."""
    weights = start / start.sum()
    explained, pseudo = weights, PSEUDO_QUESTIONS / weights.size
    for _ in range(rounds):
        explained, cost = likelihood.step(weights)
        weights = (explained + pseudo) / (cost + pseudo * weights.size)
        weights /= weights.sum()
    return weights, explained


def _matters(grid: Sequence[Component], explained: Floats, negligible: float) -> NDArray[np.bool_]:
    """The columns worth keeping: all but those that together explain a `negligible` share of the training questions."""
    order = np.argsort(explained)
    dropped = np.cumsum(explained[order]) <= negligible * explained.sum()
    keep = np.ones(explained.size, dtype=bool)
    keep[order[dropped]] = False
    large = np.array([c.alpha == -HEAVY and point > LARGE for c in grid for point in c.points])
    if explained[large].sum() < LEAST_SHARE * explained.sum():
        keep &= ~large
    return keep

"""Fitting the weights of a mixture of components to training questions.

Two fits, each over a fixed grid of components whose evidence is computed once. Without an answer, expectation
maximisation finds the weights under which the training samples are most probable. With one, the answer is no random
draw: it is close to the most probable sequence. Its evidence therefore must not teach the weights how probable first
draws are, only how samples follow an answer, and what is maximised is the conditional likelihood

    sum_i log( sum_k w_k Z_ik(answer and samples) / sum_k w_k Z_ik(answer) ),

Z_ik being the evidence of question i under component k. Pseudo-questions keep every component possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..entropy.components import DirichletComponent, PitmanYorComponent, SequencePrior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..entropy.components import Component

    Floats = NDArray[np.float64]

__all__ = ["NEGLIGIBLE", "component_grid", "fit_conditional", "fit_marginal", "matters"]

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
ROUNDS = 400
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


def fit_marginal(log_evidence: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Weights under which rows are most probable, and how many questions each column explains.

    Parameters: the log-evidence of every row under every column, and the share of a question that each row is.
    """
    likelihood = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    pseudo = np.full(likelihood.shape[1], PSEUDO_QUESTIONS / likelihood.shape[1])
    weights: Floats = pseudo / pseudo.sum()
    explained = pseudo
    for _ in range(ROUNDS):
        explained = weights * ((shares / (likelihood @ weights)) @ likelihood)
        weights = explained + pseudo
        weights /= weights.sum()
    return weights, explained


def fit_conditional(log_joint: Floats, log_answer: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Weights under which samples are most probable given the answer, and how many questions each column explains.

    Minorisation-maximisation: Jensen's inequality for the numerator, a tangent for the denominator, so that every
    step increases the conditional likelihood.

    Parameters: the log-evidence of every row with its samples, and of its answer alone, under every column, and the
    share of a question that each row is.
    """
    joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    answer = np.exp(log_answer - log_answer.max(axis=1, keepdims=True))
    pseudo = np.full(joint.shape[1], PSEUDO_QUESTIONS / joint.shape[1])
    weights: Floats = pseudo / pseudo.sum()
    explained = pseudo
    for _ in range(ROUNDS):
        explained = weights * ((shares / (joint @ weights)) @ joint)
        slope = (shares / (answer @ weights)) @ answer + pseudo.sum() / weights.sum()
        weights = (explained + pseudo) / slope
        weights /= weights.sum()
    return weights, explained


def matters(grid: Sequence[Component], explained: Floats, negligible: float) -> NDArray[np.bool_]:
    """The columns worth keeping: all but those that together explain a `negligible` share of the training questions."""
    order = np.argsort(explained)
    dropped = np.cumsum(explained[order]) <= negligible * explained.sum()
    keep = np.ones(explained.size, dtype=bool)
    keep[order[dropped]] = False
    large = np.array([c.alpha == -HEAVY and point > LARGE for c in grid for point in c.points])
    if explained[large].sum() < LEAST_SHARE * explained.sum():
        keep &= ~large
    return keep

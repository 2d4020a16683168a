"""Fitting a prior: expectation maximisation for the weights of a fixed grid of components.

Each training question is explained by one point of the grid. With w the weights, L_ij the evidence of question i
under point j and c_j the pseudo-counts, every round sets w_j proportional to

    c_j + sum_i share_i w_j L_ij / sum_k w_k L_ik,

which increases the penalised likelihood (Dempster, Laird and Rubin 1977). The pseudo-counts keep every size
possible, also those beyond the largest number of meanings in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..entropy import (
    DirichletComponent,
    Observations,
    PitmanYorComponent,
    SequencePrior,
    component_moments,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..entropy.components import Component

    Floats = NDArray[np.float64]
    Weighted = tuple[tuple[Component, ...], tuple[tuple[float, ...], ...]]

__all__ = ["fit_components"]

ALPHAS = (0.02, 0.2, 1.0)
SEQUENCE_PRIORS = (
    *(SequencePrior(theta) for theta in (0.03, 0.1, 0.3, 1.0, 3.0, 30.0)),
    SequencePrior(0.03, main=2, evenness=1.0),
    SequencePrior(0.1, main=2, evenness=1.0),
    *(SequencePrior(theta, discount=0.5) for theta in (0.1, 1.0, 10.0)),
)
SIZES = (1, 2, 3, 4, 6, 10, 16, 28, 50, 100, 300, 1000)
DISCOUNT = 0.25  # of the Pitman-Yor process over meanings; 0.1 is too light a tail, 0.5 too heavy
CONCENTRATIONS = (0.25, 0.5, 1.0, 1.75, 3.0, 5.25, 9.0, 16.0, 27.0, 47.0, 80.0, 140.0)
TIED = 2  # this many neighbouring concentrations share one weight, so that a belief spreads over both
PSEUDO_QUESTIONS = 4.0
ROUNDS = 300
CHUNK = 256
TOLERANCE = 1e-5


def fit_components(seen: Sequence[Observations], shares: Sequence[float], default: Weighted) -> Weighted:
    """The components that explain the training questions, and their weights.

    `shares` weights each entry of `seen`: questions with several entries have one divided among them. `default` is
    what the pseudo-questions are like, in part.
    """
    grid = _grid()
    chunks = [
        component_moments(seen[i : i + CHUNK], grid, tolerance=TOLERANCE) for i in range(0, len(seen), CHUNK)
    ]
    log_evidence = np.concatenate([chunk.log_evidence for chunk in chunks])
    pseudo = PSEUDO_QUESTIONS * _start(grid, default)
    weights = _expectation_maximisation(log_evidence, np.array(shares), pseudo, _tied(grid))
    return _kept(grid, weights)


def _grid() -> tuple[Component, ...]:
    finite = [DirichletComponent(alpha, own, SIZES) for alpha in ALPHAS for own in SEQUENCE_PRIORS]
    return (*finite, *(PitmanYorComponent(DISCOUNT, own, CONCENTRATIONS) for own in SEQUENCE_PRIORS))


def _start(grid: Sequence[Component], default: Weighted) -> Floats:
    """Weights of the grid before training: half the default's, half even, so that nothing is ruled out."""
    known = {
        (component.alpha, component.sequences, point): weight
        for component, own in zip(*default, strict=True)
        for point, weight in zip(component.points, own, strict=True)
    }
    found = [known.get((own.alpha, own.sequences, point), 0.0) for own in grid for point in own.points]
    return 0.5 * np.array(found) + 0.5 / len(found)


def _tied(grid: Sequence[Component]) -> NDArray[np.intp]:
    """For each column of the grid, the number of the group whose weight it shares."""
    sizes: list[int] = []
    for component in grid:
        n = len(component.points)
        sizes += [TIED] * (n // TIED) if isinstance(component, PitmanYorComponent) else [1] * n
    return np.repeat(np.arange(len(sizes)), sizes)


def _expectation_maximisation(
    log_evidence: Floats, shares: Floats, pseudo: Floats, groups: NDArray[np.intp]
) -> Floats:
    """Weights of the columns, equal within each group, that make the rows most probable, given pseudo-counts."""
    likelihood = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    weights: Floats = pseudo / pseudo.sum()
    members = np.bincount(groups)
    for _ in range(ROUNDS):
        expected = likelihood * weights
        expected *= (shares / expected.sum(axis=1))[:, None]
        together = np.bincount(groups, expected.sum(axis=0) + pseudo)
        weights = (together / members)[groups]
        weights /= weights.sum()
    return weights


def _kept(grid: Sequence[Component], weights: Floats) -> Weighted:
    """The few components that carry the weight; the others are dropped for speed."""
    kept = []
    ends = np.cumsum([len(component.points) for component in grid])
    for component, own in zip(grid, np.split(weights, ends[:-1]), strict=True):
        if own.sum() >= 0.005:
            matter = own >= min(5e-4, own.max())
            kept.append((component.only(matter.tolist()), own[matter]))
    total = sum(own.sum() for _, own in kept)
    return tuple(own for own, _ in kept), tuple(tuple((own / total).tolist()) for _, own in kept)

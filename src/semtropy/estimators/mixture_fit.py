"""A mixture of components fitted to training questions, in two passes over the grid.

The first takes estimates of the evidence from the saddle point, quick for all components of the grid, and finds the few
that the fit needs, on a part of the questions where there are many. The second integrates exactly, under those alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..entropy.observations import Observations
from ..entropy.two_level import component_moments, estimated_log_evidence
from .component_mixture import ComponentMixture, tilt
from .fitting import ConditionalLikelihood, MarginalLikelihood, component_grid, fit_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..entropy.components import Component
    from ..nouns import Evidence
    from .fitting import Likelihood
    from .training import TrainingQuestion

    Floats = NDArray[np.float64]
    LogEvidence = Callable[[Sequence[Observations], Sequence[Component]], Floats]
    Fitted = Callable[[Sequence[TrainingQuestion], Sequence[Component], LogEvidence], Likelihood]

__all__ = ["fit_answered", "fit_samples"]

CHUNK = 256
TOLERANCE = 1e-2  # of the integrals: weights are the same to 1e-7 with a tenth of it
SELECTION = 100  # questions, at most, that choose the components


def fit_samples(questions: Sequence[TrainingQuestion], negligible: float) -> ComponentMixture:
    """The mixture under which the first samples of the questions, without an answer, are most probable."""

    def likelihood(
        questions: Sequence[TrainingQuestion], grid: Sequence[Component], log_evidence: LogEvidence
    ) -> Likelihood:
        evidences = [evidence for question in questions for evidence in question.alone]
        shares = np.array([1 / len(question.alone) for question in questions for _ in question.alone])
        return MarginalLikelihood(_scaled(_rows(evidences, grid, log_evidence)), shares)

    return _fit(likelihood, questions, negligible)


def fit_answered(
    questions: Sequence[TrainingQuestion], centre: float | None, negligible: float
) -> ComponentMixture:
    """The mixture under which the first samples are most probable, given the answer that they follow.

    `centre` is the mean of the largest token entropy along the answers.
    """

    def likelihood(
        questions: Sequence[TrainingQuestion], grid: Sequence[Component], log_evidence: LogEvidence
    ) -> Likelihood:
        joint = [evidence for question in questions for evidence in question.answered]
        counts = [len(question.answered) for question in questions]
        tilts = np.array([tilt(grid, evidence.answer, centre) for evidence in joint])
        before = _rows([question.answer_only for question in questions], grid, log_evidence)
        after = _rows(joint, grid, log_evidence)
        return ConditionalLikelihood(
            _scaled(after + tilts),
            _scaled(np.repeat(before, counts, axis=0) + tilts),
            np.repeat(1 / np.array(counts, dtype=float), counts),
        )

    return _fit(likelihood, questions, negligible)


def _fit(likelihood: Fitted, questions: Sequence[TrainingQuestion], negligible: float) -> ComponentMixture:
    grid = component_grid()
    some = [_all_samples(question) for question in questions[:: math.ceil(len(questions) / SELECTION)]]
    _, keep = fit_weights(grid, likelihood(some, grid, estimated_log_evidence), negligible=0.0)
    ends = np.cumsum([len(component.points) for component in grid])[:-1]
    few = [component for component, own in zip(grid, np.split(keep, ends), strict=True) if own.any()]
    return ComponentMixture.of_columns(few, *fit_weights(few, likelihood(questions, few, _exact), negligible))


def _all_samples(question: TrainingQuestion) -> TrainingQuestion:
    """The question with the evidence of its most samples alone."""
    return replace(question, alone=question.alone[-1:], answered=question.answered[-1:])


def _exact(seen: Sequence[Observations], components: Sequence[Component]) -> Floats:
    columns = sum(len(component.points) for component in components)
    found = component_moments(seen, components, tolerance=TOLERANCE, log_prior=np.zeros(columns))
    return found.log_evidence


def _rows(evidences: Sequence[Evidence], grid: Sequence[Component], log_evidence: LogEvidence) -> Floats:
    """The log-evidence of every row under every column of the grid; equal rows are computed once."""
    distinct = {evidence: place for place, evidence in enumerate(dict.fromkeys(evidences))}
    seen = [Observations.of(evidence) for evidence in distinct]
    parts = [log_evidence(seen[i : i + CHUNK], grid) for i in range(0, len(seen), CHUNK)]
    return np.concatenate(parts)[[distinct[evidence] for evidence in evidences]]


def _scaled(log_evidence: Floats) -> Floats:
    """Evidence, each row up to a factor."""
    scaled: Floats = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    return scaled

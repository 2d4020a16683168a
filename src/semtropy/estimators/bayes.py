"""`bayes`: the exact posterior of the two-level model, meanings and the sequences of each, under a mixture prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..entropy import Moments, Observations, component_moments, mix
from ..entropy.components import Component, component_grid
from ..entropy.distribution import Known, Mixture, PosteriorComponent, significant
from ..errors import ConvergenceError
from ..nouns import Agreement, Belief, Beliefs, Evidence, KnownAgreement
from .agreement import PosteriorAgreement
from .prior import Prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Bayes"]

TOLERANCE = 1e-6
CHUNK = 256
DEFAULT_PRIOR = "no training questions: the prior shipped with semtropy was used"
NO_FLOORS = "no sample has a usable log-probability: the belief rests on counts alone"


@dataclass(frozen=True)
class Bayes:
    """Mean, variance and distribution of the semantic entropy from any number of samples, one included.

    >>> sure = Bayes()(Evidence(counts=(1,), floors=(0.95,)))
    >>> unsure = Bayes()(Evidence(counts=(1,), floors=(0.01,)))
    >>> sure.mean < 0.3 < 1.0 < unsure.mean
    True
    """

    prior: Prior = field(default_factory=Prior.default)
    name: str = field(default="bayes", init=False)
    has_variance: bool = field(default=True, init=False)
    uses_answer: bool = field(default=True, init=False)

    def __call__(self, evidence: Evidence) -> Belief:
        seen = Observations.of(evidence)
        if seen.settled is not None:
            return Belief(
                seen.settled, 0.0, Known(seen.settled), agreement=_settled_agreement(seen, evidence)
            )
        components, log_prior = self.prior.extended(seen.floors.size)
        found = component_moments([seen], components, tolerance=TOLERANCE, log_prior=log_prior)
        weights = _posterior(log_prior, found.log_evidence)[0]
        mean, variance = mix(weights, found.mean[0], found.variance[0])
        parts = _posterior_components(seen, components, weights)
        notes = (() if self.prior.trained_on else (DEFAULT_PRIOR,)) + (
            () if seen.found.any() else (NO_FLOORS,)
        )
        agreement = (
            None if evidence.answer is None else PosteriorAgreement(parts, seen, evidence.answer.meaning)
        )
        return Belief(mean, variance, Mixture(parts), notes, agreement)

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        means, variances = np.empty(len(evidences)), np.empty(len(evidences))
        seen = [Observations.of(evidence) for evidence in evidences]
        by_size: dict[tuple[Component, ...], list[int]] = {}
        for i, own in enumerate(seen):
            if own.settled is None:
                by_size.setdefault(self.prior.extended(own.floors.size)[0], []).append(i)
            else:
                means[i], variances[i] = own.settled, 0.0
        for components, places in by_size.items():
            log_prior = self.prior.extended(seen[places[0]].floors.size)[1]
            for start in range(0, len(places), CHUNK):
                at = places[start : start + CHUNK]
                found = component_moments(
                    [seen[i] for i in at], components, tolerance=TOLERANCE, log_prior=log_prior
                )
                means[at], variances[at] = _mixed(_posterior(log_prior, found.log_evidence), found)
        return Beliefs(means, variances)


def _settled_agreement(seen: Observations, evidence: Evidence) -> Agreement | None:
    """Agreement where the sequences found leave no room for any other: every probability is known."""
    if evidence.answer is None:
        return None
    shares = seen.floors / seen.floors.sum()
    others = np.delete(shares, evidence.answer.meaning)
    return KnownAgreement(float(shares[evidence.answer.meaning]), float(others.max(initial=0.0)))


def _posterior(log_prior: Floats, log_evidence: Floats) -> Floats:
    """Posterior weights of the columns, one row per question."""
    log_weights = log_prior + log_evidence
    top = log_weights.max(axis=1, keepdims=True)
    if not np.isfinite(top).all():
        raise ConvergenceError("no component of the prior can explain what was seen")
    weights = np.exp(log_weights - top)
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _mixed(weights: Floats, found: Moments) -> tuple[Floats, Floats]:
    """Mean and variance of each row's mixture, as `mix` has them for one."""
    mean = (weights * found.mean).sum(axis=1)
    spread = found.variance + (found.mean - mean[:, None]) ** 2
    return mean, (weights * spread).sum(axis=1)


def _posterior_components(
    seen: Observations, components: Sequence[Component], weights: Floats
) -> tuple[PosteriorComponent, ...]:
    """The components of the posterior, without the least probable ones (1e-4 of the weight in all)."""
    parts, column, matter = [], 0, significant(weights)
    for component in components:
        p, q = component.sequences.powers(component.alpha, seen)
        for mass in component_grid(component, seen.floors.size).mass.tolist():
            if matter[column]:
                weight = float(weights[column])
                parts.append(PosteriorComponent(weight, p, q, seen.floors, mass, component.alpha))
            column += 1
    return tuple(parts)

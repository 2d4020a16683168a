"""`bayes`: the exact posterior of the two-level model of meanings and sequences, under a mixture prior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ..entropy.components import Component, Observations, component_grid
from ..entropy.distribution import Known, Mixture, PosteriorComponent, mix, significant
from ..entropy.shares import ShareDistribution, share_distribution
from ..entropy.two_level import component_moments
from ..errors import ConvergenceError, InputError
from ..nouns import Agreement, Belief, Beliefs, Evidence, JudgedAnswer, KnownAgreement, central_interval
from .fitting import readings
from .prior import Prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..entropy import Moments
    from ..nouns import Floats


# Agreement under the two-level model: the posterior of the probability of the judged answer's meaning.


DROPPED = 1e-3


@dataclass(frozen=True, eq=False)
class PosteriorAgreement:
    """The agreement of a belief, integrated when it is first asked for: most rounds of a check do not need it."""

    components: Sequence[PosteriorComponent]
    observations: Observations
    meaning: int

    @cached_property
    def _shares(self) -> tuple[ShareDistribution, float]:
        return share_distribution(_heaviest(self.components), self.meaning, self._rival())

    def _rival(self) -> int | None:
        """The meaning besides the answer's that has the most evidence."""
        seen = self.observations
        evidence = seen.floors + seen.no_logprob / (1 + seen.no_logprob.sum())
        evidence[self.meaning] = -1.0
        return int(evidence.argmax()) if evidence.size > 1 else None

    @property
    def mean(self) -> float:
        """The predictive probability of the answer's meaning."""
        return self._shares[0].mean

    @property
    def rival(self) -> float:
        """The predictive probability of the strongest of the other meanings."""
        return self._shares[1]

    def interval(self, level: float = 0.9) -> tuple[float, float] | None:
        """The central credible interval."""
        return central_interval(self._shares[0], level)

    def probability_below(self, x: float) -> float:
        """P(agreement < x); 0 without any integral where the answer's own sequences are more probable than x."""
        if self.observations.floors[self.meaning] >= x:
            return 0.0
        return float(self._shares[0].cdf([x])[0])


def _heaviest(components: Sequence[PosteriorComponent]) -> list[PosteriorComponent]:
    """The components without those of the least weight, `DROPPED` of it in all; their order is kept."""
    weights = np.array([component.weight for component in components])
    ascending = np.argsort(weights, kind="stable")
    least = set(ascending[np.cumsum(weights[ascending]) <= DROPPED * weights.sum()].tolist())
    return [component for i, component in enumerate(components) if i not in least]


TOLERANCE = 1e-5  # of the mean, in nats; on real evidence the error is below 1e-6
CHUNK = 256
NO_ENDS = "the log-probabilities leave out the end token, so its probability is estimated"
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

    @property
    def state(self) -> str | None:
        """What the prior was fitted on; None for the one that ships."""
        n = self.prior.trained_on
        return f"fitted on {n} question{'s' * (n != 1)}" if n else None

    def __call__(self, evidence: Evidence) -> Belief:
        found = [self._posterior_of(each) for each in self._readings(evidence)]
        seen = found[0].seen  # the end token's least probability comes first, hence the least lower bounds
        if seen.settled is not None:
            return Belief(
                seen.settled, 0.0, Known(seen.settled), agreement=_settled_agreement(seen, evidence)
            )
        weights = _posterior(np.concatenate([each.log_weights for each in found]))
        ends = np.cumsum([each.log_weights.size for each in found])
        means, variances = (np.concatenate(own) for own in zip(*(e.moments for e in found), strict=True))
        mean, variance = mix(weights, means, variances)
        matter = significant(weights)
        kept = zip(found, np.split(weights, ends[:-1]), np.split(matter, ends[:-1]), strict=True)
        parts = tuple(part for each, own, which in kept for part in _posterior_components(each, own, which))
        agreement = (
            None if evidence.answer is None else PosteriorAgreement(parts, seen, evidence.answer.meaning)
        )
        distribution = Mixture(parts, moments=(means[matter], variances[matter]))
        notes, counted = self._notes(evidence, seen), not seen.floors.any()
        return Belief(mean, variance, distribution, notes, agreement, self._unopposed(evidence), counted)

    def _readings(self, evidence: Evidence) -> Iterator[_PriorReading]:
        """The evidence, or under each probability of the end token where log-probabilities leave that out."""
        read = readings(evidence, self.prior.form(evidence).ends)
        for whole, log_weight in read:
            seen = Observations.of(whole)
            components, log_prior = self.prior.for_evidence(whole, seen.floors.size, normalised=len(read) > 1)
            yield _PriorReading(seen, components, log_prior + log_weight)

    def _posterior_of(self, reading: _PriorReading) -> _ReadingPosterior:
        seen, components, log_prior = reading
        if seen.settled is not None:
            return _ReadingPosterior(seen, components, log_prior, (np.zeros(0), np.zeros(0)))
        found = component_moments([seen], components, tolerance=TOLERANCE, log_prior=log_prior)
        return _ReadingPosterior(
            seen, components, log_prior + found.log_evidence[0], (found.mean[0], found.variance[0])
        )

    def _unopposed(self, evidence: Evidence) -> bool:
        """Whether no sample disagrees with the answer, under a prior that knows no answers like it of this model.

        Of answers in sentences one that disagrees does not count: how a sentence is worded says little about its
        meaning, and a judge takes two wordings of one meaning for two more often than two names.
        """
        answer, form = evidence.answer, self.prior.form(evidence)
        if answer is None or form.trained_on:
            return False
        agreeing = evidence.counts[answer.meaning] if answer.meaning < len(evidence.counts) else 0
        return evidence.n - agreeing <= (form is not self.prior)

    def _notes(self, evidence: Evidence, seen: Observations) -> tuple[str, ...]:
        return (
            *(() if seen.floors.any() else (NO_FLOORS,)),
            *((NO_ENDS,) if evidence.lacks_ends else ()),
        )

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        means, variances = np.empty(len(evidences)), np.empty(len(evidences))
        for i in _without_ends(evidences):
            belief = self(evidences[i])
            means[i], variances[i] = belief.mean, belief.variance
        for part in self._parts(evidences):
            at = part.places
            if part.settled is not None:
                means[at], variances[at] = part.settled, 0.0
                continue
            found = component_moments(
                part.seen, part.components, tolerance=TOLERANCE, log_prior=part.log_prior
            )
            means[at], variances[at] = _mixed(_posterior(part.log_prior + found.log_evidence), found)
        return Beliefs(means, variances)

    def agreements(self, evidences: Sequence[Evidence]) -> Floats:
        """The mean agreement of many questions, each with a judged answer: E[b_j] as a ratio of evidences."""
        result = np.empty(len(evidences))
        for i in _without_ends(evidences):
            agreement = self(evidences[i]).agreement
            result[i] = np.nan if agreement is None else agreement.mean
        for part in self._parts(evidences):
            meanings = [judged(evidences[i]).meaning for i in part.places]
            if part.settled is not None:
                shares = [
                    own.floors[j] / own.floors.sum() for own, j in zip(part.seen, meanings, strict=True)
                ]
                result[part.places] = shares
                continue
            once_more = [own.with_draw(j) for own, j in zip(part.seen, meanings, strict=True)]
            before, after = (
                component_moments(
                    seen, part.components, tolerance=TOLERANCE, log_prior=part.log_prior
                ).log_evidence
                for seen in (part.seen, once_more)
            )
            weights = _posterior(part.log_prior + before)
            known = np.isfinite(before) & np.isfinite(after)
            ratio = np.exp(np.where(known, after, 0.0) - np.where(known, before, 0.0)) * known
            result[part.places] = np.clip((weights * ratio).sum(axis=1), 0.0, 1.0)
        return result

    def _parts(self, evidences: Sequence[Evidence]) -> Iterator[_Part]:
        """Questions that share their components, in parts of limited size; those that are settled alone."""
        groups: dict[tuple[Component, ...], list[tuple[int, _PriorReading]]] = {}
        for i, evidence in enumerate(evidences):
            if evidence.lacks_ends:
                continue
            (reading,) = self._readings(evidence)
            if reading.seen.settled is not None:
                yield _Part([i], [reading.seen], (), reading.log_prior, reading.seen.settled)
            else:
                groups.setdefault(reading.components, []).append((i, reading))
        for components, members in groups.items():
            for start in range(0, len(members), CHUNK):
                at = members[start : start + CHUNK]
                yield _Part(
                    [i for i, _ in at],
                    [reading.seen for _, reading in at],
                    components,
                    np.array([reading.log_prior for _, reading in at]),
                    None,
                )


@dataclass(frozen=True)
class AgreementScore:
    """`agreement`: the probability that another sample means anything but what the answer means.

    A score for studies, higher meaning more suspicious: 1 minus the agreement that `bayes` computes. It is no entropy.
    """

    column: ClassVar[str] = "answer.meaning"
    prior: Prior = field(default_factory=Prior.default)
    name: str = field(default="agreement", init=False)
    has_variance: bool = field(default=False, init=False)
    uses_answer: bool = field(default=True, init=False)

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(float(self.batch([evidence]).mean[0]))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return Beliefs(1.0 - Bayes(self.prior).agreements(evidences), None)


class _PriorReading(NamedTuple):
    """One reading of the evidence: observations, the components of the prior and their log-weights."""

    seen: Observations
    components: tuple[Component, ...]
    log_prior: Floats


class _ReadingPosterior(NamedTuple):
    """The posterior under one reading: log-weights that are not normalised, and moments, of every column."""

    seen: Observations
    components: tuple[Component, ...]
    log_weights: Floats
    moments: tuple[Floats, Floats]


class _Part(NamedTuple):
    """Some questions of a batch: their places in it, what they share, and the entropy where it is settled."""

    places: list[int]
    seen: list[Observations]
    components: tuple[Component, ...]
    log_prior: Floats
    settled: float | None


def judged(evidence: Evidence) -> JudgedAnswer:
    """The judged answer of an evidence; an error where there is none."""
    if evidence.answer is None:
        raise InputError("there is no judged answer: agreement needs one")
    return evidence.answer


def _settled_agreement(seen: Observations, evidence: Evidence) -> Agreement | None:
    """Agreement where the sequences found leave no room for any other: every probability is known."""
    if evidence.answer is None:
        return None
    shares = seen.floors / seen.floors.sum()
    others = np.delete(shares, evidence.answer.meaning)
    return KnownAgreement(float(shares[evidence.answer.meaning]), float(others.max(initial=0.0)))


def _without_ends(evidences: Sequence[Evidence]) -> list[int]:
    return [i for i, evidence in enumerate(evidences) if evidence.lacks_ends]


def _posterior(log_weights: Floats) -> Floats:
    """Weights that sum to 1, along the last axis."""
    top = log_weights.max(axis=-1, keepdims=True)
    if not np.isfinite(top).all():
        raise ConvergenceError("no component of the prior can explain what was seen")
    weights = np.exp(log_weights - top)
    shares: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def _mixed(weights: Floats, found: Moments) -> tuple[Floats, Floats]:
    mean = (weights * found.mean).sum(axis=1)
    spread = found.variance + (found.mean - mean[:, None]) ** 2
    return mean, (weights * spread).sum(axis=1)


def _posterior_components(
    found: _ReadingPosterior, weights: Floats, matter: NDArray[np.bool_]
) -> Iterator[PosteriorComponent]:
    """The components of the posterior that matter."""
    seen, end, matters, shares = found.seen, 0, matter.tolist(), weights.tolist()
    for component in found.components:
        start, end = end, end + len(component.points)
        if not any(matters[start:end]):
            continue
        p, q = component.powers(seen)
        masses = component_grid(component, seen.floors.size).mass.tolist()
        for share, mass, yes in zip(shares[start:end], masses, matters[start:end], strict=True):
            if yes:
                yield PosteriorComponent(share, p, q, seen.floors, mass, component.alpha)

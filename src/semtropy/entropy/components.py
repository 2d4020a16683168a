"""Mixture components: a prior over meaning probabilities, finite Dirichlet or Pitman-Yor, and one over sequences.

K meanings are Dirichlet(alpha); an unbounded number of meanings is a Pitman-Yor process (Pitman and Yor, Ann.
Probab. 1997), whose n-th meaning is about as probable as n^(-1 / discount). Both are one family with a discount
sigma and a concentration c: the Dirichlet has sigma = -alpha and c = K alpha. With m meanings seen, the density of
their probabilities b_j and of the rest is, for both (Pitman's exchangeable partition probabilities),

    prod_j b_j^(-sigma - 1) * rest^(c + m sigma - 1) / Gamma(c + m sigma) * constant,
    constant = Gamma(c) prod_{i < m} (c + i sigma) / Gamma(1 - sigma)^m,

times b_j for each draw of meaning j. The rest is split by the same family with concentration c + m sigma: it is the
gamma block of contour.py.

Within a meaning, sequences are found in size-biased order, and each takes a share of the mass that is left (stick
breaking): Beta(1, theta) for a Dirichlet process. Two generalisations fit real answers better. The first `main`
sequences may be of similar size, with shares Beta(1 + evenness, theta + evenness (main - i)): two tokenisations of
one number, with and without a full stop. And a Pitman-Yor process, with shares Beta(1 - discount, theta + discount
i), has the heavy tail of answers as long as sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, gammaln

from ..errors import ImpossibleLogprobs, InputError
from ..evidence import MOST_EXCESS
from .contour import exact_room
from .dirichlet import entropy_term
from .inputs import LARGEST_SIZE, check_counts, clean_floors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..nouns import Evidence, Floats


# Sufficient statistics of one question's samples, rounded to the precision of the log-probabilities.


# Log-probabilities are sums of rounded 32-bit numbers: room below this is indistinguishable from none, and further
# digits would only order questions by their rounding.
LEAST_ROOM = 1e-6
DIGITS = 6
LEAST_LOGPROB = -700.0


@dataclass(frozen=True, slots=True)
class Observations:
    """What the two-level model needs of a question's samples and judged answer; every field has one entry per meaning.

    floors      summed probability of the distinct sequences found, a lower bound of the meaning's probability; a bare
                lower bound where none was found
    found       number of distinct sequences found with a known probability
    logprobs    their log-probabilities, in order of discovery
    no_logprob  number of draws whose probability is unknown
    judged      the meaning of the judged answer; None where there is none

    >>> from semtropy import Evidence
    >>> Observations.of(Evidence(counts=(2, 1), floors=(0.5, 0.0))).floors.round(3)
    array([0.5, 0. ])
    """

    floors: Floats
    found: Floats
    logprobs: tuple[tuple[float, ...], ...]
    no_logprob: Floats
    judged: int | None = None

    @classmethod
    def of(cls, evidence: Evidence) -> Observations:
        """The statistics of real samples. Probabilities that sum to more than 1.01 are an error."""
        known, no_logprob = _with_answer(evidence)
        logprobs = tuple(tuple(_bounded(logprob) for logprob in own) for own in known)
        floors = np.array([math.fsum(math.exp(logprob) for logprob in own) for own in logprobs])
        bare = evidence.bare_floors
        if bare:
            floors[: len(bare)] += bare
        total = float(floors.sum())
        if not total <= 1 + MOST_EXCESS:
            raise ImpossibleLogprobs(
                f"the probabilities of the distinct sequences seen sum to {total:.4g}: their log-probabilities are not "
                "those of the distribution they were drawn from (another temperature? a prefix?)"
            )
        found = np.array([len(own) for own in logprobs], dtype=float)
        floors = clean_floors(floors / max(total, 1.0), LEAST_ROOM)
        unknown = np.array(no_logprob, dtype=float)
        check_counts(unknown, 0, "no_logprob")
        judged = None if evidence.answer is None else evidence.answer.meaning
        return cls(floors, found, logprobs, unknown, judged)

    def with_draw(self, meaning: int) -> Observations:
        """The observations with one more draw of `meaning` whose log-probability is unknown."""
        more = self.no_logprob.copy()
        more[meaning] += 1
        return replace(self, no_logprob=more)

    @property
    def settled(self) -> float | None:
        """The entropy, where the sequences found have all of the probability; None where they do not."""
        if exact_room(self.floors) > 2 * LEAST_ROOM:
            return None
        return max(0.0, float(entropy_term(self.floors / self.floors.sum()).sum()))


def _bounded(logprob: float) -> float:
    """A log-probability to the digits it has, and not so low that its probability is 0 as a float.

    Long texts reach that: a meaning whose only sequence has the probability 0 could not have been seen.
    """
    return round(min(max(logprob, LEAST_LOGPROB), 0.0), DIGITS)


def _with_answer(evidence: Evidence) -> tuple[list[tuple[float, ...]], list[int]]:
    """Log-probabilities of the known sequences of each meaning, and draws without one, the judged answer included.

    The answer comes before the samples: it is the first sequence of its meaning. Its meaning is the last one where
    no sample has it.
    """
    logprobs, no_logprob = list(evidence.logprobs), list(evidence.no_logprob)
    answer = evidence.answer
    if answer is None:
        return logprobs, no_logprob
    if answer.meaning == len(logprobs):
        logprobs.append(())
        no_logprob.append(0)
    own = logprobs[answer.meaning]
    if answer.logprob is None:
        no_logprob[answer.meaning] += 1
    elif answer.sequence is None:
        logprobs[answer.meaning] = (answer.logprob, *own)
    else:
        logprobs[answer.meaning] = (
            own[answer.sequence],
            *own[: answer.sequence],
            *own[answer.sequence + 1 :],
        )
    return logprobs, no_logprob


# Within these limits, and those of `inputs`, the integrals converge; beyond, doubles no longer resolve them.
LEAST_DISCOUNT, MOST_DISCOUNT = 1e-6, 0.999


@dataclass(frozen=True, slots=True)
class SequencePrior:
    """A stick-breaking prior over the sequences of a meaning.

    theta     the concentration: small for few sequences, large for many
    main      number of leading sequences of similar probability
    evenness  how similar these are; 0 for not at all
    discount  between 0 and 1, makes the tail heavy (Pitman-Yor), so that each new sequence is evidence for its
              meaning, as a draw is; it excludes `main`

    >>> SequencePrior(0.1, main=2, evenness=1.0).theta
    0.1
    """

    theta: float
    main: int = 0
    evenness: float = 0.0
    discount: float = 0.0

    def __post_init__(self) -> None:
        if not 1e-3 <= self.theta <= 1e3:
            raise InputError(f"theta is {self.theta}: it must be a number from 0.001 to 1000")
        if not (0 <= self.main <= 1000 and 0 <= self.evenness <= 1e3 and 0 <= self.discount <= MOST_DISCOUNT):
            raise InputError(
                "main and evenness must lie between 0 and 1000, and discount between 0 and 0.999"
            )
        if self.main and self.discount:
            raise InputError("a sequence prior has main sequences or a discount, not both")

    def powers(self, alpha: float, seen: Observations) -> tuple[Floats, Floats]:
        """p and q of each seen meaning's factor b^p (b - floor)^(q - 1).

        A floor without a sequence of known probability is a bare bound: q = 1, a Dirichlet cut off below it.
        """
        p = seen.no_logprob + (alpha - self.theta - self.evenness * self.main)
        q = self.theta + self.discount * seen.found
        if self.main:
            q = self.theta + self.evenness * np.maximum(self.main - seen.found, 0.0)
        bare = (seen.found == 0) & (seen.floors > 0)
        if bare.any():
            p, q = np.where(bare, seen.no_logprob + (alpha - 1), p), np.where(bare, 1.0, q)
        return p, q

    def log_constant(self, seen: Observations) -> float:
        """The logarithm of the sequences' likelihood without its powers of b_j and b_j - l_j."""
        if not self.main and not self.discount:
            return float(seen.found.sum()) * math.log(self.theta)
        constant = 0.0
        for own in seen.logprobs:
            for i, logprob in enumerate(own, start=1):
                lean = -self.discount if i > self.main else self.evenness
                left = self.theta + self.discount * i + self.evenness * max(self.main - i, 0)
                constant += lean * logprob - _log_beta(1 + lean, left)
        return constant


@lru_cache(maxsize=4096)
def _log_beta(a: float, b: float) -> float:
    return float(betaln(a, b))


@dataclass(frozen=True, slots=True)
class DirichletComponent:
    """A component with a finite number of meanings, whose probabilities are Dirichlet(alpha).

    alpha      parameter of the symmetric Dirichlet: small where one meaning dominates
    sequences  the prior over the sequences of each meaning
    sizes      the numbers of meanings to consider, ascending
    anchor     draws of the judged answer's meaning that the component takes for granted, the answer among them: its
               share is near (alpha + anchor) / (K alpha + anchor). 0 for none

    >>> DirichletComponent(0.5, SequencePrior(1.0), (1, 2, 5)).points
    (1, 2, 5)
    """

    alpha: float
    sequences: SequencePrior
    sizes: tuple[int, ...]
    anchor: float = 0.0

    def __post_init__(self) -> None:
        _check_anchor(self.anchor)
        if not 1e-6 <= self.alpha <= 1e3:
            raise InputError(f"alpha is {self.alpha}: it must be a number from 1e-6 to 1000")
        if not self.sizes or self.sizes[0] < 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise InputError("sizes must be ascending whole numbers from 1")
        if self.sizes[-1] > LARGEST_SIZE:
            raise InputError(f"sizes contains {self.sizes[-1]:g}; the largest supported is {LARGEST_SIZE:g}")

    def powers(self, seen: Observations) -> tuple[Floats, Floats]:
        """p and q of each seen meaning's factor b^p (b - floor)^(q - 1)."""
        return _anchored(self, seen)

    @property
    def points(self) -> tuple[float, ...]:
        """The sizes, one grid point each."""
        return self.sizes

    def only(self, keep: Sequence[bool]) -> DirichletComponent:
        """The same component with some of its sizes."""
        return replace(self, sizes=tuple(size for size, yes in zip(self.sizes, keep, strict=True) if yes))


@dataclass(frozen=True, slots=True)
class PitmanYorComponent:
    """A component with an unbounded number of meanings, whose probabilities follow a Pitman-Yor process.

    discount        how heavy the tail of rare meanings is, between 0 and 1
    sequences       the prior over the sequences of each meaning
    concentrations  the concentrations to consider, ascending: the larger, the more meanings
    anchor          as for a Dirichlet: the answer's share is near anchor / (concentration + anchor)

    >>> PitmanYorComponent(0.25, SequencePrior(0.3), (1.0, 10.0)).alpha
    -0.25
    """

    discount: float
    sequences: SequencePrior
    concentrations: tuple[float, ...]
    anchor: float = 0.0

    def __post_init__(self) -> None:
        _check_anchor(self.anchor)
        if not LEAST_DISCOUNT <= self.discount <= MOST_DISCOUNT:
            raise InputError(
                f"the discount over meanings is {self.discount}: it must lie between {LEAST_DISCOUNT:g} and "
                f"{MOST_DISCOUNT:g}"
            )
        c = self.concentrations
        if not c or not 1e-6 <= c[0] <= c[-1] <= LARGEST_SIZE or list(c) != sorted(set(c)):
            raise InputError(f"concentrations must be ascending numbers from 1e-6 to {LARGEST_SIZE:g}")

    @property
    def alpha(self) -> float:
        """-discount, which takes the place of a Dirichlet's alpha."""
        return -self.discount

    def powers(self, seen: Observations) -> tuple[Floats, Floats]:
        """p and q of each seen meaning's factor b^p (b - floor)^(q - 1)."""
        return _anchored(self, seen)

    @property
    def points(self) -> tuple[float, ...]:
        """The concentrations, one grid point each."""
        return self.concentrations

    def only(self, keep: Sequence[bool]) -> PitmanYorComponent:
        """The same component with some of its concentrations."""
        kept = tuple(c for c, yes in zip(self.concentrations, keep, strict=True) if yes)
        return replace(self, concentrations=kept)


Component = DirichletComponent | PitmanYorComponent


def _check_anchor(anchor: float) -> None:
    if not (anchor == 0 or 1 <= anchor <= 1e4):
        raise InputError(f"anchor is {anchor}: 0, or a number of draws from 1 to 10000")


def _anchored(component: Component, seen: Observations) -> tuple[Floats, Floats]:
    p, q = component.sequences.powers(component.alpha, seen)
    if component.anchor:
        if seen.judged is None:
            raise InputError("an anchored component needs a judged answer")
        p[seen.judged] += component.anchor - 1
    return p, q


@dataclass(frozen=True, slots=True)
class ComponentGrid:
    """A component's sizes or concentrations after some meanings were seen.

    Which of them are `possible`, the `mass` (remaining concentration) of the unseen meanings, and the log-constant
    of the density.
    """

    possible: NDArray[np.intp]
    mass: Floats
    constant: Floats


@lru_cache(maxsize=4096)
def component_grid(component: Component, seen: int) -> ComponentGrid:
    """A component's grid after `seen` meanings.

    >>> component_grid(DirichletComponent(0.5, SequencePrior(1.0), (1, 2, 5)), 2).mass
    array([0. , 0. , 1.5])
    """
    if isinstance(component, PitmanYorComponent):
        c, d = np.array(component.concentrations), component.discount
        mass, constant = c + seen * d, gammaln(c) - seen * gammaln(1 - d)
        for i in range(seen):
            constant += np.log(c + i * d)
        if component.anchor:  # the probability that all of these draws have one meaning
            a = component.anchor
            constant -= np.log(c) + gammaln(c) - gammaln(c + a) + gammaln(a - d) - gammaln(1 - d)
        return ComponentGrid(np.arange(c.size), mass, constant)
    sizes = np.array(component.sizes, dtype=float)
    reached = np.maximum(sizes, seen)
    constant = placement(reached, seen, component.alpha)
    if component.anchor:
        alpha, a = component.alpha, component.anchor
        constant = constant - (
            placement(reached, 1, alpha) + gammaln(alpha + a) - gammaln(reached * alpha + a)
        )
    return ComponentGrid(np.flatnonzero(sizes >= seen), (reached - seen) * component.alpha, constant)


def placement(sizes: Floats, seen: int | Floats, alpha: float) -> Floats:
    """log of K! / (K - m)! Gamma(K alpha) / Gamma(alpha)^m: the choice of the m seen meanings, and the prior's norm."""
    placed: Floats = (
        gammaln(sizes + 1) - gammaln(sizes - seen + 1) + gammaln(sizes * alpha) - seen * gammaln(alpha)
    )
    return placed

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

from ..errors import InputError
from .inputs import LARGEST_SIZE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .observations import Observations

    Floats = NDArray[np.float64]

__all__ = [
    "Component",
    "ComponentGrid",
    "DirichletComponent",
    "PitmanYorComponent",
    "SequencePrior",
    "component_grid",
    "placement",
]

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

    >>> DirichletComponent(0.5, SequencePrior(1.0), (1, 2, 5)).points
    (1, 2, 5)
    """

    alpha: float
    sequences: SequencePrior
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1e-6 <= self.alpha <= 1e3:
            raise InputError(f"alpha is {self.alpha}: it must be a number from 1e-6 to 1000")
        if not self.sizes or self.sizes[0] < 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise InputError("sizes must be ascending whole numbers from 1")
        if self.sizes[-1] > LARGEST_SIZE:
            raise InputError(f"sizes contains {self.sizes[-1]:g}; the largest supported is {LARGEST_SIZE:g}")

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

    >>> PitmanYorComponent(0.25, SequencePrior(0.3), (1.0, 10.0)).alpha
    -0.25
    """

    discount: float
    sequences: SequencePrior
    concentrations: tuple[float, ...]

    def __post_init__(self) -> None:
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

    @property
    def points(self) -> tuple[float, ...]:
        """The concentrations, one grid point each."""
        return self.concentrations

    def only(self, keep: Sequence[bool]) -> PitmanYorComponent:
        """The same component with some of its concentrations."""
        kept = tuple(c for c, yes in zip(self.concentrations, keep, strict=True) if yes)
        return replace(self, concentrations=kept)


Component = DirichletComponent | PitmanYorComponent


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
        return ComponentGrid(np.arange(c.size), mass, constant)
    sizes = np.array(component.sizes, dtype=float)
    reached = np.maximum(sizes, seen)
    constant = placement(reached, seen, component.alpha)
    return ComponentGrid(np.flatnonzero(sizes >= seen), (reached - seen) * component.alpha, constant)


def placement(sizes: Floats, seen: int | Floats, alpha: float) -> Floats:
    """log of K! / (K - m)! Gamma(K alpha) / Gamma(alpha)^m: the choice of the m seen meanings, and the prior's norm."""
    placed: Floats = (
        gammaln(sizes + 1) - gammaln(sizes - seen + 1) + gammaln(sizes * alpha) - seen * gammaln(alpha)
    )
    return placed

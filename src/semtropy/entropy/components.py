"""Kinds of question: how probable meanings are, and how they are worded.

Meanings are K of them, Dirichlet(alpha), or without end: a Pitman-Yor process, whose n-th meaning is about as probable
as n^(-1 / discount), as the rare meanings of an open question are. Both are one family, of a discount sigma
and a concentration c: K meanings are sigma = -alpha and c = K alpha. With m meanings seen, the density of their
probabilities and the rest is, for both,

    prod_j b_j^(-sigma - 1) * rest^(c + m sigma - 1) / Gamma(c + m sigma) * constant,
    constant = Gamma(c) prod_{i < m} (c + i sigma) / Gamma(1 - sigma)^m,

times b_j for each draw of meaning j; and the rest is split by the same family, with concentration c + m sigma. It is
the gamma block of contour.py.

Within a meaning, sequences are found in size-biased order, each taking a share of what is left of the meaning's mass:
Beta(1, theta) under a Dirichlet process (small theta: essentially one wording, large: many). Real meanings often have
a few wordings of like size instead (two tokenisations of one number, with and without a full stop), so the first
`main` of them may take shares Beta(1 + evenness, theta + evenness (main - i)); answers as long as sentences have so
many rare wordings that shares Beta(1 - discount, theta + discount i) fit them better (Pitman-Yor again).
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .observations import Observations

    Floats = NDArray[np.float64]

__all__ = [
    "ComponentGrid",
    "DirichletComponent",
    "PitmanYorComponent",
    "SequencePrior",
    "component_grid",
    "placement",
]


@dataclass(frozen=True, slots=True)
class SequencePrior:
    """How a meaning splits over sequences: `main` ones of like size, then a tail of concentration `theta`.

    A `discount` between 0 and 1 makes the tail heavy (Pitman-Yor): so many rare wordings that finding one is
    evidence for its meaning, as a draw is. It goes without `main`.
    """

    theta: float
    main: int = 0
    evenness: float = 0.0
    discount: float = 0.0

    def __post_init__(self) -> None:
        if not 1e-3 <= self.theta <= 1e3:
            raise InputError(f"theta is {self.theta}: a number from 0.001 to 1000")
        if self.main < 0 or self.evenness < 0 or not 0 <= self.discount < 1:
            raise InputError("main and evenness cannot be negative, and discount is from 0 to below 1")
        if self.main and self.discount:
            raise InputError("a heavy tail (discount) and main wordings do not go together")

    def powers(self, alpha: float, seen: Observations) -> tuple[Floats, Floats]:
        """p and q of each seen meaning's factor b^p (b - floor)^(q - 1)."""
        total = self.theta + self.evenness * self.main
        left = (
            self.theta + self.evenness * np.maximum(self.main - seen.found, 0.0) + self.discount * seen.found
        )
        return seen.no_logprob + (alpha - total), left

    def log_constant(self, seen: Observations) -> float:
        """What the likelihood of the sequences found has beside its powers of b_j and b_j - l_j."""
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
    """A kind of question: how even its meanings are, how they are worded, and the support sizes to consider, rising."""

    alpha: float
    sequences: SequencePrior
    sizes: tuple[int, ...]

    @property
    def points(self) -> tuple[float, ...]:
        return self.sizes

    def only(self, keep: Sequence[bool]) -> DirichletComponent:
        """The same with some of its sizes."""
        return replace(self, sizes=tuple(size for size, yes in zip(self.sizes, keep, strict=True) if yes))


@dataclass(frozen=True, slots=True)
class PitmanYorComponent:
    """A kind of question whose meanings have no end: Pitman-Yor with a `discount`, and concentrations, rising.

    >>> PitmanYorComponent(0.25, SequencePrior(0.3), (1.0, 10.0)).alpha
    -0.25
    """

    discount: float
    sequences: SequencePrior
    concentrations: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 < self.discount < 1:
            raise InputError(f"the discount of meanings is {self.discount}: a number between 0 and 1")
        if not self.concentrations or min(self.concentrations) <= 0:
            raise InputError("concentrations must be numbers above 0")

    @property
    def alpha(self) -> float:
        """What stands in the place of a Dirichlet's alpha."""
        return -self.discount

    @property
    def points(self) -> tuple[float, ...]:
        return self.concentrations

    def only(self, keep: Sequence[bool]) -> PitmanYorComponent:
        """The same with some of its concentrations."""
        kept = tuple(c for c, yes in zip(self.concentrations, keep, strict=True) if yes)
        return replace(self, concentrations=kept)


@dataclass(frozen=True, slots=True)
class ComponentGrid:
    """The sizes or concentrations of a kind once some meanings were seen.

    Which of them are `possible`, the `mass` of the unseen meanings under each, and each one's log-constant.
    """

    possible: NDArray[np.intp]
    mass: Floats
    constant: Floats


@lru_cache(maxsize=4096)
def component_grid(kind: DirichletComponent | PitmanYorComponent, seen: int) -> ComponentGrid:
    """A kind's columns once so many meanings were seen.

    >>> component_grid(DirichletComponent(0.5, SequencePrior(1.0), (1, 2, 5)), 2).mass
    array([0. , 0. , 1.5])
    """
    if isinstance(kind, PitmanYorComponent):
        c, d = np.array(kind.concentrations), kind.discount
        mass, constant = c + seen * d, gammaln(c) - seen * gammaln(1 - d)
        for i in range(seen):
            constant += np.log(c + i * d)
        return ComponentGrid(np.arange(c.size), mass, constant)
    sizes = np.array(kind.sizes, dtype=float)
    reached = np.maximum(sizes, seen)
    constant = placement(reached, seen, kind.alpha)
    return ComponentGrid(np.flatnonzero(sizes >= seen), (reached - seen) * kind.alpha, constant)


def placement(sizes: Floats, seen: int | Floats, alpha: float) -> Floats:
    """log of K! / (K - m)! Gamma(K alpha) / Gamma(alpha)^m: which meanings were seen, and the prior's norm."""
    placed: Floats = (
        gammaln(sizes + 1) - gammaln(sizes - seen + 1) + gammaln(sizes * alpha) - seen * gammaln(alpha)
    )
    return placed

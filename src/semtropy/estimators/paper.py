"""`bayes-paper`: the paper's estimator and protocol.

A Dirichlet(alpha) belief over K meanings cut off below by one probability a distinct string, mixed over K by
how many meanings training questions had. Its integrals are exact here unless `method="importance"` asks for
the paper's own draws. Three habits of the released code are kept, because the numbers depend on them: sizes
are cut at 7, K is only conditioned on K >= the meanings seen, and floors that sum to 0.99 or more are scaled
to 0.99.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..entropy import moments, moments_batch
from ..entropy.distribution import Mixture, PosteriorComponent, mix
from ..errors import InputError
from ..evidence import whole_numbers
from ..nouns import Belief, Beliefs, Evidence
from .fitting import row_samples

LARGEST = 7
FULLEST = 0.99
NO_TRAINING = "no training questions: sizes 1 to 7 were taken as equally likely"


@dataclass(frozen=True, slots=True)
class PaperPrior:
    """The prior over the number of meanings K of `bayes-paper`: relative frequencies among training questions (eq. 6).

    weights     the weight of K = 1, 2, ..., 7, where 7 stands for 7 and more
    trained_on  number of training questions, 0 for equal weights

    >>> PaperPrior.from_sizes([1, 1, 3, 12]).weights
    (0.5, 0.0, 0.25, 0.0, 0.0, 0.0, 0.25)
    """

    weights: tuple[float, ...] = (1 / LARGEST,) * LARGEST
    trained_on: int = 0

    def __post_init__(self) -> None:
        try:
            weights = np.array(self.weights, dtype=float)
        except (TypeError, ValueError, OverflowError):
            weights = np.array([np.nan])
        if (
            weights.ndim != 1
            or not np.isfinite(weights).all()
            or not (weights >= 0).all()
            or not weights.any()
        ):
            raise InputError(
                "weights must be finite numbers from 0 on, one per number of meanings, not all 0"
            )

    @classmethod
    def from_sizes(cls, sizes: Iterable[int]) -> PaperPrior:
        """From the number of meanings of each training question."""
        cut = np.array([min(size, LARGEST) for size in whole_numbers("sizes", list(sizes))], dtype=np.int64)
        if cut.size == 0:
            return cls()
        if cut.min() < 1:
            raise InputError("sizes contains 0: a training question has at least one meaning")
        weights = np.bincount(cut, minlength=LARGEST + 1)[1:] / cut.size
        return cls(tuple(weights.tolist()), int(cut.size))

    @classmethod
    def fit(cls, rows: Iterable[Mapping[str, Any]]) -> PaperPrior:
        """From training questions: rows as in a recording, of which only the number of meanings is used."""
        return cls.from_sizes(row_samples(row)[1].size for row in rows)

    def given(self, seen: int) -> tuple[np.ndarray, np.ndarray]:
        """Sizes K still possible after `seen` meanings, and their weights."""
        weights = np.array(self.weights)
        largest = int(np.flatnonzero(weights)[-1]) + 1
        if seen >= largest:
            return np.array([float(seen)]), np.ones(1)
        sizes = np.arange(seen, largest + 1)
        kept = weights[sizes - 1]
        total = kept.sum() if kept.max() < 1e300 else (kept := kept / kept.max()).sum()  # no overflow
        return sizes[kept > 0].astype(float), kept[kept > 0] / total


@dataclass(frozen=True)
class BayesPaper:
    """The paper's estimator.

    >>> belief = BayesPaper()(Evidence(counts=(1,), floors=(0.3,)))
    >>> round(belief.mean, 6), round(belief.variance, 6)
    (0.759237, 0.23157)
    """

    prior: PaperPrior = field(default_factory=PaperPrior)
    alpha: float = 0.5
    method: Literal["exact", "importance"] = "exact"
    draws: int = 1000
    rng: np.random.Generator | None = None
    name: str = field(default="bayes-paper", init=False)
    has_variance: bool = field(default=True, init=False)
    uses_answer: bool = field(default=False, init=False)

    def __call__(self, evidence: Evidence) -> Belief:
        sizes, weights = self.prior.given(len(evidence.counts))
        floors = _scaled(evidence)
        options: Any = (
            {} if self.method == "exact" else {"method": self.method, "rng": self.rng, "draws": self.draws}
        )
        found = moments(evidence.counts, floors, sizes, self.alpha, **options)
        mean, variance = mix(weights, found.mean, found.variance)
        alpha = float(self.alpha)
        powers = np.array(evidence.counts) + alpha - 1
        parts = [
            PosteriorComponent(
                float(w), powers, np.ones(floors.size), floors, (k - floors.size) * alpha, alpha
            )
            for w, k in zip(weights, sizes, strict=True)
        ]
        notes = () if self.prior.trained_on else (NO_TRAINING,)
        return Belief(mean, variance, Mixture(tuple(parts)), notes)

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        if self.method != "exact":
            beliefs = [self(e) for e in evidences]
            return Beliefs(
                np.array([b.mean for b in beliefs]), np.array([b.variance for b in beliefs], dtype=float)
            )
        given = [self.prior.given(len(e.counts)) for e in evidences]
        floors = [_scaled(e) for e in evidences]
        found = moments_batch(
            [e.counts for e in evidences], floors, [sizes for sizes, _ in given], self.alpha, tolerance=1e-7
        )
        mixed = np.array([mix(w, f.mean, f.variance) for (_, w), f in zip(given, found, strict=True)])
        return Beliefs(mixed[:, 0], mixed[:, 1])


def _scaled(evidence: Evidence) -> np.ndarray:
    floors = np.clip(evidence.string_floors, 0.0, 1.0)
    total = floors.sum()
    return floors * (FULLEST / total) if total >= FULLEST else floors

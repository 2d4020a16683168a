"""What Bayesian estimators that see nothing but counts share: a mixture of models, each with moments in closed form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma

from ..entropy.distribution import mix
from ..entropy.trigamma import trigamma
from ..errors import InputError
from ..nouns import Belief, Beliefs, Evidence
from .counts import Counts, sorted_counts
from .gamma_mixture import GammaMixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["CountsMixture", "Posterior", "dirichlet_entropies", "normalised"]

LARGEST = 10**8  # samples; beyond it the logarithms of gamma functions cancel
NEGLIGIBLE = 1e-9  # weight below which a model is left out of the distribution


class Posterior(NamedTuple):
    """The models of a mixture given the counts: their weights, which sum to 1, and moments of the entropy."""

    weights: Floats
    means: Floats
    variances: Floats


def normalised(log_weights: Floats) -> Floats:
    """exp(log_weights), scaled to sum to 1.

    >>> normalised(np.log([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    raised = np.exp(log_weights - log_weights.max())
    return np.asarray(raised / raised.sum())


def dirichlet_entropies(shape: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the entropy under Dirichlet distributions, one for each column.

    Meanings come in blocks of equal ones: `shape` is the parameter of each meaning in a block, `mass` their sum. In
    closed form (Wolpert and Wolf 1995), from second moments around the mean so that no digits cancel.

    >>> [part.round(6).tolist() for part in dirichlet_entropies(np.array([[1.0]]), np.array([[2.0]]))]
    [[0.5], [0.035022]]
    """
    total = mass.sum(axis=0)
    mean = digamma(total + 1) - (mass * digamma(shape + 1)).sum(axis=0) / total
    off = digamma(shape + 1) - digamma(total + 2) + mean
    inner = mass * (off**2 + 2 * off + 1 / (shape + 1) + (shape + 1) * trigamma(shape + 2))
    spread = (inner.sum(axis=0) + (total / (total + 1)) ** 2) / (total * (total + 1))
    return np.maximum(mean, 0.0), np.maximum(spread - trigamma(total + 2), 0.0)


class CountsMixture(ABC):
    """An estimator with a variance that is a function of the counts, given as `posterior`."""

    name: ClassVar[str]
    has_variance: ClassVar[bool] = True
    uses_answer: ClassVar[bool] = False

    @abstractmethod
    def posterior(self, counts: Counts) -> Posterior:
        """The models and their weights after these counts."""

    def __call__(self, evidence: Evidence) -> Belief:
        counts = _checked_counts(evidence, self.name)
        found = self.posterior(counts)
        kept = found.weights > NEGLIGIBLE
        shares = found.weights[kept] / found.weights[kept].sum()
        distribution = GammaMixture(shares, found.means[kept], found.variances[kept])
        return Belief(*mix(*found), distribution, self.notes(counts))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        found = np.array([_mixed(self, _checked_counts(each, self.name)) for each in evidences]).reshape(
            -1, 2
        )
        return Beliefs(found[:, 0], found[:, 1])

    def notes(self, counts: Counts) -> tuple[str, ...]:
        """Sentences that the belief carries."""
        return ()


def _checked_counts(evidence: Evidence, method: str) -> Counts:
    if evidence.n > LARGEST:
        raise InputError(f"counts sum to {evidence.n:.3g}: {LARGEST:.0e} is the largest number of samples")
    return sorted_counts(evidence, method)


@lru_cache(maxsize=1 << 16)
def _mixed(estimator: CountsMixture, counts: Counts) -> tuple[float, float]:
    """Mean and variance; a study of up to ten samples has no more than 138 different counts."""
    return mix(*estimator.posterior(counts))

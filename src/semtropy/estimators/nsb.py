"""`nsb`: a mixture of Dirichlet priors that expects every entropy equally.

I. Nemenman, F. Shafee and W. Bialek, "Entropy and inference, revisited", Advances in Neural Information Processing
Systems 14, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from ..entropy.trigamma import trigamma
from .counts import DEFAULT_SIZE, UNTRAINED_SIZE, Counts, check_size
from .mixtures import CountsMixture, Posterior, dirichlet_entropies, normalised

__all__ = ["Nsb"]

# Evenly spaced log alpha: from a prior that expects one meaning to one that expects equal shares.
LOWEST, HIGHEST, POINTS = -14.0, 14.0, 400


@dataclass(frozen=True)
class Nsb(CountsMixture):
    """Dirichlet(alpha) over K meanings, alpha with the density K psi_1(K alpha + 1) - psi_1(alpha + 1).

    That density makes the expected entropy uniform. Counts c_j of N samples give alpha the further weight
    Gamma(K alpha) / Gamma(K alpha + N) prod_j Gamma(c_j + alpha) / Gamma(alpha). The integral over log alpha is a sum
    over 400 points. K must come from elsewhere, as for `james-stein`; after one sample the mean is about log(K) / 2.

    size  the number of meanings K; None for 10, with a note

    >>> from semtropy.nouns import Evidence
    >>> beliefs = [Nsb(size)(Evidence(counts=(3, 1, 1))) for size in (5, 20, 100)]
    >>> [(round(each.mean, 4), round(each.variance, 4)) for each in beliefs]
    [(1.2199, 0.073), (1.6491, 0.2985), (1.8366, 0.5148)]
    """

    size: int | None = None
    name: ClassVar[str] = "nsb"

    def __post_init__(self) -> None:
        check_size(self.size)

    def posterior(self, counts: Counts) -> Posterior:
        size = max(self.size or DEFAULT_SIZE, len(counts))
        if size == 1:
            return Posterior(np.ones(1), np.zeros(1), np.zeros(1))
        log_alpha = np.linspace(LOWEST, HIGHEST, POINTS) - np.log(size) / 2
        alpha = np.exp(log_alpha)
        seen = np.array(counts, dtype=float)[:, None]
        n = seen.sum()
        slope = size * trigamma(size * alpha + 1) - trigamma(alpha + 1)
        evidence = gammaln(size * alpha) - gammaln(size * alpha + n)
        evidence += (gammaln(seen + alpha) - gammaln(alpha)).sum(axis=0)
        with np.errstate(divide="ignore"):
            weights = normalised(np.log(np.maximum(slope, 0.0)) + log_alpha + evidence)
        shape = np.vstack([seen + alpha, alpha])
        mass = np.vstack([seen + alpha, (size - len(counts)) * alpha])
        return Posterior(weights, *dirichlet_entropies(shape, mass))

    def notes(self, counts: Counts) -> tuple[str, ...]:
        return () if self.size else (UNTRAINED_SIZE,)

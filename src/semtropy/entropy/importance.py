"""The paper's integrator, for reproduction: self-normalised importance sampling with uniform proposals.

For alpha <= 0.5 its weights have infinite variance; `moments` is exact and faster. This is here so that the
paper's numbers can be made the paper's way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from ..errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["importance_moments"]


def importance_moments(
    counts: Floats,
    floors: Floats,
    sizes: Floats,
    alpha: float,
    rng: np.random.Generator | None,
    draws: int = 1000,
) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and log Z for each K from `draws` points spread evenly over the simplex above the floors."""
    if rng is None:
        raise InputError("the importance sampler draws at random: pass rng=numpy.random.default_rng(seed)")
    m, room = counts.size, 1.0 - floors.sum()
    rows = []
    for size in sizes.astype(int):
        power, lowest = np.full(size, alpha - 1.0), np.zeros(size)
        power[:m] += counts
        lowest[:m] = floors
        spacing = rng.standard_exponential((draws, size))
        b = lowest + room * spacing / spacing.sum(axis=1, keepdims=True)
        log_b = np.log(b)
        log_weight = log_b @ power
        top = log_weight.max()
        weight = np.exp(log_weight - top)
        h = -(b * log_b).sum(axis=1)
        mean = weight @ h / weight.sum()
        variance = weight @ (h - mean) ** 2 / weight.sum()
        # Evenly spread points have density Gamma(K) / room^(K - 1); unseen blocks leave Gamma(alpha) each to
        # the constant.
        log_volume = (size - 1) * np.log(room) - gammaln(size) - (size - m) * gammaln(alpha)
        rows.append((mean, variance, np.log(weight.mean()) + top + log_volume))
    table = np.array(rows)
    return table[:, 0], table[:, 1], table[:, 2]

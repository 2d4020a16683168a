"""What an unknown number of meanings does to a belief: the laws of total expectation and variance (paper, eq. 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["mix"]


def mix(weights: Floats, means: Floats, variances: Floats) -> tuple[float, float]:
    """Mean and variance of a mixture; weights need not sum to 1.

    >>> import numpy as np
    >>> mix(np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    (1.0, 1.5)
    """
    share = weights / weights.sum()
    mean = float(share @ means)
    return mean, float(share @ (variances + (means - mean) ** 2))

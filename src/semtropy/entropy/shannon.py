"""One probability's term in the Shannon entropy, -x log x, in nats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["entropy_term"]


def entropy_term(x: Floats) -> Floats:
    """-x log x for each probability x, 0 at x = 0.

    >>> entropy_term(np.array([0.25, 0.5])).round(6)
    array([0.346574, 0.346574])
    """
    return np.asarray(-xlogy(x, x), dtype=np.float64)

"""Quasi-Monte Carlo points: a rank-1 lattice in the unit cube, transformed so that functions need not be periodic.

The generating numbers were searched for one dimension at a time so that lattices of 2^8 to 2^18 points, all with
the same numbers, have a small worst-case error with weights 1 / j^2 on the dimensions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["MOST_DIMENSIONS", "lattice"]

# fmt: off
GENERATORS = (
    1, 119433, 55489, 46391, 24519, 41565, 94441, 237929, 34649, 161581, 43569, 117069, 175921, 100395, 109789,
    194873, 177125, 218375, 152025, 259575, 227551, 99635, 27285, 198497, 187215, 79513, 233749, 177037, 83919,
    140223, 253237, 57153, 93363, 166291, 169133, 57241, 260641, 14411, 152665, 130347, 220403, 231991, 158139,
    112905, 258081, 96821, 120801, 216735, 91335, 210007, 255965, 111321, 41059, 72965, 28235, 241537, 97157,
    249007, 243481, 257497, 226015, 60721, 221105, 155999,
)
# fmt: on
MOST_DIMENSIONS = len(GENERATORS)
SHIFT = (np.sqrt(5) - 1) / 2


SMOOTHED = 6  # in more dimensions the weights of the smoothing cost more than they gain


@lru_cache(maxsize=64)
def lattice(dimensions: int, points: int) -> tuple[Floats, Floats]:
    """`points` (a power of 2) rows in the open unit cube, and their weights.

    In few dimensions u = 3 v^2 - 2 v^3 flattens what a function does at the cube's faces; in many, points are
    folded. Each half of the points is also a lattice.

    >>> u, weight = lattice(1, 4)
    >>> u[:, 0].tolist(), weight.tolist()
    ([0.04296875, 0.68359375, 0.31640625, 0.95703125], [0.65625, 1.40625, 1.40625, 0.65625])
    """
    index = np.concatenate([np.arange(0, points, 2), np.arange(1, points, 2)]) if points > 1 else np.zeros(1)
    if dimensions == 1:
        v: Floats = ((index + 0.5) / points)[:, None]
    else:
        shift = np.modf(SHIFT * np.arange(1, dimensions + 1))[0]
        v = np.modf(index[:, None] * (np.array(GENERATORS[:dimensions]) % points / points) + shift)[0]
    if dimensions <= SMOOTHED:
        u, weight = v * v * (3 - 2 * v), np.prod(6 * v * (1 - v), axis=1)
    else:
        u, weight = 1 - np.abs(2 * v - 1), np.ones(points)
    u = np.clip(u, 1e-14, 1 - 1e-14)
    u.flags.writeable = weight.flags.writeable = False
    return u, weight

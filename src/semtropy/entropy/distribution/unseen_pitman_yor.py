"""The distribution of the entropy of a Pitman-Yor process: an unbounded number of meanings, none of them seen.

By stick breaking (Pitman and Yor, Ann. Probab. 1997) the first meaning found takes a share w of the mass, Beta(1 -
discount, concentration + discount), and the rest is split by such a process again, its concentration higher by the
discount:

    h = H2(w) + (1 - w) h',     H2 the entropy of two outcomes.

So each table is made from that of the next concentration by an integral over w alone. The recursion starts at a
concentration where the distribution is a bell: there it is taken to be a reflected gamma distribution with the
right first three moments (`unseen_moments`). That start is off by up to 0.005; each step down
reduces the error, to 2e-5 at half the concentration.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .qmc import lattice
from .unseen_dirichlet import joined_table
from .unseen_moments import block_moments, gamma_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .entropy_table import EntropyTable

    Floats = NDArray[np.float64]

__all__ = ["pitman_yor_table"]

POINTS = 512
BELL = 8.0  # from this concentration on, three moments determine the distribution well enough
BELOW, ABOVE = 12.0, 8.0  # standard deviations on either side of the mean


@lru_cache(maxsize=4096)
def pitman_yor_table(concentration: float, discount: float) -> EntropyTable:
    """The distribution function of the entropy, for any concentration above 0 and a discount between 0 and 1.

    >>> import numpy as np
    >>> pitman_yor_table(1.0, 0.25).cdf(np.array([0.5, 1.5, 3.0])).round(3)
    array([0.047, 0.471, 0.999])
    """
    mean, sd = block_moments(-discount, concentration)
    low, high = max(0.0, mean - BELOW * sd), mean + ABOVE * sd
    if concentration >= BELL:
        return gamma_table(-discount, concentration, (low, high))
    above = [concentration]
    while above[-1] + discount < BELL:
        above.append(above[-1] + discount)
    for c in above[:0:-1]:  # fills the cache from the top: a small discount would exceed the recursion limit
        pitman_yor_table(c, discount)
    rest = pitman_yor_table(concentration + discount, discount)
    return joined_table(1 - discount, concentration + discount, rest, (low, high), *lattice(1, POINTS))

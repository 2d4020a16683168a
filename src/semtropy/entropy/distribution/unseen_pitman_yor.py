"""The distribution of the entropy of a Pitman-Yor process: an unbounded number of meanings, none of them seen.

By stick breaking (Pitman and Yor, Ann. Probab. 1997) the first meaning found takes a share w of the mass,
Beta(1 - discount, concentration + discount), and the rest is split by such a process again, its concentration higher
by the discount:

    h = H2(w) + (1 - w) h',     H2 the entropy of two outcomes.

So each table is made from that of the next concentration by an integral over w alone. The recursion starts at a
concentration where the distribution is a bell: there it is taken to be a reflected gamma distribution with the right
first three moments (`unseen_moments`). That start is off by up to 0.005 at a concentration of 8; each step down reduces
the error, to 2e-5 at half the concentration.

A small discount would need hundreds of steps. There, the recursion is solved at a few concentrations, the rungs of a
ladder, where h' has nearly the distribution of h: as a fixed point, h' interpolated between the rung and the one above.
Any other table is four steps below an interpolated one. It differs from that of the full recursion by 5e-4 at most.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .entropy_table import EntropyTable, graded_points
from .qmc import lattice
from .unseen_dirichlet import joined_table
from .unseen_moments import block_moments, gamma_table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["pitman_yor_table"]

POINTS = 512
BELL, LADDER_TOP = (
    8.0,
    16.0,
)  # from these concentrations on, three moments determine the distribution well enough
BELOW, ABOVE = 12.0, 8.0  # standard deviations on either side of the mean
MOST_STEPS = 64  # of the full recursion
RUNG_RATIO, ITERATIONS, SETTLED = 1.4, 6, 2e-4
STEPS_BELOW = 4  # from an interpolated table to the one asked for


@lru_cache(maxsize=4096)
def pitman_yor_table(concentration: float, discount: float) -> EntropyTable:
    """The distribution function of the entropy, for any concentration above 0 and a discount between 0 and 1.

    >>> import numpy as np
    >>> pitman_yor_table(1.0, 0.25).cdf(np.array([0.5, 1.5, 3.0])).round(3)
    array([0.047, 0.471, 0.999])
    """
    if concentration >= BELL:
        return _gamma(concentration, discount)
    if (BELL - concentration) / discount > MOST_STEPS:
        start = concentration + STEPS_BELOW * discount
        table = _interpolated(_ladder(discount), start, discount)
        for i in reversed(range(STEPS_BELOW)):
            table = _step(concentration + i * discount, discount, table)
        return table
    return _step(concentration, discount, pitman_yor_table(concentration + discount, discount))


class _Rung(NamedTuple):
    """A concentration and its table."""

    concentration: float
    table: EntropyTable


def _window(concentration: float, discount: float) -> tuple[float, float]:
    mean, sd = block_moments(-discount, concentration)
    return max(0.0, mean - BELOW * sd), mean + ABOVE * sd


def _gamma(concentration: float, discount: float) -> EntropyTable:
    return gamma_table(-discount, concentration, _window(concentration, discount))


def _step(concentration: float, discount: float, rest: EntropyTable) -> EntropyTable:
    """The table of a concentration from that of the next, `concentration + discount`."""
    second, window = concentration + discount, _window(concentration, discount)
    return joined_table(1 - discount, second, rest, window, *lattice(1, POINTS))


def _interpolated(rungs: Sequence[_Rung], concentration: float, discount: float) -> EntropyTable:
    """Between two rungs, ascending: distributions shifted and scaled to the right mean and deviation, averaged."""
    i = min(sum(rung.concentration <= concentration for rung in rungs), len(rungs) - 1)
    low, high = rungs[max(i - 1, 0)], rungs[i]
    upper = 1.0
    if high.concentration > low.concentration:
        upper = log(concentration / low.concentration) / log(high.concentration / low.concentration)
    window = _window(concentration, discount)
    mean, sd = block_moments(-discount, concentration)
    z = (graded_points(*window) - mean) / sd
    value = np.zeros(z.size)
    for rung, weight in ((low, 1 - upper), (high, upper)):
        own_mean, own_sd = block_moments(-discount, rung.concentration)
        value += weight * rung.table.cdf(own_mean + own_sd * z)
    return EntropyTable.through(*window, value)


@lru_cache(maxsize=64)
def _ladder(discount: float) -> tuple[_Rung, ...]:
    """Rungs from a concentration below the discount to one where the distribution is a bell, ascending."""
    rungs = [_Rung(LADDER_TOP, _gamma(LADDER_TOP, discount))]
    while rungs[0].concentration > discount:
        above = rungs[0]
        concentration = above.concentration / RUNG_RATIO
        table = _interpolated([above], concentration, discount)
        for _ in range(ITERATIONS):
            near = [_Rung(concentration, table), *rungs]
            better = _step(concentration, discount, _interpolated(near, concentration + discount, discount))
            change = float(np.abs(better.value - table.value).max())
            table = better
            if change < SETTLED:
                break
        rungs.insert(0, _Rung(concentration, table))
    return tuple(rungs)

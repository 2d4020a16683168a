"""One component of a posterior: a product density over meaning probabilities, and the range of entropies it allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import fsum, log
from typing import TYPE_CHECKING

from ..contour import exact_room
from .sampling import unseen_meanings
from .unseen_pitman_yor import pitman_yor_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["PosteriorComponent"]


@dataclass(frozen=True, slots=True)
class PosteriorComponent:
    """A product density over meanings (see contour.py) and its weight in the posterior.

    Seen meaning j has the factor x^p (x - floor)^(q - 1) of its probability x. The unseen meanings have a Dirichlet
    `mass` in all, `alpha` each; where `alpha` is negative they are a Pitman-Yor process of discount -alpha and
    concentration `mass`.
    """

    weight: float
    p: Floats
    q: Floats
    floors: Floats
    mass: float
    alpha: float

    @property
    def unseen(self) -> int | None:
        """The number of unseen meanings; None where it is unbounded."""
        return unseen_meanings(self.mass, self.alpha)

    def support(self) -> tuple[float, float]:
        """The least entropy (all the room given to one meaning) and the largest (as even as the bounds allow).

        With an unbounded number of meanings, the largest is exceeded with a probability of about 1e-9.
        """
        room = exact_room(self.floors)
        least = _least(tuple(self.floors.tolist()), room, self.mass > 0)
        if self.unseen is None:
            return least, log(self.floors.size + 1) + room * pitman_yor_table(self.mass, -self.alpha).high
        return least, max(least, self._largest(self.floors.size + self.unseen))

    def _largest(self, meanings: int) -> float:
        """Meanings whose lower bound is above an even share of the rest stay at it; the others share the rest."""
        if self.floors.max() * meanings <= 1:
            return log(meanings)
        above, rest, others = 0.0, 1.0, meanings
        for floor in sorted(self.floors.tolist(), reverse=True):
            if floor * others <= rest:
                break
            above, rest, others = above - floor * log(floor), rest - floor, others - 1
        return above - rest * log(rest / others) if others and rest > 0 else above


@lru_cache(maxsize=1024)
def _least(floors: tuple[float, ...], room: float, unseen: bool) -> float:
    """The entropy with all the room given to the meaning, seen or not, where it makes the least of it."""
    terms = [-floor * log(floor) if floor > 0 else 0.0 for floor in floors]
    changes = [-(floor + room) * log(floor + room) - term for floor, term in zip(floors, terms, strict=True)]
    best = min(*changes, -room * log(room)) if unseen else min(changes)
    return max(0.0, fsum(terms) + best)

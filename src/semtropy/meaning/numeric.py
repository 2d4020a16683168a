"""The judge of numbers and dates: equal amounts mean the same, other texts where their spelling does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .normal import normalise
from .quantity import settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Floats
    from .partition import Triple

__all__ = ["Numeric"]


class Numeric:
    """Numbers as numbers and dates as dates; anything else as `Normalised` would.

    >>> Numeric().entails([("", "12", "twelve"), ("", "5 km", "5000 m"), ("", "12", "13")]).tolist()
    [1.0, 1.0, 0.0]
    """

    name = "numeric"

    def entails(self, batch: Sequence[Triple]) -> Floats:
        return np.array([_entails(a, b) for _, a, b in batch])


def _entails(a: str, b: str) -> float:
    known = settled(a, b)
    return float(normalise(a) == normalise(b) if known is None else known)

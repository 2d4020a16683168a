"""The judge of numbers and dates: equal amounts mean the same, other texts where their spelling does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import settled
from .normal import normalise

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
        return np.array([_entails(*triple) for triple in batch])


def _entails(question: str, a: str, b: str) -> float:
    known = settled(a, b, question)
    return float(normalise(a) == normalise(b) if known is None else known)

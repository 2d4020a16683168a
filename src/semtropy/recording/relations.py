"""The relations of a question's texts: which entails or contradicts which, judged once for every pairwise method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Relations"]

DECIMALS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Relations:
    """Probabilities of entailment and contradiction between distinct texts; what is left of 1 is neutral.

    texts        the distinct texts
    entails      entails[i, j]: the probability that text i entails text j; 1 where i = j
    contradicts  contradicts[i, j]: the probability that text i contradicts text j; 0 where i = j

    >>> held = Relations.of_json({"texts": ["4", "four"], "entails": [[1, 0.9], [0.8, 1]], "contradicts": None})
    >>> held.places(["four", "4", "four"]), held.places(["five"])
    ([1, 0, 1], None)
    """

    texts: tuple[str, ...]
    entails: Floats
    contradicts: Floats

    @classmethod
    def of_json(cls, held: Mapping[str, Any]) -> Relations:
        """From the value of `relations` in a row; a judge that tells entailment alone leaves `contradicts` null."""
        size = len(held["texts"])
        entails = np.array(held["entails"], dtype=float).reshape(size, size)
        known = held.get("contradicts")
        contradicts = np.zeros((size, size)) if known is None else np.array(known, dtype=float)
        np.fill_diagonal(entails, 1.0)
        np.fill_diagonal(contradicts, 0.0)
        return cls(tuple(held["texts"]), entails, contradicts.reshape(size, size))

    @staticmethod
    def to_json(texts: Sequence[str], entails: Floats, contradicts: Floats | None) -> dict[str, Any]:
        """The value of `relations` in a row, rounded to four decimals."""
        return {
            "texts": list(texts),
            "entails": np.round(entails, DECIMALS).tolist(),
            "contradicts": None if contradicts is None else np.round(contradicts, DECIMALS).tolist(),
        }

    def places(self, texts: Sequence[str]) -> list[int] | None:
        """The place of each text, or None where one of them was not related."""
        known = {text: place for place, text in enumerate(self.texts)}
        found = [known[text] for text in texts if text in known]
        return found if len(found) == len(texts) else None

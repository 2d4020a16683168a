"""The judges that compare spelling: identical text, and normalised text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .normal import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..nouns import Floats
    from .partition import Triple

__all__ = ["Exact", "Normalised"]


class Exact:
    """Only identical texts mean the same.

    >>> Exact().entails([("", "Paris", "Paris"), ("", "Paris", "paris")]).tolist()
    [1.0, 0.0]
    """

    name = "exact"

    def entails(self, batch: Sequence[Triple]) -> Floats:
        return np.array([float(a == b) for _, a, b in batch])


class Normalised:
    """Texts that differ only in case, spacing, enclosing marks, closing stops or a leading article are one.

    >>> Normalised().entails([("", "the Eiffel Tower.", "Eiffel tower")]).tolist()
    [1.0]
    """

    name = "normalised"

    def entails(self, batch: Sequence[Triple]) -> Floats:
        return np.array([float(normalise(a) == normalise(b)) for _, a, b in batch])

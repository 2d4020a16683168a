"""Figures of a judge: areas under the curve by source, and the adjusted Rand index of groupings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .pairs import ENTAILMENT, Pair

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The probability that an entailing pair scores above another one, ties counting half.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    ranks = np.empty(len(scores))
    # Ties share the mean of their ranks.
    _, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    ranks[order] = np.repeat(first + (counts + 1) / 2, counts)
    n, m = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))


def aucs(pairs: Sequence[Pair], scores: np.ndarray) -> dict[str, float]:
    """By source, and the probe as a whole."""
    labels = np.array([pair.label == ENTAILMENT for pair in pairs])
    sources = np.array([pair.source for pair in pairs])
    figures: dict[str, float] = {}
    groups = {source: sources == source for source in sorted(set(sources))}
    groups |= {name: np.char.startswith(sources, name) for name in ("probe", "fresh", "related")}
    for source, chosen in groups.items():
        chosen = chosen & np.isfinite(scores)
        if len(set(labels[chosen])) == 2:
            figures[source] = round(auc(scores[chosen], labels[chosen]), 4)
    return figures


def adjusted_rand(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """The adjusted Rand index of two groupings of the same things; 1 where both put all together or all apart.

    >>> adjusted_rand([0, 0, 1, 1], [5, 5, 7, 7]), round(adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1]), 3)
    (1.0, -0.5)
    """
    cells = _pairs(Counter(zip(one, other, strict=True)))
    rows, columns = _pairs(Counter(one)), _pairs(Counter(other))
    expected = rows * columns / max(len(one) * (len(one) - 1) / 2, 1)
    most = (rows + columns) / 2
    return 1.0 if most == expected else (cells - expected) / (most - expected)


def _pairs(counts: Counter[Hashable]) -> float:
    return sum(count * (count - 1) / 2 for count in counts.values())

"""A tree of the sequences drawn so far, from which further ones are drawn without replacement.

K. Shi, D. Bieber, C. Sutton, "Incremental sampling without replacement for sequence models", ICML 2020. Every node
holds how much of its probability has not been drawn; a draw goes down the tree with each next token's probability
multiplied by that share, so that it never repeats a sequence and each of the others keeps its odds:

    P(next draw is s | drawn so far) = p(s) / (1 - summed probability of those drawn).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["SeenTree"]

LEAST_UNSEEN = 1e-6
"""Log-probabilities are sums of rounded 32-bit numbers: probability below this is indistinguishable from none."""


@dataclass(slots=True)
class SeenTree:
    """A prefix of the sequences drawn; the root stands for the empty one.

    probability  of its last token after the prefix before it
    unseen       the share of its probability that has not been drawn
    children     the prefixes with one token more, by token

    >>> tree = SeenTree()
    >>> tree.add([5, 0], [0.5, 0.8]), tree.add([5, 0], [0.5, 0.8])
    (True, False)
    >>> round(tree.unseen, 6), round(tree.children[5].unseen, 6)
    (0.6, 0.2)
    """

    probability: float = 1.0
    unseen: float = 1.0
    children: dict[int, SeenTree] = field(default_factory=dict)

    @property
    def exhausted(self) -> bool:
        """Whether every sequence has been drawn, as far as the precision of the log-probabilities tells."""
        return self.unseen < LEAST_UNSEEN

    def add(self, tokens: Sequence[int], probabilities: Sequence[float]) -> bool:
        """Mark a whole sequence as drawn, with each token's probability; False if it was drawn before."""
        path = [self]
        for token, probability in zip(tokens, probabilities, strict=True):
            path.append(path[-1].children.setdefault(token, SeenTree(probability)))
        if path[-1].unseen == 0.0:
            return False
        path[-1].unseen = 0.0
        for node in reversed(path[:-1]):
            seen = math.fsum(child.probability * (1.0 - child.unseen) for child in node.children.values())
            node.unseen = max(0.0, 1.0 - seen)
        return True

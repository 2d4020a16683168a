"""A distribution over answers as a model over tokens: the next token given those before it, the end among them."""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

__all__ = ["END", "TokenModel", "tokens_of"]

END = "<|im_end|>"
Drawn = list[tuple[str, float]]


def tokens_of(text: str) -> list[str]:
    """Words with the space before them.

    >>> tokens_of("New York")
    ['New', ' York']
    """
    return re.findall(r"\s*\S+", text)


class TokenModel:
    """Draws answers token by token, so that any temperature and any given answer have exact probabilities.

    >>> model = TokenModel({"New York": 0.6, "New Orleans": 0.2, "Paris": 0.2})
    >>> [(token, round(math.exp(logprob), 2)) for token, logprob in model.weighed(["New", " York"])]
    [('New', 0.8), (' York', 0.75), ('<|im_end|>', 1.0)]
    """

    def __init__(self, answers: Mapping[str, float]) -> None:
        total = math.fsum(answers.values())
        self._next: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for text, weight in answers.items():
            tokens = [*tokens_of(text), END]
            for place, token in enumerate(tokens):
                self._next[tuple(tokens[:place])][token] += weight / total

    def draw(self, temperature: float, rng: random.Random, limit: int) -> Drawn:
        """Tokens with their log-probabilities before the temperature; the last is the end unless the limit cut it."""
        drawn: Drawn = []
        while len(drawn) < limit and not (drawn and drawn[-1][0] == END):
            shares = self._shares(tuple(token for token, _ in drawn))
            weights = [share ** (1 / max(temperature, 0.01)) for share in shares.values()]
            (token,) = rng.choices(list(shares), weights)
            drawn.append((token, math.log(shares[token])))
        return drawn

    def weighed(self, tokens: Sequence[str], *, end: bool = True) -> Drawn:
        """Given tokens and the end after them, with their log-probabilities; -20 for what is never said."""
        whole = [*tokens, *([END] if end else [])]
        found: Drawn = []
        for place, token in enumerate(whole):
            share = self._shares(tuple(whole[:place])).get(token, 0.0)
            found.append((token, math.log(share) if share else -20.0))
        return found

    def _shares(self, before: tuple[str, ...]) -> dict[str, float]:
        if before not in self._next:
            return {END: 1.0}
        found = self._next[before]
        total = math.fsum(found.values())
        return {token: share / total for token, share in found.items()}

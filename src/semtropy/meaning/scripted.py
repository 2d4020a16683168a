"""A judge with given answers: for tests, and for runs on meanings known beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..nouns import Floats
    from .partition import Triple

__all__ = ["ScriptedJudge"]


class ScriptedJudge:
    """A judge with given answers, for tests; `asked` lists what it was asked.

    script   a table of pairs (a, b), or a function of (question, a, b), with probabilities
    default  the probability of a pair that is not in the table

    An answer entails itself. A pair missing from the table gets `default`; without one it is an error, so
    that a test cannot pass by accident.

    >>> judge = ScriptedJudge({("Paris, France", "Paris"): 0.9}, default=0.0)
    >>> judge.entails([("", "Paris, France", "Paris"), ("", "Paris", "Paris, France")]).tolist()
    [0.9, 0.0]
    >>> len(judge.asked)
    2
    """

    name = "scripted"

    def __init__(
        self,
        script: Mapping[tuple[str, str], float] | Callable[[str, str, str], float],
        *,
        default: float | None = None,
    ) -> None:
        self._script, self._default = script, default
        self.asked: list[Triple] = []

    def entails(self, batch: Sequence[Triple]) -> Floats:
        """The scripted probability of each triple (question, a, b)."""
        self.asked.extend(batch)
        return np.array([self._look_up(*triple) for triple in batch], dtype=float)

    def _look_up(self, question: str, a: str, b: str) -> float:
        if callable(self._script):
            return float(self._script(question, a, b))
        if a == b:
            return 1.0
        value = self._script.get((a, b), self._default)
        if value is None:
            raise InputError(f"the scripted judge has no line for ({a!r}, {b!r}): add one, or give default=")
        return float(value)

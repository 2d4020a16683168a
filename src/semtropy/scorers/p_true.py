"""`p-true`: one minus the probability that the model itself gives to its answer being true (Kadavath et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from .base import JudgedRow

__all__ = ["AnswerTruth", "PTrue"]


@dataclass(frozen=True, slots=True)
class AnswerTruth:
    """P(True) of the judged answer, by the model that gave it."""

    column: ClassVar[str] = "p_true"
    probability: float

    @classmethod
    def of_row(cls, row: JudgedRow) -> Self | None:
        """Read P(True), or return None where the model was not asked."""
        return None if row.p_true is None else cls(row.p_true)


class PTrue:
    """The less the model trusts its own answer, the more suspicious.

    >>> PTrue()(AnswerTruth(0.75))
    0.25
    """

    name = "p-true"
    sees = AnswerTruth
    unit = None

    def __call__(self, judged: AnswerTruth) -> float:
        return 1.0 - judged.probability

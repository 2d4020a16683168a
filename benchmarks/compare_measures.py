"""The measures of `benchmarks.compare`: AUROC, AURAC and rank correlation, with intervals of paired differences.

All intervals are 95% ones of a bootstrap of questions and draws together, on the same resamples for every method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from semtropy.study.evaluate.metrics import (
    accuracy_rejection_area,
    auroc,
    interval,
    resampled_auroc,
    round_scores,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["REFERENCE", "Gap", "Measured", "Outcome", "mean_gap"]

REFERENCE, RESAMPLES = "bayes", 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """One method on one recording with one number of samples.

    half_width  of the interval of the AUROC
    tied        whether the best method at this number of samples is not better beyond chance
    """

    auroc: float
    half_width: float
    tied: bool
    aurac: float
    rank: float


@dataclass(frozen=True, slots=True)
class Gap:
    """A method minus a reference at the same number of samples; `low` and `high` bound the difference of AUROCs."""

    auroc: float
    low: float
    high: float
    aurac: float
    rank: float
    recordings: int = 1


@dataclass(frozen=True)
class Measured:
    """All methods on one recording, by name and number of samples."""

    name: str
    held: Mapping[str, Any]

    @property
    def methods(self) -> list[str]:
        """The names of the methods, ours first."""
        return list(self.held["scores"])

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether each answer is wrong."""
        return np.array(self.held["wrong"], dtype=bool)

    @cached_property
    def scores(self) -> dict[tuple[str, int], Floats]:
        """Scores of shape (draws, questions)."""
        return {
            (name, int(n)): round_scores(np.array(rows, dtype=float))
            for name, own in self.held["scores"].items()
            for n, rows in own.items()
        }

    @cached_property
    def resamples(self) -> dict[tuple[str, int], Floats]:
        """The AUROCs on the resamples."""
        wrong = self.wrong
        return {key: resampled_auroc(drawn, wrong, resamples=RESAMPLES) for key, drawn in self.scores.items()}

    @cached_property
    def outcomes(self) -> dict[tuple[str, int], Outcome]:
        """What is measured of each method at each number of samples."""
        wrong, truth = self.wrong, np.array(self.held["truth"])
        areas = {key: float(auroc(drawn, wrong).mean()) for key, drawn in self.scores.items()}
        found = {}
        for key, drawn in self.scores.items():
            best = max((each for each in areas if each[1] == key[1]), key=areas.__getitem__)
            low, high = interval(self.resamples[key])
            found[key] = Outcome(
                auroc=areas[key],
                half_width=(high - low) / 2,
                tied=best == key or interval(self.resamples[key] - self.resamples[best])[1] >= 0,
                aurac=float(accuracy_rejection_area(drawn, wrong).mean()),
                rank=float(np.mean([_rank_correlation(row, truth) for row in drawn])),
            )
        return found

    def gap(self, method: str, n: int, reference: str = REFERENCE) -> Gap | None:
        """The method minus the reference; None where one of them has no score."""
        return mean_gap([self], method, n, reference)


def mean_gap(every: Sequence[Measured], method: str, n: int, reference: str = REFERENCE) -> Gap | None:
    """The mean over the recordings on which both the method and the reference have scores; None without any."""
    ours, theirs = (method, n), (reference, n)
    both = [each for each in every if ours in each.outcomes and theirs in each.outcomes]
    if not both:
        return None
    low, high = interval(np.mean([each.resamples[ours] - each.resamples[theirs] for each in both], axis=0))
    found = [(each.outcomes[ours], each.outcomes[theirs]) for each in both]
    return Gap(
        float(np.mean([a.auroc - b.auroc for a, b in found])),
        low,
        high,
        float(np.mean([a.aurac - b.aurac for a, b in found])),
        float(np.mean([a.rank - b.rank for a, b in found])),
        len(both),
    )


def _rank_correlation(scores: Floats, truth: Floats) -> float:
    """Spearman's; 0 where the scores are all alike."""
    from scipy.stats import spearmanr

    return 0.0 if np.ptp(scores) == 0 else float(spearmanr(scores, truth).statistic)

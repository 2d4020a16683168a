"""The inverse distribution function of one meaning's share of a total, tabulated in logits.

With z the logit of the share, the table holds z against the logit of its cumulative probability. Both tails of that
function are straight lines, however small the powers of the density are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .hermite import cubic_and_slope, interpolate, limited_slopes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["LOGITS", "ShareTable", "at_logits"]

LOGITS = np.linspace(-16, 16, 65)
STEP = LOGITS[1] - LOGITS[0]


@dataclass(frozen=True, slots=True)
class ShareTable:
    """z against the logit of its cumulative probability: one row for each total in `log_rest`, ascending."""

    log_rest: Floats
    z: Floats
    slope: Floats

    def draw(self, u: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
        """z at the cumulative probability u, and log dz/du; rows are interpolated linearly in log_rest."""
        logit = np.log(u) - np.log1p(-u)
        at = np.clip((logit - LOGITS[0]) / STEP, 0, LOGITS.size - 1)
        cell = np.minimum(at.astype(np.intp), LOGITS.size - 2)
        beyond = logit - np.clip(logit, LOGITS[0], LOGITS[-1])
        rows = self.log_rest
        if rows.size == 1:
            z, slope = self._row(0, cell, at - cell)
        else:
            row = np.clip(np.searchsorted(rows, log_rest, side="right") - 1, 0, rows.size - 2)
            upper = np.clip((log_rest - rows[row]) / (rows[row + 1] - rows[row]), 0, 1)
            z, slope = self._row(row, cell, at - cell)
            z_up, slope_up = self._row(row + 1, cell, at - cell)
            z, slope = z + upper * (z_up - z), slope + upper * (slope_up - slope)
        return z + beyond * slope, np.log(slope) - np.log(u) - np.log1p(-u)

    def _row(self, row: int | NDArray[np.intp], cell: NDArray[np.intp], s: Floats) -> tuple[Floats, Floats]:
        ends = self.slope[row, cell] * STEP, self.slope[row, cell + 1] * STEP
        z, slope = cubic_and_slope(s, self.z[row, cell], self.z[row, cell + 1], *ends)
        return z, slope / STEP


def at_logits(x: Floats, f: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Values and slopes at LOGITS of the rising cubic through (x, f) with slopes d."""
    keep = np.concatenate([[True], np.diff(x) > 1e-9])
    x, f = x[keep], f[keep]
    value, slope = interpolate(x, f, limited_slopes(x, f, d[keep]), LOGITS)
    return value, limited_slopes(LOGITS, value, slope)

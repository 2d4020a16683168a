"""The reliability figure of a calibration: observed frequency against predicted probability, held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..evaluate.report.figures import blank_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .fit import FittedCalibration

__all__ = ["draw_reliability"]


def draw_reliability(fitted: FittedCalibration) -> Figure:
    """Draw the reliability diagram; points on the diagonal are calibrated, their area is the share of answers.

    The bars are 95% intervals over questions.
    """
    figure, axes = blank_figure(4.0, 4.1)
    share = np.array([each.answers for each in fitted.bins]) / sum(each.answers for each in fitted.bins)
    predicted = [each.probability for each in fitted.bins]
    observed = [each.frequency for each in fitted.bins]
    axes.plot([0, 1], [0, 1], color="#7F7F7F", linewidth=1.0, dashes=(4, 2), label="perfect")
    bars = [[each.frequency - each.low, each.high - each.frequency] for each in fitted.bins]
    axes.errorbar(
        predicted, observed, np.array(bars).T, color="#0072B2", linewidth=1.2, elinewidth=1.0, capsize=2.0
    )
    axes.scatter(predicted, observed, s=15 + 300 * share, color="#0072B2", zorder=3, label="held-out answers")
    if fitted.calibration.threshold is not None:
        axes.axvline(
            fitted.calibration.threshold, color="#D55E00", linewidth=1.2, label="flagged to the right"
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xlabel("probability of a hallucination")
    axes.set_ylabel("share that were hallucinations")
    axes.set_title(f"{fitted.calibration.estimator}: calibration error {fitted.ece:.3f}", fontsize=10)
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    about = fitted.calibration.about
    figure.supxlabel(
        f"n = {about['questions']} questions, {about['wrong'] / about['questions']:.0%} answered wrongly. "
        "Bars: 95% over questions.",
        fontsize=7,
        x=0.01,
        ha="left",
    )
    return figure

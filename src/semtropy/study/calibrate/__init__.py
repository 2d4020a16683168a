"""Calibrate an estimator: fit the probability of a hallucination given the belief, on a graded recording."""

from __future__ import annotations

from .fit import FittedCalibration, ReliabilityBin, fit_calibration, threshold_for
from .reliability import draw_reliability

__all__ = ["FittedCalibration", "ReliabilityBin", "draw_reliability", "fit_calibration", "threshold_for"]

"""Calibrate an estimator: fit the probability of a hallucination given the belief, on a graded recording."""

from __future__ import annotations

from .fit import FittedCalibration, fit_calibration

__all__ = ["FittedCalibration", "fit_calibration"]

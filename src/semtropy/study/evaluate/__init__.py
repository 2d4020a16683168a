"""Evaluate estimators on recordings: AUROC at fixed and adaptive budgets, with intervals, tables and figures."""

from __future__ import annotations

from .prepare import METHODS
from .report import summary, write_study
from .resample import ResamplingPlan
from .results import Results
from .run import estimate_recordings, evaluate
from .split import Split

__all__ = [
    "METHODS",
    "ResamplingPlan",
    "Results",
    "Split",
    "estimate_recordings",
    "evaluate",
    "summary",
    "write_study",
]

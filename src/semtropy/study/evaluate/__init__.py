"""Evaluate estimators on recordings: AUROC at fixed and adaptive budgets, with intervals, tables and figures."""

from __future__ import annotations

from .prepare import METHODS
from .report import summary, write_study
from .results import Results
from .run import evaluate

__all__ = ["METHODS", "Results", "evaluate", "summary", "write_study"]

"""The report of an evaluation: tables, figures and one HTML page."""

from __future__ import annotations

from .write import summary, write_study

__all__ = ["summary", "write_study"]

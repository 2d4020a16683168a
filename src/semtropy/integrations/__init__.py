"""Adapters for other tools: each passes the tool's answers, or a model that draws them, to the same check.

Each adapter is a module with the name of its tool, and needs the tool's package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..verdict import steadiness
    from .bridge import Bridge

__all__ = ["Bridge", "steadiness"]
_HOME = {"Bridge": ".bridge", "steadiness": "..verdict"}


def __getattr__(name: str) -> Any:
    """Load on first use: the pytest plugin is imported by every run of pytest, and must cost nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)

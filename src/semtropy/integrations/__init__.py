"""Adapters for tools that hold answers already: each hands samples to one bridge, and none samples in another way.

Each adapter is a module with the name of its tool, which needs the tool's package.
"""

from __future__ import annotations

from ..steadiness import steadiness
from .bridge import Bridge

__all__ = ["Bridge", "steadiness"]

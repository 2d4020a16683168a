"""Compiled forms of the hottest loops of `semtropy.entropy`; None where no compiler was at hand."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _compiled(name: str) -> Any:
    try:
        return import_module(f".{name}", __name__)
    except ImportError:
        return None


contour, distribution = _compiled("contour"), _compiled("distribution")

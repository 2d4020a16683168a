"""Scores of a judged answer, higher meaning more suspicious: one file each, one line each in the registry below.

A scorer looks at the answer itself, not at samples, so its score is the same at every budget. It is not an
entropy: it orders answers, and has neither a variance nor a threshold in nats. What it reads is a frozen input
type (`sees`), which knows how to read itself from a row of a recording (`of_row`) and which column it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import InputError
from .base import JudgedRow, Scorer, ScorerInput

__all__ = ["NAMES", "JudgedRow", "Scorer", "ScorerInput", "load_scorer"]

_REGISTRY = {
    "length": ("length", "Length"),
    "log-likelihood": ("log_likelihood", "LogLikelihood"),
    "p-true": ("p_true", "PTrue"),
}
NAMES = tuple(_REGISTRY)


def load_scorer(name: str) -> Scorer[Any]:
    """Return the scorer called `name`.

    name  one of `semtropy.scorers.NAMES`

    >>> load_scorer("length").sees.column
    'answer.text'
    """
    if name not in _REGISTRY:
        raise InputError(f"no scorer is called {name!r}: choose one of {', '.join(NAMES)}")
    module, attribute = _REGISTRY[name]
    made: Scorer[Any] = getattr(import_module(f".{module}", __name__), attribute)()
    return made

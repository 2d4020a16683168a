"""Scores of a judged answer, higher meaning more suspicious.

A scorer looks at the answer itself, not at samples, so its score is the same at every budget. It is not an
entropy: it orders answers, and has neither a variance nor a threshold in nats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from .base import Scorer

__all__ = ["NAMES", "load_scorer"]

# One file for each scorer, and one line here.
_REGISTRY = {
    "length": ("length", "Length"),
    "log-likelihood": ("log_likelihood", "LogLikelihood"),
    "p-true": ("p_true", "PTrue"),
}
NAMES = tuple(_REGISTRY)
"""The names that `load_scorer` knows."""


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

"""Judges by name: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputError
from .cached import Cached
from .exact import Exact, Normalised
from .numeric import Numeric

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..nouns import Judge, Model

__all__ = ["NAMES", "load_judge"]

NAMES = ("builtin", "exact", "normalised", "numeric", "nli:NAME_OR_PATH", "llm", "llm:MODEL")
"""The names that `load_judge` knows."""
_SPELLING: dict[str, Callable[[], Judge]] = {"exact": Exact, "normalised": Normalised, "numeric": Numeric}


def load_judge(
    name: str | None = None, *, cache: str | Path | None = None, model: Model | None = None
) -> Judge:
    """The judge of that name; None is the default one, which ships with the package.

    name   one of `NAMES`; None for the built-in judge
    cache  an SQLite file that keeps judgements between runs and processes; they are always kept in memory
    model  the model that "llm" asks: `check` gives the one that it checks

    >>> load_judge("numeric").entails([("What is 6 + 6?", "12", "twelve")]).tolist()
    [1.0]
    """
    name = "builtin" if name is None else name
    kind, _, rest = name.partition(":")
    if name in _SPELLING:
        return _SPELLING[name]()
    if name == "builtin":
        from .builtin import Builtin

        return Cached(Builtin(), path=cache)
    if kind == "nli" and rest:
        from .nli import load_nli

        return Cached(load_nli(rest), path=cache)
    if name == "llm" or (kind == "llm" and rest):
        from .llm import load_llm

        return Cached(load_llm(rest, model), path=cache)
    raise InputError(f"no judge is called {name!r}: choose one of {', '.join(NAMES)}")

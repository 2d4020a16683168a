"""Scores of a judged answer, higher meaning more suspicious.

A scorer of the answer alone has the same score at every budget. A scorer of samples reads them in another form than
an estimator's evidence: with the relations between their texts, say. What a scorer reads is a frozen input type
(`sees`), which knows how to read itself from a row of a recording (`of_row`) and which column it needs; one that holds
samples also knows how to `pick` some of them. Most scores are no entropies (`unit`): they order answers, and have
neither a variance nor a threshold in nats.
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
    "log-likelihood": ("log_likelihood", "LogLikelihood"),
    "g-nll": ("g_nll", "GNll"),
    "p-true": ("p_true", "PTrue"),
    "unseen": ("unseen", "Unseen"),
    "bayes-poisson": ("bayes_poisson", "BayesPoisson"),
    "predictive-entropy": ("predictive_entropy", "PredictiveEntropy"),
    "kuhn": ("kuhn", "Kuhn"),
    "coverage": ("coverage", "Coverage"),
    "alphabet": ("alphabet", "Alphabet"),
    "eigv": ("eigv", "EigV"),
    "degree": ("degree", "Degree"),
    "kle": ("kle", "Kle"),
    "semantic-density": ("semantic_density", "SemanticDensity"),
    "cocoa": ("cocoa", "Cocoa"),
    "length": ("length", "Length"),
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

"""Estimators of semantic entropy: one file each, one line each in the registry below."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .paper import PaperPrior
from .prior import Prior

if TYPE_CHECKING:
    from ..nouns import Estimator

__all__ = ["NAMES", "PaperPrior", "Prior", "load_estimator"]

_REGISTRY = {
    "bayes": ("bayes", "Bayes"),
    "bayes-paper": ("paper", "BayesPaper"),
    "histogram": ("histogram", "Histogram"),
    "log-likelihood": ("log_likelihood", "LogLikelihood"),
    "p-true": ("p_true", "PTrueEstimator"),
    "rescaled": ("rescaled", "Rescaled"),
    "rescaled-length": ("rescaled", "RescaledLength"),
}
NAMES = tuple(_REGISTRY)


def load_estimator(name: str, **options: Any) -> Estimator:
    """The estimator of that name; options (such as `prior=`) go to its constructor.

    >>> load_estimator("histogram").name
    'histogram'
    """
    if name not in _REGISTRY:
        raise InputError(f"no estimator is called {name!r}: choose one of {', '.join(NAMES)}")
    module, attribute = _REGISTRY[name]
    made: Estimator = getattr(import_module(f".{module}", __name__), attribute)(**options)
    return made

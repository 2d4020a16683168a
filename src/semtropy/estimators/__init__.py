"""Estimators of semantic entropy: from evidence to a belief.

Scores of the judged answer alone (`log-likelihood`, `p-true`, `length`) are another family: `semtropy.scorers`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ..errors import InputError, unknown
from .learning import LearnedPrior, Learning
from .paper import PaperPrior
from .prior import Prior

if TYPE_CHECKING:
    from ..nouns import Estimator

__all__ = ["NAMES", "LearnedPrior", "PaperPrior", "Prior", "load_estimator"]

# The module and the class of each estimator.
_REGISTRY = {
    "agreement": ("bayes", "AgreementScore"),
    "bayes": ("bayes", "Bayes"),
    "bayes-paper": ("paper", "BayesPaper"),
    "histogram": ("counts", "Histogram"),
    "rescaled": ("counts", "Rescaled"),
    "rescaled-length": ("counts", "RescaledLength"),
    "miller-madow": ("counts", "MillerMadow"),
    "chao-shen": ("counts", "ChaoShen"),
    "james-stein": ("counts", "JamesStein"),
    "nsb": ("nonparametric", "Nsb"),
    "pitman-yor": ("nonparametric", "PitmanYor"),
    "evidential": ("counts", "Evidential"),
}
NAMES = tuple(name for name in _REGISTRY if name != "agreement")
"""The names that `load_estimator` knows."""
_PRIORS = {"agreement": Prior, "bayes": Prior, "bayes-paper": PaperPrior}
# Scores of the answer, not entropies: semtropy.scorers, a layer below this one, and the agreement of `bayes`.
_SCORES = (
    "agreement",
    "alphabet",
    "bayes-poisson",
    "cocoa",
    "coverage",
    "degree",
    "eigv",
    "g-nll",
    "kle",
    "kuhn",
    "length",
    "log-likelihood",
    "p-true",
    "predictive-entropy",
    "semantic-density",
    "unseen",
)


def load_estimator(name: str, **options: Any) -> Estimator:
    """Return the estimator called `name`.

    name     one of `semtropy.estimators.NAMES`
    options  keyword arguments of its constructor, such as `prior=`; for bayes, "learn" or a `LearnedPrior` gives a
             prior that learns

    >>> load_estimator("histogram").name
    'histogram'
    """
    if name in _SCORES:
        raise InputError(
            f"{name} needs more than the evidence of samples, or estimates no entropy: use `semtropy evaluate` or "
            f"`semtropy score` for it, or one of the estimators {', '.join(NAMES)}"
        )
    return load_method(name, **options)


def load_method(name: str, **options: Any) -> Estimator:
    """Return the estimator called `name`, or the score `agreement`, which studies compare with estimators."""
    if name not in _REGISTRY:
        raise unknown("estimator", str(name), NAMES)
    prior = options.get("prior")
    if name == "bayes" and (prior == "learn" or isinstance(prior, LearnedPrior)):
        learning: Any = Learning(LearnedPrior() if isinstance(prior, str) else prior)
        return cast("Estimator", learning)
    if prior is not None:
        _check_prior(name, prior)
    module, attribute = _REGISTRY[name]
    made: Estimator = getattr(import_module(f".{module}", __name__), attribute)(**options)
    return made


def as_estimator(estimator: str | Estimator, prior: object = None) -> Estimator:
    """The estimator of that name, with `prior` where one is given; or the estimator itself."""
    if isinstance(estimator, str):
        return load_estimator(estimator, **({} if prior is None else {"prior": prior}))
    if prior is not None:
        raise InputError(
            "prior is for an estimator given by name: pass it to the constructor of this one instead"
        )
    return estimator


def required_column(name: str) -> str | None:
    """The column of a recording that an estimator needs besides meanings, or None.

    >>> required_column("rescaled"), required_column("histogram")
    ('samples[].logprob', None)
    """
    module, attribute = _REGISTRY[name]
    column: str | None = getattr(getattr(import_module(f".{module}", __name__), attribute), "column", None)
    return column


def _check_prior(name: str, prior: object) -> None:
    """Refuse a prior that the estimator cannot use."""
    expected = _PRIORS.get(name)
    if expected is None:
        raise InputError(f"the estimator {name} takes no prior")
    if not isinstance(prior, expected):
        raise InputError(
            f"prior is of type {type(prior).__name__}: the estimator {name} takes a "
            f"semtropy.estimators.{expected.__name__}, such as {expected.__name__}.load(FILE)"
        )

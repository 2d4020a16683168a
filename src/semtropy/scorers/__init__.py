"""Scores of a judged answer, higher meaning more suspicious.

A scorer is a function of a `ScorerRow`, which holds what a recording knows about one question and some of its samples.
One line of the registry names the function, what it needs of the row, and its unit. Most scores are not entropies: they
order answers, and have neither a variance nor a threshold in nats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ..errors import unknown

if TYPE_CHECKING:
    from .row import Scorer

__all__ = ["NAMES", "load_scorer"]


class _Line(NamedTuple):
    """Where the function of a scorer is, what it needs of a row, and what it returns.

    in_nats  it estimates the semantic entropy
    many     it takes many rows at once
    """

    place: str
    needs: tuple[str, ...]
    in_nats: bool = False
    many: bool = False


_REGISTRY = {
    "log-likelihood": _Line("likelihood.log_likelihood", ("logprob",)),
    "g-nll": _Line("likelihood.g_nll", ("sampling_logprob",)),
    "p-true": _Line("likelihood.p_true", ("p_true",)),
    "unseen": _Line("likelihood.unseen", ("some_logprobs",)),
    "bayes-poisson": _Line("likelihood.bayes_poisson", ("token_logprobs",), in_nats=True, many=True),
    "predictive-entropy": _Line("likelihood.predictive_entropy", ("logprobs",)),
    "kuhn": _Line("likelihood.kuhn", ("token_logprobs",)),
    "coverage": _Line("pairwise.coverage", ("entails",), in_nats=True),
    "alphabet": _Line("pairwise.alphabet", ("entails",)),
    "eigv": _Line("pairwise.eigv", ("entails",), many=True),
    "degree": _Line("pairwise.degree", ("entails",)),
    "kle": _Line("pairwise.kle", ("entails",), many=True),
    "semantic-density": _Line("pairwise.semantic_density", ("entails", "answer_text", "token_logprobs")),
    "cocoa": _Line("pairwise.cocoa", ("entails", "answer_text", "sampling_logprob")),
    "length": _Line("likelihood.length", ("length",)),
}
NAMES = tuple(_REGISTRY)
"""The names that `load_scorer` knows."""


def load_scorer(name: str) -> Scorer:
    """Return the scorer called `name`.

    name  one of `semtropy.scorers.NAMES`

    >>> load_scorer("length").columns, load_scorer("kuhn").of_samples
    (('answer.text',), True)
    """
    if name not in _REGISTRY:
        raise unknown("scorer", name, NAMES)
    from .row import Scorer

    line = _REGISTRY[name]
    module, _, function = line.place.partition(".")
    found = getattr(import_module(f".{module}", __name__), function)
    return Scorer(name, found, line.needs, line.in_nats, line.many)

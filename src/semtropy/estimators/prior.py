"""The prior over questions: two mixtures of components, with weights fitted on training questions.

A component is a prior over meaning probabilities, finite Dirichlet or Pitman-Yor, and a prior over the sequences of
each meaning (`semtropy.entropy.DirichletComponent` and `PitmanYorComponent`). One mixture is for samples alone; the
other is for samples that follow a judged answer of known log-probability, and its weights mean something only together
with the evidence of that answer (see fitting.py). Both are fitted on the first 8 and the first 16 samples of the
training questions, because the prior is used with few. Without training questions, the shipped default is used.

A prior may combine fits on several recordings. Each predicts the samples that follow an answer; the combined prior
takes each with the same probability. With the weights a_rk of fit r and the evidence Z_k of the answer under component
k, the weight of component k given the answer is the mean over r of

    a_rk Z_k / sum_l a_rl Z_l,

so a model unlike all of them leaves the belief wide, where a fit to the pooled questions is sure of their average.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from ..entropy.observations import Observations
from ..entropy.two_level import component_moments
from ..errors import InputError, one_line
from ..input_files import read_json
from ..nouns import Evidence, JudgedAnswer
from ..output_files import replacing
from .component_mixture import ComponentMixture, tilt, united
from .ends import DEFAULT_ENDS, fit_ends
from .fitting import NEGLIGIBLE
from .mixture_fit import fit_answered, fit_samples
from .prior_json import PriorFields, prior_from_json, prior_to_json
from .training import TrainingQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..entropy.components import Component

    Floats = NDArray[np.float64]

__all__ = ["Prior"]


@dataclass(frozen=True)
class Prior:
    """What to expect of a question before sampling.

    samples        the mixture for samples without a judged answer
    answered       mixtures for samples that follow an answer of known log-probability, one for each fit combined
    trained_on     how many questions it was fitted on; 0 for the one that ships
    token_entropy  the mean of the largest token entropy along the training answers, in nats; None where unknown
    ends           equally probable values of the end token's probability, for log-probabilities that leave it out

    >>> prior = Prior.default()
    >>> round(sum(sum(own) for own in prior.samples.weights), 9)
    1.0
    """

    samples: ComponentMixture
    answered: tuple[ComponentMixture, ...]
    trained_on: int = 0
    token_entropy: float | None = None
    ends: tuple[float, ...] = DEFAULT_ENDS

    @classmethod
    def default(cls) -> Prior:
        """The prior shipped with semtropy, for when there are no training questions."""
        return _default()

    @classmethod
    def fit(cls, rows: Iterable[Any], *, negligible: float = NEGLIGIBLE) -> Prior:
        """Learn from training questions: a Recording, or rows of its schema with samples and their meanings.

        Components that the fit can do without are dropped, and so are sizes and concentrations that together explain a
        `negligible` share of the questions.
        """
        training = [TrainingQuestion.of(row) for row in rows]
        if not training:
            return cls.default()
        ends = fit_ends(end for question in training for end in question.ends)
        samples = fit_samples(training, negligible)
        answered = [question for question in training if question.answered]
        if not answered:
            return cls(samples, (samples,), len(training), None, ends)
        centre = _mean_token_entropy(answered)
        return cls(samples, (fit_answered(answered, centre, negligible),), len(training), centre, ends)

    @classmethod
    def combine(cls, priors: Sequence[Prior]) -> Prior:
        """One prior from fits on several recordings, each as probable as the others.

        >>> both = Prior.combine([Prior.default(), Prior.default()])
        >>> len(both.answered) == 2 * len(Prior.default().answered)
        True
        """
        if not priors:
            raise InputError("priors is empty: combine at least one")
        if len({len(prior.ends) for prior in priors}) > 1:
            raise InputError("the priors have different numbers of ends: fit them anew with one version")
        centres = [prior.token_entropy for prior in priors if prior.token_entropy is not None]
        return cls(
            ComponentMixture.average([prior.samples for prior in priors]),
            tuple(mixture for prior in priors for mixture in prior.answered),
            sum(prior.trained_on for prior in priors),
            float(np.mean(centres)) if centres else None,
            tuple(np.mean([prior.ends for prior in priors], axis=0).round(6).tolist()),
        )

    def for_evidence(
        self, evidence: Evidence, meanings: int, *, normalised: bool = False
    ) -> tuple[tuple[Component, ...], Floats]:
        """The components for a question and their log-weights, concatenated.

        Parameters: the evidence; the number of meanings seen, the answer's included; and whether the log-weights are
        to be divided by the evidence of the answer, so that they compare between answers.
        """
        answer = evidence.answer
        if answer is None or answer.logprob is None:
            return self.samples.reaching(meanings)
        components, rows = _reaching(self.answered, meanings)
        tilted = tilt(components, answer, self.token_entropy)
        if len(rows) == 1 and not normalised:
            return components, rows[0] + tilted
        log_z = answer_log_evidence(components, answer.logprob)
        predicted = logsumexp(rows + (tilted + log_z), axis=1, keepdims=True)
        return components, tilted + logsumexp(rows - predicted, axis=0)

    def save(self, path: str | Path) -> None:
        """Write a small JSON file."""
        with replacing(path) as partial:
            partial.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Prior:
        """Read what `save` wrote; files of version 1 are read too."""
        held = read_json(path)
        try:
            return cls.from_dict(held)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise InputError(
                f"{path}: not a prior that semtropy saved ({one_line(str(error), 300)})"
            ) from None

    def as_dict(self) -> dict[str, Any]:
        """The content of the file."""
        return prior_to_json(
            PriorFields(self.samples, self.answered, self.trained_on, self.token_entropy, self.ends)
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prior:
        """Read what `as_dict` returned."""
        return cls(*prior_from_json(data))


@lru_cache(maxsize=1)
def _default() -> Prior:
    text = files(__package__).joinpath("default_prior.json").read_text(encoding="utf-8")
    return Prior.from_dict(json.loads(text))


@lru_cache(maxsize=1024)
def _reaching(mixtures: tuple[ComponentMixture, ...], meanings: int) -> tuple[tuple[Component, ...], Floats]:
    """The columns of all mixtures and the log-weights of each in them, one row each."""
    return united([mixture.reaching(meanings) for mixture in mixtures])


@lru_cache(maxsize=4096)
def answer_log_evidence(components: tuple[Component, ...], logprob: float) -> Floats:
    """The log-evidence of an answer alone under every column."""
    answer = Observations.of(Evidence(counts=(), answer=JudgedAnswer(0, logprob)))
    found: Floats = component_moments([answer], components, tolerance=1e-5).log_evidence[0]
    return found


def _mean_token_entropy(questions: Sequence[TrainingQuestion]) -> float | None:
    answers = [question.answer_only.answer for question in questions]
    known = [a.token_entropy for a in answers if a is not None and a.token_entropy is not None]
    return float(np.mean(known)) if known else None

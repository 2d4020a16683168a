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

How many wordings a meaning has depends on the form of the answer: a name has one or two, a sentence has many, and one
wording of a sentence has a small probability however sure the model is. So a prior has one part for names and another,
`longer`, for sentences and paragraphs, each fitted on training answers of its form. `form` chooses by the typical
number of words of the answer and the samples. There is no sharp limit between the two: phrases, up to twice as long as
names, have a part that combines both. So what was learned of a model's brief answers still counts for those that are
slightly longer, such as a calculation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from ..entropy.components import DirichletComponent, Observations, PitmanYorComponent, SequencePrior
from ..entropy.two_level import component_moments
from ..errors import InputError, one_line
from ..evidence import NAME_WORDS
from ..files import read_json, replacing
from ..nouns import Evidence, JudgedAnswer
from ..numeric_checks import shown
from ..samples import MOST_TOKEN_ENTROPY
from .fitting import (
    DEFAULT_ENDS,
    MANY_WORDINGS,
    NEGLIGIBLE,
    SEQUENCE_PRIORS,
    AnswerMeans,
    ComponentMixture,
    TrainingQuestion,
    component_grid,
    doubt,
    fit_answered,
    fit_ends,
    fit_samples,
    tilt,
    united,
)

if TYPE_CHECKING:
    from ..entropy.components import Component
    from ..nouns import Floats


# The JSON form of a prior. Version 2 is written; version 1, which had one mixture, is still read.


VERSION = 2

NAME_WORDINGS = 2  # of a name, at most
FEWEST_OF_A_FORM = 30  # training questions, below which a form has no separate fit
MOST_OF_A_FORM = 0.99  # the share of the training questions whose length is usual for their form


def _mixture_to_json(mixture: ComponentMixture) -> list[dict[str, Any]]:
    """The components, each with the weights of its sizes or concentrations."""
    return [
        {
            **_meanings_to_json(component),
            "sequences": asdict(component.sequences),
            **({"anchor": component.anchor} if component.anchor else {}),
            "weights": [float(f"{weight:.6g}") for weight in weights],
        }
        for component, weights in zip(mixture.components, mixture.weights, strict=True)
    ]


def _meanings_to_json(component: Component) -> dict[str, Any]:
    if isinstance(component, PitmanYorComponent):
        points = list(component.concentrations)
        return {"type": "pitman-yor", "discount": component.discount, "concentrations": points}
    return {"type": "dirichlet", "alpha": component.alpha, "sizes": list(component.sizes)}


def _component_from_json(data: Mapping[str, Any]) -> Component:
    sequences, anchor = _sequences(data["sequences"]), _number(data.get("anchor", 0.0))
    if data["type"] == "pitman-yor":
        concentrations = tuple(_number(c) for c in data["concentrations"])
        return PitmanYorComponent(_number(data["discount"]), sequences, concentrations, anchor)
    if data["type"] == "dirichlet":
        return DirichletComponent(
            _number(data["alpha"]), sequences, tuple(_whole(size) for size in data["sizes"]), anchor
        )
    raise InputError(f'the type of a component is {data["type"]!r}: it must be "dirichlet" or "pitman-yor"')


def _from_version_1(data: Mapping[str, Any]) -> dict[str, Any]:
    """A component of version 1, which had the sequence prior's fields beside the others, as version 2 has it."""
    own = {"sequences": data, "weights": data.get("weights")}
    if "endless" in data:
        points = data["concentrations"]
        return {"type": "pitman-yor", "discount": data["endless"], "concentrations": points, **own}
    return {"type": "dirichlet", "alpha": data["alpha"], "sizes": data["sizes"], **own}


def _sequences(data: Mapping[str, Any]) -> SequencePrior:
    return SequencePrior(
        _number(data["theta"]), _whole(data["main"]), _number(data["evenness"]), _number(data["discount"])
    )


def _number(value: Any) -> float:
    """A number of a file as a float; whether it is finite and in range is for those who know what it stands for."""
    if isinstance(value, bool | str):
        raise InputError(f"{shown(value)} is not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _whole(value: Any) -> int:
    number = _number(value)
    if not (math.isfinite(number) and number >= 0 and number == int(number)):
        raise InputError(f"{shown(value)} is not a whole number from 0")
    return int(number)


def _mixture_from_json(held: Iterable[Mapping[str, Any]]) -> ComponentMixture:
    held = list(held)
    components = tuple(map(_component_from_json, held))
    weights = [tuple(_number(weight) for weight in each["weights"]) for each in held]
    for component, own in zip(components, weights, strict=True):
        if len(component.points) != len(own) or not all(0 <= weight < math.inf for weight in own):
            raise InputError("each component needs one weight of at least 0 per size or concentration")
    try:
        total = math.fsum(weight for own in weights for weight in own)
    except OverflowError:
        total = math.inf
    if not 0 < total < math.inf:
        raise InputError("the weights of a prior must sum to more than 0, and to a finite number")
    return ComponentMixture(components, tuple(tuple(weight / total for weight in own) for own in weights))


@dataclass(frozen=True)
class Prior:
    """What to expect of a question before sampling.

    samples        the mixture for samples without a judged answer
    answered       mixtures for samples that follow an answer of known log-probability, one for each fit combined
    trained_on     how many questions it was fitted on; 0 for the one that ships
    token_entropy  the mean of the largest token entropy along the training answers, in nats; None where unknown
    ends           equally probable values of the end token's probability, for log-probabilities that leave it out
    words          answers of more words have another form, for which `longer` is; None for no such limit
    longer         the prior for longer answers, None where there is none: a meaning has few wordings as a name, and
                   many as a sentence; phrases come between the two
    carried        like `answered`, for sentences whose token entropies are unknown, but not the tokens that carry the
                   answer; empty where those of the training answers are unknown
    doubt          the mean of `fitting.doubt` of those training answers; None without `carried`

    >>> prior = Prior.default()
    >>> round(sum(sum(own) for own in prior.samples.weights), 9)
    1.0
    """

    samples: ComponentMixture
    answered: tuple[ComponentMixture, ...]
    trained_on: int = 0
    token_entropy: float | None = None
    ends: tuple[float, ...] = DEFAULT_ENDS
    words: int | None = None
    longer: Prior | None = None
    carried: tuple[ComponentMixture, ...] = ()
    doubt: float | None = None

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
        shipped = cls.default()
        if not training:
            return shipped
        names = [question for question in training if question.words <= NAME_WORDS]
        rest = [question for question in training if question.words > NAME_WORDS]
        if len(rest) < FEWEST_OF_A_FORM and len(names) >= len(rest):
            words = sorted(question.words for question in training)
            own = cls._fit_form(training, negligible)
            return own._up_to(words[int(MOST_OF_A_FORM * (len(words) - 1))], _shipped()[1])
        if len(names) < FEWEST_OF_A_FORM:
            return replace(shipped, longer=cls._fit_form(training, negligible, longer=True))
        longer = cls._fit_form(rest, negligible, longer=True)
        return replace(cls._fit_form(names, negligible), words=NAME_WORDS, longer=longer)

    def _up_to(self, words: int, sentences: Prior) -> Prior:
        """The prior for answers of up to `words` words, followed by one for phrases and then the one for sentences."""
        own = replace(self, trained_on=0, words=None, longer=None)
        either = replace(self.combine([own, sentences]), token_entropy=own.token_entropy, ends=own.ends)
        either = replace(either, carried=(), doubt=None)
        return replace(self, words=words, longer=replace(either, words=2 * words, longer=sentences))

    @classmethod
    def _fit_form(
        cls, training: Sequence[TrainingQuestion], negligible: float, *, longer: bool = False
    ) -> Prior:
        """The prior for answers of one form."""
        grid = component_grid(MANY_WORDINGS if longer else SEQUENCE_PRIORS)
        ends = fit_ends(end for question in training for end in question.ends)
        samples = fit_samples(training, grid, negligible)
        answered = [question for question in training if question.answered]
        if not answered:
            return cls(samples, (samples,), len(training), None, ends)
        entropy = _mean(answer.token_entropy for answer in _answers(answered))
        mixture = fit_answered(answered, grid, AnswerMeans(token_entropy=entropy), negligible)
        fitted = cls(samples, (mixture,), len(training), entropy, ends)
        known = [question for question in answered if _mean(map(doubt, _answers([question]))) is not None]
        if not longer or len(known) < FEWEST_OF_A_FORM:
            return fitted
        centre = AnswerMeans(doubt=_mean(map(doubt, _answers(known))))
        carried = fit_answered(known, grid, centre, negligible)
        return replace(fitted, carried=(carried,), doubt=centre.doubt)

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
        fitted = [prior for prior in priors if prior.trained_on] or priors
        carried = any(prior.carried for prior in fitted)
        longer = [prior.longer for prior in priors if prior.longer is not None]
        limits = [prior.words for prior in fitted if prior.words is not None]
        return cls(
            ComponentMixture.average([prior.samples for prior in fitted]),
            tuple(mixture for prior in fitted for mixture in prior.answered),
            sum(prior.trained_on for prior in fitted),
            _mean(prior.token_entropy for prior in fitted),
            tuple(np.mean([prior.ends for prior in fitted], axis=0).round(6).tolist()),
            max(limits, default=None),
            cls.combine(longer) if longer else None,
            tuple(each for prior in fitted for each in prior.carried or prior.answered) if carried else (),
            _mean(prior.doubt for prior in fitted),
        )

    def form(self, evidence: Evidence) -> Prior:
        """The part of the prior for answers of this form: by their words, and by what the samples show.

        A name has one or two wordings. Where all samples mean the same in more of them, the model words names as it
        words sentences; a prior that was fitted to the names of a model knows that already.

        >>> prior = Prior.default()
        >>> name, phrase, sentence = (prior.form(Evidence(counts=(1,), words=words)) for words in (3, 6, 12))
        >>> name is prior, phrase is prior.longer, sentence is phrase.longer
        (True, True, True)
        """
        if self.longer is None or self.words is None or evidence.words is None:
            return self
        worded = not self.trained_on and _wordings_of_one_meaning(evidence) > NAME_WORDINGS
        return self.longer.form(evidence) if worded or evidence.words > self.words else self

    def for_evidence(
        self, evidence: Evidence, meanings: int, *, normalised: bool = False
    ) -> tuple[tuple[Component, ...], Floats]:
        """The components for a question and their log-weights, concatenated.

        Parameters: the evidence; the number of meanings seen, the answer's included; and whether the log-weights are
        to be divided by the evidence of the answer, so that they compare between answers.
        """
        answer, own = evidence.answer, self.form(evidence)
        if answer is None or answer.logprob is None:
            # Anchored components say nothing about sequences, and which meaning they hold to is the answer's.
            counted = answer is not None and not any(evidence.distinct)
            return (own.samples if counted else own.samples.without_anchors).reaching(meanings)
        known = own.doubt is not None and answer.carried_logprob is not None and answer.token_entropy is None
        components, rows = _reaching(own.carried if known else own.answered, meanings)
        tilted = tilt(components, answer, AnswerMeans(own.token_entropy, own.doubt))
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
        held: dict[str, Any] = {
            "semtropy_prior": VERSION,
            "trained_on": self.trained_on,
            "token_entropy": self.token_entropy,
            "ends": list(self.ends),
            "samples": _mixture_to_json(self.samples),
            "answered": list(map(_mixture_to_json, self.answered)),
        }
        if self.carried:
            held |= {"carried": list(map(_mixture_to_json, self.carried)), "doubt": self.doubt}
        if self.longer is not None:
            held |= {"words": self.words, "longer": self.longer.as_dict()}
        return held

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prior:
        """Read what `as_dict` returned; an error names what is wrong."""
        version = data.get("semtropy_prior") if isinstance(data, Mapping) else None
        if version == 1:
            mixture = _mixture_from_json(map(_from_version_1, data["kinds"]))
            return cls(mixture, (mixture,), _whole(data["trained_on"]))
        if version != VERSION:
            raise InputError(f'not a prior: the key "semtropy_prior" must be {VERSION} or 1')
        entropy, ends = data.get("token_entropy"), tuple(map(_number, data.get("ends", DEFAULT_ENDS)))
        if not ends or not all(0 < end <= 1 for end in ends):
            raise InputError('"ends" must be probabilities above 0')
        if entropy is not None and not 0 <= _number(entropy) <= MOST_TOKEN_ENTROPY:
            raise InputError(f'"token_entropy" must be a number from 0 to {MOST_TOKEN_ENTROPY:g}, or null')
        carried = data.get("carried") or ()
        if carried and not 0 <= _number(data["doubt"]) <= 1:
            raise InputError('"doubt" must be a probability')
        samples, answered = _mixture_from_json(data["samples"]), data["answered"]
        if answered and isinstance(answered[0], Mapping):
            answered = [answered]
        if not answered:
            raise InputError('"answered" must hold at least one mixture')
        words, longer = data.get("words"), data.get("longer")
        return cls(
            samples=samples,
            answered=tuple(map(_mixture_from_json, answered)),
            trained_on=_whole(data["trained_on"]),
            token_entropy=None if entropy is None else float(entropy),
            ends=ends,
            words=None if words is None else _whole(words),
            longer=None if longer is None else cls.from_dict(longer),
            carried=tuple(map(_mixture_from_json, carried)),
            doubt=float(data["doubt"]) if carried else None,
        )


@lru_cache(maxsize=1)
def _default() -> Prior:
    names, sentences = _shipped()
    return names._up_to(NAME_WORDS, sentences)


@lru_cache(maxsize=1)
def _shipped() -> tuple[Prior, Prior]:
    """The parts of the shipped prior for names and for sentences."""
    text = files(__package__).joinpath("default_prior.json").read_text(encoding="utf-8")
    names = Prior.from_dict(json.loads(text))
    assert names.longer is not None
    return names, names.longer


def _wordings_of_one_meaning(evidence: Evidence) -> int:
    """How many sequences of known probability the one meaning has that answer and samples share; 0 for several."""
    answer = evidence.answer
    if len(evidence.counts) != 1 or (answer is not None and answer.meaning != 0):
        return 0
    new = answer is not None and answer.sequence is None and answer.logprob is not None
    return evidence.distinct[0] + len(evidence.prefix_logprobs[0]) + new


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


def _answers(questions: Iterable[TrainingQuestion]) -> Iterator[JudgedAnswer]:
    return (question.answer_only.answer for question in questions if question.answer_only.answer is not None)


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known, None where none is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None

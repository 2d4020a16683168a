"""A prior that learns from the questions it is used for: no labels and no text, only the evidence of each check.

Two hundred questions with five samples each do not identify the weights of sixty components: a free fit spreads them
over all that are near, and then no verdict near the threshold is ever decided. The learned prior is instead an average
over a few hundred hypotheses of how a model answers, each weighed by how probable it makes what was seen:

- Without log-probabilities, a share u of the questions has no steady answer, and looks as the starting prior says,
  tilted to smaller or larger entropies. The others are steady: as the starting prior says, or all in the same way, with
  one anchored component. There the answer's share is near 0.98, 0.95, 0.9, ..., and the rest is spread over few or many
  meanings.
- With them, the answer's own probability says most of it. The starting prior is tilted to smaller or larger entropies,
  and the likelihood is that of the samples given the answer, as in fitting.py.

Names and longer answers have priors apart (`Prior.longer`), and each learns from answers of its form.

Whatever was learned, the share of unsure questions is held between `LEAST_UNSURE` and `MOST_UNSURE`: a made-up answer
is repeated by chance now and then, and a model that is nearly always steady would have one agreeing sample decide.
"""

from __future__ import annotations

import json
import math
import threading
from collections import deque
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaincc, logsumexp

from ..entropy.components import DirichletComponent, Observations, PitmanYorComponent, SequencePrior
from ..entropy.two_level import component_moments
from ..errors import ConvergenceError, ImpossibleLogprobs, InputError, one_line
from ..files import read_json, replacing
from ..nouns import Evidence, JudgedAnswer
from .bayes import Bayes
from .fitting import DEFAULT_ENDS, ComponentMixture, prior_entropies, readings
from .prior import Prior

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from ..entropy.components import Component
    from ..nouns import Belief, Beliefs, Floats


VERSION = 1
# Anchored components are used without log-probabilities, where the prior over sequences does not matter.
_ANY = SequencePrior(0.1)
# The answer's share is 0.98, 0.96, 0.94, 0.92, 0.90, 0.88, 0.87, 0.84, 0.78 and 0.71 under the columns of the first,
# give or take 0.02; 0.90 with one rival under the second; 0.99 to 0.78 with a rest of any size under the last.
ANCHORED: tuple[Component, ...] = (
    DirichletComponent(4.0, _ANY, (2, 3, 4, 5, 6, 7, 8, 10, 14, 20), anchor=181.0),
    DirichletComponent(20.0, _ANY, (2,), anchor=161.0),
    PitmanYorComponent(0.02, _ANY, (1.0, 2.0, 3.5, 5.0, 8.0, 14.0, 25.0), anchor=91.0),
)
UNSURE_SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98)
TILTS = (-0.5, 0.0, 0.5)  # log-weight per nat of prior entropy
WEIGHED_TILTS = (-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5)
START = 0.5  # the probability before any question that the starting prior is right
PSEUDO_QUESTIONS = 4.0  # that say the share of unsure questions is the starting prior's
LEAST_UNSURE, MOST_UNSURE = 0.35, 0.9
THRESHOLD = math.log(2)  # an entropy above it is unsure: the default threshold of a verdict
WINDOW = 500  # questions that are remembered
TOLERANCE = 1e-2  # of the integrals, as in a fit
ENOUGH = 30  # questions with log-probabilities after which the prior knows such answers of the model
KEPT = 1e-4  # columns with less weight are left out of the learned prior: each takes time
# A change of the model is believed if two models, one for the last of these numbers of questions and one for those
# before, are this many times as probable as one model for all.
CHANGE, RECENT = 1000.0, (20, 40, 80, 160)
EVERY = 5  # questions after which a change is looked for


class LearnedPrior:
    """A prior that starts from another one and learns from the evidence of every question it is shown.

    start  the prior to begin with; default the one that ships

    Threads may share one. The last 500 questions are remembered.

    >>> from semtropy import Partition, Sample
    >>> learned = LearnedPrior()
    >>> samples = [Sample("Paris")] * 4 + [Sample("Lyon")]
    >>> for _ in range(40):
    ...     learned.learn(Evidence.gather(samples, Partition.of("ppppl"), Sample("Paris"), 0))
    >>> learned.state
    'learned from 40 questions'
    >>> learned.prior.trained_on
    40
    """

    def __init__(self, start: Prior | None = None) -> None:
        self.start = Prior.default() if start is None else start
        self._changed = False
        self._lock = threading.Lock()
        self._waiting: list[Evidence] = []
        self._lessons: deque[_Lesson] = deque(maxlen=WINDOW)
        self._total = self._seen = 0
        self._prior = self.start
        self._known: dict[Evidence, Floats] = {}

    def learn(self, evidence: Evidence) -> None:
        """Remember what a check saw; it is worked out when the prior is next asked for.

        A check that says nothing about how the model repeats itself is passed over: for example, if it drew no sample.
        """
        useful = _useful(evidence)
        if useful is not None:
            with self._lock:
                self._waiting.append(useful)
                self._seen += 1

    @property
    def prior(self) -> Prior:
        """What to expect of the next question."""
        with self._lock:
            if self._waiting:
                waiting, self._waiting = self._waiting, []
                for evidence in waiting:
                    self._take(evidence)
                self._prior = self._averaged()
            return self._prior

    @property
    def questions(self) -> int:
        """How many questions it has learned from, since the model last changed."""
        self.prior  # noqa: B018  works out those that wait
        return self._total

    @property
    def changed(self) -> bool:
        """Whether the model began to answer differently, so that what was learned before was dropped."""
        self.prior  # noqa: B018
        return self._changed

    @property
    def seen(self) -> int:
        """How many questions it was shown that could teach it something, since it was made or loaded."""
        return self._seen

    @property
    def state(self) -> str:
        """What it has learned from, for a reader: "learned from 214 questions"."""
        n = self.questions
        said = (
            f"learned from {n} question{'s' * (n != 1)}" if n else "the one that ships, nothing learned yet"
        )
        return f"{said}, since the model began to answer differently" if self.changed else said

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was learned to a JSON file: counts and log-probabilities, no text."""
        questions = self.questions
        with self._lock:
            held = {
                "semtropy_learned_prior": VERSION,
                "questions": questions,
                "changed": self._changed,
                "start": None if self.start == Prior.default() else self.start.as_dict(),
                "evidence": [_to_json(lesson.evidence) for lesson in self._lessons],
            }
        with replacing(path) as partial:
            partial.write_text(json.dumps(held, separators=(",", ":")) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> LearnedPrior:
        """Read what `save` wrote, and learn from it again."""
        held = read_json(path)
        try:
            if not isinstance(held, dict) or held.get("semtropy_learned_prior") != VERSION:
                raise InputError(f'the key "semtropy_learned_prior" must be {VERSION}')
            start, changed, questions = held["start"], held["changed"], held["questions"]
            if not isinstance(questions, int) or not isinstance(changed, bool):
                raise InputError('"questions" must be a whole number, and "changed" true or false')
            made = cls(None if start is None else Prior.from_dict(start))
            for each in held["evidence"][-WINDOW:]:
                made.learn(_from_json(each))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(f"{path}: not a prior that was learned ({one_line(str(error), 300)})") from None
        made._total = max(made.questions, questions)
        made._changed = made._changed or changed
        made._seen = 0
        return made

    def _take(self, evidence: Evidence) -> None:
        """Learn from one question, and look whether the model has changed."""
        found = self._known.get(evidence)
        if found is None:
            found = _log_likelihoods(evidence, self.start)
            if found is None:
                return
            if len(self._known) < WINDOW:
                self._known[evidence] = found
        form = self.start.form(evidence)
        place = next(i for i, each in enumerate(_forms(self.start)) if each is form)
        self._lessons.append(_Lesson(evidence, place, found))
        self._total += 1
        recent = _since_change(tuple(self._lessons), self.start) if self._total % EVERY == 0 else None
        if recent is not None:
            kept = list(self._lessons)[-recent:]
            self._lessons.clear()
            self._lessons.extend(kept)
            self._total, self._changed = recent, True

    def _averaged(self) -> Prior:
        """The starting prior with the mixtures that follow from what was learned."""
        forms = list(_forms(self.start))
        for i, form in enumerate(forms):
            counted, weighed = (_rows(self._lessons, i, weighed=known) for known in (False, True))
            known = len(counted) + (len(weighed) if len(weighed) >= ENOUGH else 0)
            learned = replace(form, trained_on=form.trained_on + known)
            if counted:
                hypotheses = _counted(form)
                weights = _hedged(hypotheses.average(np.sum(counted, axis=0)), hypotheses.components, form)
                mixture = ComponentMixture.of_columns(hypotheses.components, weights, weights > KEPT)
                learned = replace(learned, samples=mixture)
            if weighed:
                best = int(np.argmax(_log_tilt_prior() + np.sum(weighed, axis=0)))
                leaning = _tilted(form)[best]
                learned = replace(learned, answered=leaning.answered, carried=leaning.carried)
            forms[i] = learned
        return _linked(forms)


@dataclass(frozen=True)
class Learning:
    """The estimator `bayes` with a prior that learns; `now` is the estimator of one question, which stays the same."""

    learned: LearnedPrior
    name: str = "bayes"
    has_variance: bool = True
    uses_answer: bool = True

    @property
    def state(self) -> str:
        """What the prior has learned from."""
        return self.learned.state

    def now(self) -> Bayes:
        """`bayes` with what was learned until now."""
        return Bayes(self.learned.prior)

    def __call__(self, evidence: Evidence) -> Belief:
        return self.now()(evidence)

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        """The means and variances of many questions, with what was learned until now."""
        return self.now().batch(evidences)


@dataclass(frozen=True, slots=True)
class _Lesson:
    """The evidence of a question, the place of its form's prior, and its log-likelihood under each hypothesis."""

    evidence: Evidence
    form: int
    log_likelihoods: Floats


def _rows(lessons: Iterable[_Lesson], form: int, *, weighed: bool) -> list[Floats]:
    """The log-likelihoods of questions of one form, with or without log-probabilities."""
    return [
        each.log_likelihoods
        for each in lessons
        if each.form == form and _is_weighed(each.evidence) is weighed
    ]


def _forms(prior: Prior) -> tuple[Prior, ...]:
    """The priors of all forms of answers, names first."""
    return (prior,) if prior.longer is None else (prior, *_forms(prior.longer))


def _linked(forms: Sequence[Prior]) -> Prior:
    """One prior of those of its forms."""
    linked = None
    for form in reversed(forms):
        linked = replace(form, longer=linked)
    assert linked is not None
    return linked


@dataclass(frozen=True, eq=False)
class _Hypotheses:
    """Ways a model may answer: weights of the columns of some components, a row each, and log-probabilities."""

    components: tuple[Component, ...]
    weights: Floats
    log_prior: Floats

    def average(self, log_likelihoods: Floats) -> Floats:
        """The weights expected after questions with these log-likelihoods."""
        log_posterior = self.log_prior + log_likelihoods
        mean: Floats = np.exp(log_posterior - logsumexp(log_posterior)) @ self.weights
        return mean


@lru_cache(maxsize=8)
def _counted(start: Prior) -> _Hypotheses:
    """Hypotheses about questions without log-probabilities."""
    components = (*start.samples.components, *ANCHORED)
    usual = np.exp(start.samples.log_weights())
    anchored = sum(len(component.points) for component in ANCHORED)
    usual = np.concatenate([usual, np.zeros(anchored)])
    unsure = usual * (_unsure(components) > 0.5)
    share = float(np.clip(unsure.sum(), 0.05, 0.95))
    steady = [_normalised(usual - unsure), *np.eye(usual.size)[-anchored:]]
    others = [_normalised(unsure * np.exp(lean * prior_entropies(components))) for lean in TILTS]
    rows = [(1 - u) * one + u * other for one in steady for other in others for u in UNSURE_SHARES]
    of_share = PSEUDO_QUESTIONS * (
        share * np.log(UNSURE_SHARES) + (1 - share) * np.log1p(np.negative(UNSURE_SHARES))
    )
    of_steady = np.log([START, *[(1 - START) / anchored] * anchored])
    log_prior = np.repeat(of_steady, len(TILTS) * len(UNSURE_SHARES)) + np.tile(
        of_share, len(steady) * len(TILTS)
    )
    return _Hypotheses(components, np.array(rows), log_prior - logsumexp(log_prior))


def _normalised(weights: Floats) -> Floats:
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.size, 1 / weights.size)


@lru_cache(maxsize=64)
def _unsure(components: tuple[Component, ...]) -> Floats:
    """The probability that a question is above the threshold under each column, from mean and variance (a gamma)."""
    before = Observations.of(Evidence(counts=(), answer=JudgedAnswer(0)))
    found = component_moments([before], components, tolerance=TOLERANCE)
    mean, variance = np.maximum(found.mean[0], 1e-9), np.maximum(found.variance[0], 1e-9)
    above: Floats = gammaincc(mean**2 / variance, THRESHOLD * mean / variance)
    return above


def _hedged(weights: Floats, components: tuple[Component, ...], start: Prior) -> Floats:
    """The weights, mixed with the starting prior's as far as the share of unsure questions goes beyond its limits."""
    unsure, usual = _unsure(components), np.zeros(weights.size)
    of_start = np.exp(start.samples.log_weights())
    usual[: of_start.size] = of_start
    share, most = float(unsure @ weights), float(unsure @ usual)
    wanted = min(max(share, LEAST_UNSURE), MOST_UNSURE)
    mixed = 0.0 if wanted == share else min(max((wanted - share) / (most - share), 0.0), 1.0)
    return (1 - mixed) * weights + mixed * usual


@lru_cache(maxsize=8)
def _tilted(start: Prior) -> tuple[Prior, ...]:
    """The starting prior with each tilt, for samples that follow an answer of known log-probability."""
    return tuple(
        replace(
            start,
            answered=tuple(mixture.leaning(lean) for mixture in start.answered),
            carried=tuple(mixture.leaning(lean) for mixture in start.carried),
        )
        for lean in WEIGHED_TILTS
    )


def _log_tilt_prior() -> Floats:
    others = (1 - START) / (len(WEIGHED_TILTS) - 1)
    return np.log([others if lean else START for lean in WEIGHED_TILTS])


def _is_weighed(evidence: Evidence) -> bool:
    return evidence.answer is not None and evidence.answer.logprob is not None


def _useful(evidence: Evidence) -> Evidence | None:
    """What can be learned from a check: counts with the answer's meaning first, or log-probabilities as they are.

    Nothing where there is no sample, or only bounds on probabilities, as for the fields of an answer.
    """
    if evidence.answer is None or evidence.n == 0 or evidence.bare_floors:
        return None
    evidence = readings(evidence, DEFAULT_ENDS[1:2])[0].evidence
    answer = evidence.answer
    assert answer is not None
    if answer.logprob is not None:
        return replace(evidence, string_floors=(), length_weights=None)
    if any(evidence.distinct):
        return None
    own, others = evidence.counts[answer.meaning : answer.meaning + 1], list(evidence.counts)
    del others[answer.meaning : answer.meaning + 1]
    counts = (*own, *sorted(others, reverse=True))
    return Evidence(counts, answer=JudgedAnswer(0 if own else len(others)), words=evidence.words)


def _log_likelihoods(evidence: Evidence, start: Prior) -> Floats | None:
    """The log-likelihood of a question under each hypothesis about its form; None where its integrals fail."""
    try:
        seen = Observations.of(evidence)
        if seen.settled is not None:
            return None
        form = start.form(evidence)
        if not _is_weighed(evidence):
            hypotheses = _counted(form)
            return _log_mixed(hypotheses.weights, _log_evidence(seen, hypotheses.components))
        priors = [each.for_evidence(evidence, seen.floors.size, normalised=True) for each in _tilted(form)]
        log_weights, log_evidence = np.array([own for _, own in priors]), _log_evidence(seen, priors[0][0])
        return np.asarray(logsumexp(log_weights + log_evidence, axis=1))
    except (ConvergenceError, ImpossibleLogprobs):
        return None


def _log_evidence(seen: Observations, components: tuple[Component, ...]) -> Floats:
    columns = sum(len(component.points) for component in components)
    found = component_moments([seen], components, tolerance=TOLERANCE, log_prior=np.zeros(columns))
    return np.asarray(found.log_evidence[0])


def _log_mixed(weights: Floats, log_evidence: Floats) -> Floats:
    top = log_evidence.max()
    mixed: Floats = np.log(weights @ np.exp(log_evidence - top)) + top
    return mixed


def _since_change(lessons: Sequence[_Lesson], start: Prior) -> int | None:
    """How many of the last questions another model answered than those before; None where nothing says so."""
    factors = {
        recent: _log_probability(lessons[:-recent], start) + _log_probability(lessons[-recent:], start)
        for recent in RECENT
        if len(lessons) >= 2 * recent
    }
    if not factors:
        return None
    best = max(factors, key=factors.__getitem__)
    return best if factors[best] - _log_probability(lessons, start) > math.log(CHANGE) else None


def _log_probability(lessons: Sequence[_Lesson], start: Prior) -> float:
    """The logarithm of the probability of all these questions if one model answered them."""
    total = 0.0
    for i, form in enumerate(_forms(start)):
        for weighed in (False, True):
            rows = _rows(lessons, i, weighed=weighed)
            if rows:
                log_prior = _log_tilt_prior() if weighed else _counted(form).log_prior
                total += float(logsumexp(log_prior + np.sum(rows, axis=0)))
    return total


def _to_json(evidence: Evidence) -> dict[str, Any]:
    answer = evidence.answer
    assert answer is not None
    held: dict[str, Any] = {"counts": evidence.counts, "meaning": answer.meaning, "words": evidence.words}
    if answer.logprob is None:
        return held
    return held | {
        "no_logprob": evidence.no_logprob,
        "logprobs": [[round(each, 6) for each in own] for own in evidence.logprobs],
        "logprob": round(answer.logprob, 6),
        "sequence": answer.sequence,
        "token_entropy": answer.token_entropy,
        "carried_logprob": answer.carried_logprob,
    }


def _from_json(held: dict[str, Any]) -> Evidence:
    counts, logprob = tuple(held["counts"]), held.get("logprob")
    if logprob is None:
        return Evidence(counts, answer=JudgedAnswer(held["meaning"]), words=held["words"])
    logprobs = tuple(tuple(own) for own in held["logprobs"])
    return Evidence(
        counts,
        tuple(min(1.0, math.fsum(map(math.exp, own))) for own in logprobs),
        tuple(map(len, logprobs)),
        tuple(held["no_logprob"]),
        logprobs,
        answer=JudgedAnswer(
            held["meaning"],
            logprob,
            held["sequence"],
            held["token_entropy"],
            carried_logprob=held.get("carried_logprob"),
        ),
        words=held["words"],
    )

"""Fitting the weights of a mixture of components to training questions.

Two likelihoods, each over a fixed grid of columns (a component with one of its sizes or concentrations). Without an
answer it is the likelihood of the training samples. With one, the answer is no random draw: it is close to the most
probable sequence. Its evidence therefore must not teach the weights how probable first draws are, only how samples
follow an answer, and the likelihood is conditional,

    sum_i log( sum_k w_k Z_ik(answer and samples) / sum_k w_k Z_ik(answer) ),

Z_ik being the evidence of question i under column k. Minorisation-maximisation (expectation maximisation, without an
answer) finds the weights. Pseudo-questions keep every column possible. Components that a fit can do without are
dropped one by one: the cost of a belief is the number of its components.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import digamma

from ..entropy.components import DirichletComponent, Observations, PitmanYorComponent, SequencePrior
from ..entropy.two_level import component_moments, estimated_log_evidence
from ..errors import InputError
from ..evidence import NAME_WORDS
from ..nouns import Evidence, JudgedAnswer, Partition, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ..entropy.components import Component
    from ..nouns import Floats

    LogEvidence = Callable[[Sequence[Observations], Sequence[Component]], Floats]
    Fitted: TypeAlias = "Callable[[Sequence[TrainingQuestion], Sequence[Component], LogEvidence], Likelihood]"


# Log-probabilities without their end token: the end's probability is modelled, not ignored.
#
# Some providers leave the end token out of their log-probabilities. What they report is then p / e: the probability p
# of the whole sequence over that of its end. The model takes one e for all sequences of a question, and a prior for
# it of three equally probable values, the quantiles 1/6, 1/2 and 5/6 of the end's probability in training. Given e,
# the evidence is complete. Every draw then adds a factor e to the likelihood: a new sequence because the density of p
# / e is e times that of p, a repeated one because it was drawn with probability p. The posterior is a mixture over e.


# Between short answers of numbers and of names, of a model of 1.5 billion parameters.
DEFAULT_ENDS = (0.6, 0.8, 0.93)
FEWEST = 10  # training answers with a known end, below which the default is kept
LEAST, MOST = 0.05, 0.999
MOST_TOTAL = 0.98  # of the probabilities found: an end that is too probable must not settle the entropy
EXCESS = 50.0  # log-weight that an e loses per unit by which the probabilities exceed 1


class EvidenceReading(NamedTuple):
    """The evidence under one probability of the end token, and the logarithm of what that weighs."""

    evidence: Evidence
    log_weight: float


def fit_ends(logprobs: Iterable[float]) -> tuple[float, ...]:
    """The quantiles 1/6, 1/2 and 5/6 of the end's probability, from its log-probabilities in training.

    >>> fit_ends([math.log(0.9)] * 20)
    (0.9, 0.9, 0.9)
    """
    known = np.exp(list(logprobs))
    if known.size < FEWEST:
        return DEFAULT_ENDS
    return tuple(np.clip(np.quantile(known, (1 / 6, 1 / 2, 5 / 6)), LEAST, MOST).round(6).tolist())


def readings(evidence: Evidence, ends: Sequence[float]) -> tuple[EvidenceReading, ...]:
    """The evidence as it is where it includes the ends, or under each probability of the end token.

    >>> short = Evidence(counts=(1,), prefix_logprobs=((math.log(0.5),),))
    >>> [(round(e.floors[0], 2), round(w, 2)) for e, w in readings(short, (0.8, 0.9))]
    [(0.4, -0.22), (0.45, -0.11)]
    """
    if not evidence.lacks_ends:
        return (EvidenceReading(evidence, 0.0),)
    return tuple(_reading(evidence, end) for end in ends)


def _reading(evidence: Evidence, end: float) -> EvidenceReading:
    answer, log_end = evidence.answer, math.log(end)
    known = [list(own) for own in evidence.logprobs]
    for own, prefixes in zip(known, evidence.prefix_logprobs, strict=True):
        own.extend(logprob + log_end for logprob in prefixes)
    total = math.fsum(math.exp(logprob) for own in known for logprob in own)
    if answer is not None and answer.prefix_logprob is not None and answer.sequence is None:
        total += math.exp(answer.prefix_logprob + log_end)
    lower = min(0.0, math.log(MOST_TOTAL / total)) if total > 0 else 0.0
    logprobs = tuple(tuple(logprob + lower for logprob in own) for own in known)
    drawn = zip(evidence.no_logprob, evidence.prefix_draws, strict=True)
    whole = replace(
        evidence,
        floors=tuple(math.fsum(map(math.exp, own)) for own in logprobs),
        distinct=tuple(map(len, logprobs)),
        logprobs=logprobs,
        no_logprob=tuple(unknown - prefixed for unknown, prefixed in drawn),
        prefix_logprobs=((),) * len(logprobs),
        prefix_draws=(0,) * len(logprobs),
        answer=None if answer is None else _whole_answer(answer, evidence, log_end + lower),
    )
    return EvidenceReading(whole, sum(evidence.prefix_draws) * log_end - EXCESS * max(total - 1.0, 0.0))


def _whole_answer(answer: JudgedAnswer, evidence: Evidence, shift: float) -> JudgedAnswer:
    if answer.prefix_logprob is None:
        return answer
    place = answer.sequence
    if place is not None:  # prefixes come after the sequences that were known whole
        place += len(evidence.logprobs[answer.meaning])
    return replace(answer, logprob=answer.prefix_logprob + shift, sequence=place, prefix_logprob=None)


# A mixture of components with weights: the form of every prior over questions.


BEYOND = 0.01  # weight of sizes beyond the largest, should a question show more meanings than that
# The largest token entropy along the answer tilts the weights towards components of larger entropy: by this much
# log-weight per nat of token entropy above the mean and nat of prior entropy. Chosen on two recordings of
# Qwen2.5-Coder-1.5B, where the AUROC before the first sample is 0.830 without it, and 0.834 and 0.842 with it.
TILT = 1.5
# The same for the doubt about the tokens that carry an answer in a sentence, where token entropies are not known, as of
# endpoints. Chosen on one half of three recordings of sentences of Qwen2.5-Coder-1.5B, where the AUROC before the first
# sample rises from 0.738 and 0.664 to 0.770 and 0.772 (TriviaQA, SVAMP).
DOUBT_TILT, MOST_DOUBT = 4.0, 0.7


@dataclass(frozen=True)
class ComponentMixture:
    """Components, and for each a tuple of weights: one per number of meanings (or concentration) it considers."""

    components: tuple[Component, ...]
    weights: tuple[tuple[float, ...], ...]

    @classmethod
    def of_columns(
        cls, grid: Sequence[Component], weights: Floats, keep: NDArray[np.bool_]
    ) -> ComponentMixture:
        """The columns of a grid that are to be kept, with their weights scaled to sum to 1."""
        total = float(weights[keep].sum())
        ends = np.cumsum([len(component.points) for component in grid])[:-1]
        kept = [
            (component.only(yes.tolist()), tuple((own[yes] / total).tolist()))
            for component, own, yes in zip(grid, np.split(weights, ends), np.split(keep, ends), strict=True)
            if yes.any()
        ]
        return cls(tuple(component for component, _ in kept), tuple(own for _, own in kept))

    @classmethod
    def average(cls, mixtures: Sequence[ComponentMixture]) -> ComponentMixture:
        """The mixture that takes each of `mixtures` with the same probability."""
        components, log_weights = united(tuple((m.components, m.log_weights()) for m in mixtures))
        weights = np.exp(log_weights).mean(axis=0)
        return cls.of_columns(components, weights, np.ones(weights.size, dtype=bool))

    def log_weights(self) -> Floats:
        """The logarithms of all weights, concatenated."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(np.array([weight for own in self.weights for weight in own]))
        return logs

    def reaching(self, meanings: int) -> tuple[tuple[Component, ...], Floats]:
        """Components and their log-weights, concatenated; with larger sizes where `meanings` seen call for them."""
        return _reaching(self, meanings)

    def leaning(self, lean: float) -> ComponentMixture:
        """The mixture with `lean` more log-weight for each nat of prior entropy."""
        weights = np.exp(self.log_weights() + lean * prior_entropies(self.components))
        return self.of_columns(self.components, weights, np.ones(weights.size, dtype=bool))

    @cached_property
    def without_anchors(self) -> ComponentMixture:
        """The mixture without its anchored components."""
        free = np.array([not component.anchor for component in self.components for _ in component.points])
        return self if free.all() else self.of_columns(self.components, np.exp(self.log_weights()), free)


@lru_cache(maxsize=1024)
def _reaching(mixture: ComponentMixture, meanings: int) -> tuple[tuple[Component, ...], Floats]:
    components, weights = list(mixture.components), [list(own) for own in mixture.weights]
    finite = [c for c in components if isinstance(c, DirichletComponent) and not c.anchor]
    largest = max((c.sizes[-1] for c in finite), default=0)
    if 2 * meanings > largest > 0:
        for i, component in enumerate(components):
            if isinstance(component, PitmanYorComponent) or component.anchor:
                continue
            sizes, share = list(component.sizes), BEYOND * sum(weights[i])
            size = largest
            while size < 8 * meanings:
                size, share = 2 * size, share / 2
                sizes.append(size)
                weights[i].append(share)
            components[i] = DirichletComponent(component.alpha, component.sequences, tuple(sizes))
    flat = np.array([weight for own in weights for weight in own])
    with np.errstate(divide="ignore"):
        log_weights: Floats = np.log(flat / flat.sum())
    return tuple(components), log_weights


def united(
    parts: Sequence[tuple[tuple[Component, ...], Floats]],
) -> tuple[tuple[Component, ...], Floats]:
    """One grid with every column of several mixtures, and the log-weights of each mixture in it, one row each.

    A column that a mixture does not have has the log-weight -inf there.

    >>> from semtropy.entropy.components import SequencePrior
    >>> one, other = (DirichletComponent(1.0, SequencePrior(1.0), sizes) for sizes in ((1, 2), (2, 5)))
    >>> grid, rows = united([((one,), np.zeros(2)), ((other,), np.zeros(2))])
    >>> grid[0].points, rows.tolist()
    ((1, 2, 5), [[0.0, 0.0, -inf], [-inf, 0.0, 0.0]])
    """
    held: dict[Component, set[float]] = {}
    for components, _ in parts:
        for component in components:
            held.setdefault(_with_points(component, (1,)), set()).update(component.points)
    grid = tuple(_with_points(component, sorted(points)) for component, points in held.items())
    place = {key: i for i, key in enumerate(_columns(grid))}
    rows = np.full((len(parts), len(place)), -np.inf)
    for row, (components, log_weights) in zip(rows, parts, strict=True):
        # A column that stands twice has the weight of both.
        np.logaddexp.at(row, [place[key] for key in _columns(components)], log_weights)
    return grid, rows


def _columns(components: Sequence[Component]) -> list[tuple[Component, float]]:
    return [(_with_points(component, (1,)), point) for component in components for point in component.points]


def _with_points(component: Component, points: Sequence[float]) -> Component:
    """The same component with other sizes or concentrations."""
    if isinstance(component, DirichletComponent):
        return replace(component, sizes=tuple(int(point) for point in points))
    return replace(component, concentrations=tuple(float(point) for point in points))


@lru_cache(maxsize=1024)
def prior_entropies(components: tuple[Component, ...]) -> Floats:
    """The mean entropy of the meanings under each column of `components` before any observation, in nats.

    psi(K alpha + 1) - psi(alpha + 1) for K meanings, psi(c + 1) - psi(1 - d) for a Pitman-Yor process.
    """
    means = []
    for component in components:
        points = np.array(component.points, dtype=float)
        total = points * component.alpha if isinstance(component, DirichletComponent) else points
        means.append(digamma(total + 1) - digamma(component.alpha + 1))
    return np.concatenate(means)


class AnswerMeans(NamedTuple):
    """What the tokens of training answers are like in the mean; None where it is unknown.

    token_entropy  the largest token entropy along an answer, in nats
    doubt          `doubt` of the tokens that carry it
    """

    token_entropy: float | None = None
    doubt: float | None = None


def doubt(answer: JudgedAnswer) -> float | None:
    """How probable anything else was in the place of the least probable token that carries the answer, up to a limit.

    Beyond the limit it would say more about how a sentence is worded than about what it says.
    """
    if answer.carried_logprob is None:
        return None
    return min(-math.expm1(min(0.0, answer.carried_logprob)), MOST_DOUBT)


def tilt(components: Sequence[Component], answer: JudgedAnswer | None, centre: AnswerMeans) -> Floats:
    """What the tokens of an answer add to each log-weight, by how far they are above their means in training."""
    means = prior_entropies(tuple(components))
    if answer is None:
        return np.zeros(means.size)
    if answer.token_entropy is not None and centre.token_entropy is not None:
        return TILT * (answer.token_entropy - centre.token_entropy) * means
    own = doubt(answer)
    if own is not None and centre.doubt is not None:
        return DOUBT_TILT * (own - centre.doubt) * means
    return np.zeros(means.size)


# Training questions: their samples, and the evidence of their first few samples.


TRAINING_DRAWS = (8, 16)  # few, because the prior is used with few samples


def row_samples(row: Any) -> tuple[list[Sample], Partition]:
    """Samples and meanings of a recording's row, or of a dict of its schema."""
    samples = row["samples"]
    if any(sample.get("meaning") is None for sample in samples):
        raise InputError(
            f"question {row.get('id')!r} has samples without a meaning: run semtropy cluster first"
        )
    texts = [Sample(s["text"], s.get("logprob"), _tokens(s), None, s.get("complete", True)) for s in samples]
    return texts, Partition.of([sample["meaning"] for sample in samples])


def _tokens(sample: Mapping[str, Any]) -> tuple[Any, ...] | None:
    return tuple(sample["tokens"]) if sample.get("tokens") is not None else None


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """The evidence of one training question: of its first samples alone, of them after its answer, of the answer.

    `answered` is empty where the answer's log-probability is unknown. `ends` are the log-probabilities of the end
    tokens that are known. Where log-probabilities leave out the end token, it has its default probability.
    """

    alone: tuple[Evidence, ...]
    answered: tuple[Evidence, ...]
    answer_only: Evidence
    ends: tuple[float, ...] = ()

    @property
    def words(self) -> int:
        """The typical number of words of its answer and samples."""
        return self.alone[-1].words or NAME_WORDS

    @classmethod
    def of(cls, row: Any) -> TrainingQuestion:
        """From a row of a recording, or a dict of its schema; a training question is returned as it is."""
        if isinstance(row, cls):
            return row
        # A recording's row knows whether its log-probabilities can be used.
        arrays = getattr(row, "arrays", None)
        if arrays is not None:
            held = arrays()
            found = [held.evidence(range(n)) for n in _numbers(len(held))]
        else:
            samples, partition = row_samples(row)
            found = [
                Evidence.gather(samples[:n], Partition(partition.meanings[:n]))
                for n in _numbers(len(samples))
            ]
        found = [_whole(evidence) for evidence in found]
        answer, ends = found[0].answer, _end_logprobs(row)
        alone = tuple(replace(evidence, answer=None) for evidence in found)
        if answer is None or answer.logprob is None:
            return cls(alone, (), alone[0], ends)
        first = JudgedAnswer(
            0, answer.logprob, None, answer.token_entropy, carried_logprob=answer.carried_logprob
        )
        return cls(alone, tuple(found), Evidence(counts=(), answer=first), ends)


def _numbers(available: int) -> list[int]:
    if available == 0:
        raise InputError("a training question has no samples")
    return sorted({min(n, available) for n in TRAINING_DRAWS})


def _whole(evidence: Evidence) -> Evidence:
    """The evidence with the end token's probability taken as known, where it was left out."""
    return readings(evidence, DEFAULT_ENDS[1:2])[0].evidence


def _end_logprobs(row: Any) -> tuple[float, ...]:
    """The log-probabilities of the end tokens of a recording's row: its answer's, or those of its samples."""
    header = getattr(row, "header", None)
    if header is None or not header.logprobs_usable:
        return ()
    answer = row.get("answer") or {}
    values = answer.get("sampling_token_logprobs") if answer.get("complete") is not False else None
    if values:
        return (min(0.0, values[-1]),)
    known = [
        held["token_logprobs"][-1]
        for held in row["samples"]
        if held.get("token_logprobs") and held.get("complete") is not False
    ]
    return tuple(min(0.0, value) for value in known[:1])


SEQUENCE_PRIORS = (
    *(SequencePrior(theta) for theta in (0.03, 0.1, 0.3, 1.0)),
    SequencePrior(0.03, main=2, evenness=1.0),
    SequencePrior(0.1, main=2, evenness=1.0),
    *(SequencePrior(theta, discount=0.5) for theta in (0.1, 0.5, 2.0, 10.0)),
)
# Of sentences and paragraphs. A discount near 1 makes a new wording of a meaning as much evidence for it as a draw of
# unknown probability, and its own small probability hardly any evidence against it.
MANY_WORDINGS = (
    *(SequencePrior(theta) for theta in (0.1, 1.0)),
    *(SequencePrior(theta, discount=0.5) for theta in (0.5, 3.0, 20.0)),
    *(SequencePrior(theta, discount=0.9) for theta in (0.3, 3.0, 30.0)),  # with 300 integrals fail
)
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200)
# A discount of 0.02 is a light tail, nearly a Dirichlet process; 0.5 is a heavy one, as open questions have. With
# 0.25 in its place intervals on open questions are too narrow; 0.75 fits samples best, and overestimates entropy by a
# nat.
LIGHT, HEAVY = 0.02, 0.5
CONCENTRATIONS = {
    LIGHT: (0.03, 0.1, 0.3, 0.7, 1.5, 3.0, 6.0, 12.0, 25.0, 50.0, 100.0),
    HEAVY: (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0),
}
# Only questions without any common answer need a larger concentration than this. Such columns are kept where they
# explain more of the training questions than the least share; otherwise one odd question would raise every mean.
LARGE, LEAST_SHARE = 32.0, 0.02
PSEUDO_QUESTIONS = 20.0
ROUNDS, ROUNDS_AFTER_DROP = 400, 100
DISPENSABLE = 0.003  # nats a question of log-likelihood that dropping components may cost
NEGLIGIBLE = 0.02  # the share of the training questions that all dropped columns together may explain


def component_grid(priors: Sequence[SequencePrior] = SEQUENCE_PRIORS) -> tuple[Component, ...]:
    """The grid of components whose weights are fitted, with these priors over the sequences of a meaning."""
    return (
        *(DirichletComponent(1.0, sequences, SIZES) for sequences in priors),
        *(
            PitmanYorComponent(discount, sequences, concentrations)
            for discount, concentrations in CONCENTRATIONS.items()
            for sequences in priors
        ),
    )


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of training samples under a mixture, given the answers that they follow, where they follow any.

    evidence  of every row's samples, and its answer, under every column, each row up to a factor
    shares    the share of a question that each row is
    answer    the evidence of the answer alone; None where there is none
    """

    evidence: Floats
    shares: Floats
    answer: Floats | None = None

    def only(self, columns: NDArray[np.bool_]) -> Likelihood:
        """The same with some of the columns."""
        answer = None if self.answer is None else self.answer[:, columns]
        return Likelihood(self.evidence[:, columns], self.shares, answer)

    def possible(self) -> bool:
        """Whether some column explains each row at all."""
        return all(own.any(axis=1).all() for own in (self.evidence, self.answer) if own is not None)

    def step(self, weights: Floats) -> tuple[Floats, Floats]:
        """How many questions each column explains, and what a unit of weight costs there.

        Jensen's inequality for the evidence and a tangent for that of the answer, so that every step increases the
        likelihood.
        """
        explained = weights * ((self.shares / (self.evidence @ weights)) @ self.evidence)
        if self.answer is None:
            return explained, np.full(weights.size, self.shares.sum())
        return explained, (self.shares / (self.answer @ weights)) @ self.answer

    def log_likelihood(self, weights: Floats) -> float:
        """In nats, up to a constant."""
        before = 1.0 if self.answer is None else self.answer @ weights
        return float(self.shares @ np.log((self.evidence @ weights) / before))


def fit_weights(
    grid: Sequence[Component], likelihood: Likelihood, negligible: float = NEGLIGIBLE
) -> tuple[Floats, NDArray[np.bool_]]:
    """The weight of every column of the grid, and which columns are worth keeping.

    Components are dropped as long as that costs less than `DISPENSABLE` nats of log-likelihood a question, then
    columns that together explain a `negligible` share of the questions.
    """
    component = np.repeat(np.arange(len(grid)), [len(each.points) for each in grid])
    columns = np.ones(component.size, dtype=bool)
    weights, explained = _maximise(likelihood, np.ones(component.size), ROUNDS)
    best = likelihood.log_likelihood(weights)
    allowed = DISPENSABLE * float(likelihood.shares.sum())
    by_component = np.bincount(component, explained)
    finite = np.array([isinstance(each, DirichletComponent) for each in grid])[component]
    for least in np.argsort(by_component)[:-1].tolist():
        fewer = columns & (component != least)
        if finite.any() and not (fewer & finite).any():
            continue  # a question may have a known, finite number of meanings
        left = likelihood.only(fewer)
        if not left.possible():
            continue
        trial = _maximise(left, weights[fewer[columns]], ROUNDS_AFTER_DROP)
        value = left.log_likelihood(trial[0])
        if value >= best - allowed:
            best, columns, (weights, explained) = max(best, value), fewer, trial
    all_weights, all_explained = np.zeros((2, columns.size))
    all_weights[columns], all_explained[columns] = weights, explained
    return all_weights, columns & _matters(grid, all_explained, negligible)


def _maximise(likelihood: Likelihood, start: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Weights of most likelihood, and how many questions each column explains."""
    weights = start / start.sum()
    explained, pseudo = weights, PSEUDO_QUESTIONS / weights.size
    for _ in range(rounds):
        explained, cost = likelihood.step(weights)
        weights = (explained + pseudo) / (cost + pseudo * weights.size)
        weights /= weights.sum()
    return weights, explained


def _matters(grid: Sequence[Component], explained: Floats, negligible: float) -> NDArray[np.bool_]:
    """The columns worth keeping: all but those that together explain a `negligible` share of the training questions."""
    order = np.argsort(explained)
    dropped = np.cumsum(explained[order]) <= negligible * explained.sum()
    keep = np.ones(explained.size, dtype=bool)
    keep[order[dropped]] = False
    large = np.array([c.alpha == -HEAVY and point > LARGE for c in grid for point in c.points])
    if explained[large].sum() < LEAST_SHARE * explained.sum():
        keep &= ~large
    return keep


# A mixture of components fitted to training questions, in two passes over the grid.
#
# The first takes estimates of the evidence from the saddle point, quick for all components of the grid, and finds the
# few that the fit needs, on a part of the questions where there are many. The second integrates exactly, under those
# alone.


CHUNK = 256
TOLERANCE = 1e-2  # of the integrals: weights are the same to 1e-7 with a tenth of it
SELECTION = 100  # questions, at most, that choose the components


def fit_samples(
    questions: Sequence[TrainingQuestion], grid: Sequence[Component], negligible: float
) -> ComponentMixture:
    """The mixture under which the first samples of the questions, without an answer, are most probable."""

    def likelihood(
        questions: Sequence[TrainingQuestion], grid: Sequence[Component], log_evidence: LogEvidence
    ) -> Likelihood:
        evidences = [evidence for question in questions for evidence in question.alone]
        shares = np.array([1 / len(question.alone) for question in questions for _ in question.alone])
        return Likelihood(_scaled(_rows(evidences, grid, log_evidence)), shares)

    return _fit(likelihood, questions, grid, negligible)


def fit_answered(
    questions: Sequence[TrainingQuestion], grid: Sequence[Component], centre: AnswerMeans, negligible: float
) -> ComponentMixture:
    """The mixture under which the first samples are most probable, given the answer that they follow.

    `centre` is what the tokens of the answers are like in the mean.
    """

    def likelihood(
        questions: Sequence[TrainingQuestion], grid: Sequence[Component], log_evidence: LogEvidence
    ) -> Likelihood:
        joint = [evidence for question in questions for evidence in question.answered]
        counts = [len(question.answered) for question in questions]
        tilts = np.array([tilt(grid, evidence.answer, centre) for evidence in joint])
        before = _rows([question.answer_only for question in questions], grid, log_evidence)
        after = _rows(joint, grid, log_evidence)
        shares = np.repeat(1 / np.array(counts, dtype=float), counts)
        return Likelihood(_scaled(after + tilts), shares, _scaled(np.repeat(before, counts, axis=0) + tilts))

    return _fit(likelihood, questions, grid, negligible)


def _fit(
    likelihood: Fitted, questions: Sequence[TrainingQuestion], grid: Sequence[Component], negligible: float
) -> ComponentMixture:
    some = [_all_samples(question) for question in questions[:: math.ceil(len(questions) / SELECTION)]]
    _, keep = fit_weights(grid, likelihood(some, grid, estimated_log_evidence), negligible=0.0)
    ends = np.cumsum([len(component.points) for component in grid])[:-1]
    few = [component for component, own in zip(grid, np.split(keep, ends), strict=True) if own.any()]
    return ComponentMixture.of_columns(few, *fit_weights(few, likelihood(questions, few, _exact), negligible))


def _all_samples(question: TrainingQuestion) -> TrainingQuestion:
    """The question with the evidence of its most samples alone."""
    return replace(question, alone=question.alone[-1:], answered=question.answered[-1:])


def _exact(seen: Sequence[Observations], components: Sequence[Component]) -> Floats:
    columns = sum(len(component.points) for component in components)
    found = component_moments(seen, components, tolerance=TOLERANCE, log_prior=np.zeros(columns))
    return found.log_evidence


def _rows(evidences: Sequence[Evidence], grid: Sequence[Component], log_evidence: LogEvidence) -> Floats:
    """The log-evidence of every row under every column of the grid; equal rows are computed once."""
    distinct = {evidence: place for place, evidence in enumerate(dict.fromkeys(evidences))}
    seen = [Observations.of(evidence) for evidence in distinct]
    parts = [log_evidence(seen[i : i + CHUNK], grid) for i in range(0, len(seen), CHUNK)]
    return np.concatenate(parts)[[distinct[evidence] for evidence in evidences]]


def _scaled(log_evidence: Floats) -> Floats:
    """Evidence, each row up to a factor."""
    scaled: Floats = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    return scaled

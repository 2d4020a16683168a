"""Second opinions in studies: two recordings of the same questions, joined, weighed and measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..estimators import load_estimator
from ..inquiry.steps import LabelledDraws
from ..meaning import cluster, load_judge
from ..nouns import Sample
from ..recording import Recording, read_recording
from ..second import Opinion, OpinionWeights
from .evaluate.metrics import auroc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..nouns import Floats, Judge
    from ..recording import Row
    from .evaluate.prepare import RecordingSource

STEADY = 0.7
"""The share of all stored samples that agree with an answer which is called steady."""
_OWN, _OTHER = 20, 8  # stored samples of a question that are compared
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class JoinedQuestion:
    """One question that both models answered; labels hold for the answers of both.

    right         whether the judged answer is right
    answer        the judged answer of the first model
    label         its meaning
    samples       samples of the first model
    labels        their meanings
    other_labels  the meanings of the second model's samples
    """

    right: bool
    answer: Sample
    label: int
    samples: tuple[Sample, ...]
    labels: tuple[int, ...]
    other_labels: tuple[int, ...]


def join(
    first: RecordingSource, second: RecordingSource, judge: str | Judge = "builtin", *, seed: int = 0
) -> list[JoinedQuestion]:
    """The graded questions of `first` that `second` has too, with meanings by `judge`."""
    one, other = (each if isinstance(each, Recording) else read_recording(each) for each in (first, second))
    known = {(row.context, row.question): row for row in other.rows}
    asked = load_judge(judge) if isinstance(judge, str) else judge
    rng = np.random.default_rng(seed)
    found = [
        _joined(row, known[row.context, row.question], asked, rng)
        for row in one.rows
        if (row.context, row.question) in known and row.answer is not None and row.answer.correct is not None
    ]
    if len(found) < 2 * _FOLDS or len({each.right for each in found}) < 2:
        raise InputError(
            f"{len(found)} graded questions are in both recordings: a second opinion takes at least {2 * _FOLDS}, "
            "with right and wrong answers, and the same text of question and context"
        )
    return found


def _joined(row: Row, other: Row, judge: Judge, rng: np.random.Generator) -> JoinedQuestion:
    answer = row.answer
    assert answer is not None
    own, theirs = _some(row.samples, _OWN, rng), _some(other.samples, _OTHER, rng)
    texts = [answer.text, *(each.text for each in (*own, *theirs))]
    label, *labels = cluster(row.question, texts, judge)
    judged = Sample(answer.text, sampling_logprob=answer.sampling_logprob)
    return JoinedQuestion(
        bool(answer.correct), judged, label, own, tuple(labels[: len(own)]), tuple(labels[len(own) :])
    )


def _some(samples: Sequence[Sample], most: int, rng: np.random.Generator) -> tuple[Sample, ...]:
    return tuple(samples[i] for i in rng.permutation(len(samples))[:most])


def agreements(questions: Sequence[JoinedQuestion], orders: Sequence[Sequence[int]]) -> Floats:
    """The agreement of the first model with each answer, by the samples that `orders` picks."""
    evidences = []
    for question, order in zip(questions, orders, strict=True):
        samples, labels = [question.samples[i] for i in order], [question.labels[i] for i in order]
        evidences.append(LabelledDraws(question.answer, samples, question.label, labels).evidence())
    estimator: Any = load_estimator("bayes")
    return np.asarray(estimator.agreements(evidences), dtype=float)


def words(questions: Sequence[JoinedQuestion], orders: Sequence[Sequence[int]]) -> Floats:
    """`Opinion.weight` of the second model's answers that `orders` picks."""
    return np.array(
        [
            Opinion.of(question.label, [question.other_labels[i] for i in order]).weight
            if len(order)
            else 0.0
            for question, order in zip(questions, orders, strict=True)
        ]
    )


@dataclass(frozen=True, slots=True)
class CostPoint:
    """AUROC at one cost: by own samples alone, by as many answers of the second model, and by both, weighed."""

    cost: int
    own: float
    second: float
    both: float
    fitted: float


@dataclass(frozen=True, slots=True)
class SecondStudy:
    """What a second model is worth for the answers of a first one.

    questions     how many graded questions both answered
    right         the share of the first model's answers that are right
    points        AUROC against cost; `fitted` has weights of the other questions instead of those that ship
    steady_wrong  the number of steady answers that are wrong
    steady_right  the number of steady answers that are right
    caught        the share of steady and wrong answers that are flagged
    false_alarms  the share of steady and right answers that are flagged
    asked         answers of the second model for a steady answer
    """

    questions: int
    right: float
    points: tuple[CostPoint, ...]
    steady_wrong: int
    steady_right: int
    caught: float | None
    false_alarms: float | None
    asked: float | None

    def table(self) -> str:
        """The study as a table in Markdown, with the steady errors below it."""
        lines = ["| cost | own | second | both | both, fitted |", "|---|---|---|---|---|"]
        lines += [
            f"| {p.cost} | {p.own:.3f} | {p.second:.3f} | {p.both:.3f} | {p.fitted:.3f} |"
            for p in self.points
        ]
        lines += ["", f"{self.questions} questions, {self.right:.0%} right."]
        if self.caught is not None and self.false_alarms is not None and self.asked is not None:
            lines.append(
                f"Of {self.steady_wrong} answers that are steady and wrong, {self.caught:.0%} are flagged; of "
                f"{self.steady_right} that are steady and right, {self.false_alarms:.0%}; {self.asked:.1f} answers of "
                "the second model each."
            )
        return "\n".join(lines) + "\n"


def study_second(
    questions: Sequence[JoinedQuestion],
    *,
    costs: Sequence[int] = tuple(range(1, 11)),
    seeds: int = 5,
    seed: int = 0,
) -> SecondStudy:
    """AUROC against cost, and how many steady errors are caught.

    Both: a third of the cost, rounded up, goes to the second model.
    """
    weights = OpinionWeights.default()
    right = np.array([question.right for question in questions])
    fold = np.arange(len(questions)) % _FOLDS
    points = []
    for cost in costs:
        asked = min(-(-cost // 3), _OTHER)
        found = [[], [], [], []]  # type: list[list[float]]
        for own_orders, other_orders in _orders(questions, seeds, seed):
            alone = agreements(questions, [order[:cost] for order in own_orders])
            few = agreements(questions, [order[: cost - asked] for order in own_orders])
            word = words(questions, [order[:asked] for order in other_orders])
            both = _odds(weights, few, word)
            held = np.empty_like(both)
            for each in range(_FOLDS):
                test = fold == each
                refit = OpinionWeights.fit(few[~test], word[~test], right[~test])
                held[test] = _odds(refit, few[test], word[test])
            only = words(questions, [order[:cost] for order in other_orders])
            for values, score in zip(found, (alone, only, both, held), strict=True):
                values.append(float(auroc(-score, ~right)))
        points.append(CostPoint(cost, *(float(np.mean(values)) for values in found)))
    return _with_steady(questions, weights, tuple(points), right, seeds, seed)


def _orders(
    questions: Sequence[JoinedQuestion], seeds: int, seed: int
) -> Iterator[tuple[list[list[int]], list[list[int]]]]:
    for repeat in range(seeds):
        rng = np.random.default_rng([seed, repeat])
        own = [rng.permutation(len(each.labels)).tolist() for each in questions]
        yield own, [rng.permutation(len(each.other_labels)).tolist() for each in questions]


def _odds(weights: OpinionWeights, own: Floats, word: Floats) -> Floats:
    return np.array([weights.log_odds(float(each)) for each in own]) + weights.other * word


def _with_steady(
    questions: Sequence[JoinedQuestion],
    weights: OpinionWeights,
    points: tuple[CostPoint, ...],
    right: NDArray[np.bool_],
    seeds: int,
    seed: int,
) -> SecondStudy:
    shares = np.array([np.mean([m == each.label for m in each.labels]) for each in questions])
    steady = shares >= STEADY
    flagged, asked = [], []
    for _, orders in _orders(questions, seeds, seed):
        opinions = [
            sequential(weights, float(share), question.label, [question.other_labels[i] for i in order])
            for question, share, order in zip(questions, shares, orders, strict=True)
        ]
        flagged.append([weights(float(a), [said]) < 0.5 for a, said in zip(shares, opinions, strict=True)])
        asked.append([said.answers for said in opinions])
    wrong_ones, right_ones = steady & ~right, steady & right
    flags, answers = np.mean(flagged, axis=0), np.mean(asked, axis=0)

    def share(part: NDArray[np.bool_], values: Floats = flags) -> float | None:
        return float(values[part].mean()) if part.any() else None

    return SecondStudy(
        len(questions),
        float(right.mean()),
        points,
        int(wrong_ones.sum()),
        int(right_ones.sum()),
        share(wrong_ones),
        share(right_ones),
        share(steady, answers),
    )


def sequential(weights: OpinionWeights, own: float, judged: int, meanings: Sequence[int]) -> Opinion:
    """The opinion by as many answers as a check asks for."""
    opinion, odds = Opinion(0, 0), weights.log_odds(own)
    while opinion.answers < len(meanings) and weights.worth_asking(odds, opinion):
        opinion = Opinion.of(judged, meanings[: opinion.answers + 1])
    return opinion


def fit_weights(
    questions: Sequence[JoinedQuestion], *, seeds: int = 5, seed: int = 0, about: dict[str, Any] | None = None
) -> OpinionWeights:
    """Weights of a second model, fitted on graded questions that both answered, by one to four answers of it."""
    right = np.array([question.right for question in questions])
    parts: list[tuple[Floats, Floats, Any]] = []
    for own_orders, other_orders in _orders(questions, seeds, seed):
        own = agreements(questions, [order[:5] for order in own_orders])
        parts += [(own, words(questions, [order[:n] for order in other_orders]), right) for n in range(1, 5)]
    own, word, graded = (np.concatenate(each) for each in zip(*parts, strict=True))
    return OpinionWeights.fit(own, word, graded, about={"questions": len(questions), **(about or {})})

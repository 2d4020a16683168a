"""The questions of a study, and the scores of estimators and scorers along random orders of their samples."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import RecordingError
from ...estimators import NAMES, required_column
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer
from ...scorers.row import ScorerRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...estimators.fitting import TrainingQuestion
    from ...nouns import Beliefs, Estimator, Evidence, Floats
    from ...recording import Row
    from ...recording.arrays import SampleArrays
    from ...scorers.row import Scorer


# What sees evidence alone: the estimators, and the agreement of `bayes`.
ESTIMATORS = ("bayes", "agreement", *NAMES[1:])


@dataclass(frozen=True, eq=False, slots=True)
class StudyQuestion:
    """One question of a study, reduced to what an evaluation needs.

    Texts are dropped once identical sequences are numbered, so a thousand questions with a hundred samples each take a
    few megabytes and are cheap to send to another process.

    id             the id of its row
    wrong          whether the judged answer is wrong; None where it has no grade
    row            its samples and its answer as scorers see them
    stored_scores  the scores that other tools stored in the row
    training       what a `Prior` is fitted on; None where no method needs one
    """

    id: str
    wrong: bool | None
    row: ScorerRow
    stored_scores: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)
    training: TrainingQuestion | None = None

    @classmethod
    def of(cls, row: Row) -> StudyQuestion:
        """From a row of a recording."""
        answer = row.answer
        wrong = None if answer is None or answer.correct is None else not answer.correct
        return cls(row.id, wrong, ScorerRow.of(row), row.scores)

    @property
    def arrays(self) -> SampleArrays:
        """Its samples as arrays."""
        return self.row.arrays

    def missing(self, method: str) -> list[str]:
        """The columns that a method needs and the question lacks.

        One usable log-probability is enough for an estimator: a sample cut off by a length limit has none.
        """
        if method in SCORERS:
            return load_scorer(method).missing(self.row)
        if method not in ESTIMATORS:
            return [] if method in self.stored_scores else [f"scores.{method}"]
        there = {
            None: True,
            "samples[].logprob": bool(self.arrays.weighed.any()),
            "samples[].token_logprobs": self.arrays.lengths is not None,
            "answer.meaning": self.arrays.answer is not None,
        }
        column = required_column(method)
        return [] if column is None or there[column] else [column]


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that compares runs of digits as numbers, so that "q9" sorts before "q10".

    >>> sorted(["q10", "q9", "2"], key=natural_key)
    ['2', 'q9', 'q10']
    """
    parts = re.split(r"([0-9]+)", text)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)


def sorted_by_id(rows: Iterable[Row], *, path: str | None = None) -> list[Row]:
    """The rows in the natural order of their ids; an empty recording or a repeated id is a `RecordingError`."""
    ordered = sorted(rows, key=lambda row: natural_key(row.id))
    if not ordered:
        raise RecordingError("the recording holds no questions", path=path)
    for one, other in itertools.pairwise(ordered):
        if one.id == other.id:
            raise RecordingError(f"the id {one.id!r} appears twice: ids must be unique", path=path)
    return ordered


# Evidence without what `bayes` does not look at, so that a study estimates equal evidence once.
#
# In the two-level model a sequence of known probability that is drawn again says nothing, and neither the order of
# the meanings nor that of their sequences matters. Of the evidence along an order of samples, about 40% differs in that
# only.


# The methods that see sequences of known probability and not how often they were drawn.
SEE_SEQUENCES = frozenset({"bayes", "agreement"})


def without_repeats(evidence: Evidence) -> Evidence:
    """The evidence with each known sequence drawn once, sequences and meanings in descending order.

    >>> from semtropy import Evidence
    >>> seen = Evidence(counts=(1, 5), floors=(0.2, 0.7), distinct=(1, 1))
    >>> without_repeats(seen).counts, without_repeats(seen).floors
    ((1, 1), (0.7, 0.2))
    """
    if any(evidence.prefix_draws) or evidence.bare_floors:
        return evidence
    logprobs, answer = [sorted(own, reverse=True) for own in evidence.logprobs], evidence.answer
    judged = None if answer is None else answer.meaning
    order = sorted(
        range(len(logprobs)), key=lambda j: (logprobs[j], evidence.no_logprob[j], j == judged), reverse=True
    )
    if answer is not None and answer.meaning < len(order):
        own = evidence.logprobs[answer.meaning]
        place = None if answer.sequence is None else logprobs[answer.meaning].index(own[answer.sequence])
        answer = replace(answer, meaning=order.index(answer.meaning), sequence=place)
    return type(evidence)(
        counts=tuple(len(logprobs[j]) + evidence.no_logprob[j] for j in order),
        floors=tuple(math.fsum(map(math.exp, logprobs[j])) for j in order),
        distinct=tuple(len(logprobs[j]) for j in order),
        no_logprob=tuple(evidence.no_logprob[j] for j in order),
        logprobs=tuple(tuple(logprobs[j]) for j in order),
        answer=answer,
        words=evidence.words,
    )


# Samples are drawn with replacement among a question's stored ones, in several repeats.
#
# A repeat of a question is one order of samples. Its first n samples are those of the fixed budget n, and the adaptive
# curves follow the same order. The order is seeded by the study's seed, the number of the repeat and the question's id
# through a stable hash, so no other question, process or row order changes it.


@dataclass(frozen=True, slots=True)
class ResamplingPlan:
    """How samples are drawn: `repeats` orders of `budget` samples per question, from one `seed`.

    Scores are computed at every step of an order from `first` samples on, or only at the numbers of samples in
    `steps`. With `first` 0, estimators that use the judged answer are also scored before the first sample.
    """

    budget: int = 10
    repeats: int = 5
    seed: int = 0
    steps: tuple[int, ...] | None = None
    first: int = 1

    @property
    def scored_steps(self) -> tuple[int, ...]:
        """The numbers of samples at which scores are computed, ascending."""
        return tuple(range(self.first, self.budget + 1)) if self.steps is None else self.steps


@dataclass(frozen=True, slots=True)
class Scores:
    """One method's scores, shape (budgets, repeats, questions); (1, 1, questions) where they need no samples.

    `first` is the budget of the first row, None where the scores are the same at every budget.
    """

    mean: Floats
    variance: Floats | None = None
    first: int | None = 1

    def row(self, budget: int) -> int | None:
        """The row of a budget, None where the method has no score for it."""
        if self.first is None:
            return 0
        return budget - self.first if 0 <= budget - self.first < len(self.mean) else None

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several groups of questions, concatenated, from the first budget that all of them have."""
        first = max(part.first or 0 for part in parts)
        cut = [first - (part.first or 0) for part in parts]
        variances = [
            part.variance[at:] for part, at in zip(parts, cut, strict=True) if part.variance is not None
        ]
        return cls(
            np.concatenate([part.mean[at:] for part, at in zip(parts, cut, strict=True)], axis=-1),
            np.concatenate(variances, axis=-1) if len(variances) == len(parts) else None,
            first,
        )


def seed_words(*parts: object) -> list[int]:
    """Eight 32-bit words derived from the parts by SHA-256, to seed a generator.

    >>> seed_words(0, "q1")[:2]
    [401151887, 4058411936]
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 32, 4)]


def sample_order(question: StudyQuestion, plan: ResamplingPlan, repeat: int) -> list[int]:
    """The places of the samples drawn, in order; the order of a smaller budget is a prefix."""
    rng = np.random.default_rng(seed_words("draw", plan.seed, repeat, question.id))
    places: list[int] = rng.integers(0, len(question.arrays), size=plan.budget, dtype=np.int64).tolist()
    return places


def estimate_orders(
    questions: Sequence[StudyQuestion], estimators: Mapping[str, Estimator], plan: ResamplingPlan
) -> dict[str, Scores]:
    """Scores of every estimator at every budget, repeat and question.

    Equal evidence is common (an easy question gives the same answer every time), so each estimator sees each
    distinct evidence once.
    """
    answered = all(question.arrays.answer is not None for question in questions)
    steps = [n for n in plan.scored_steps if n > 0 or answered]
    wanted = frozenset(steps)
    places: dict[Evidence, int] = {}
    which = np.array(
        [
            places.setdefault(evidence, len(places))
            for question in questions
            for repeat in range(plan.repeats)
            for evidence in question.arrays.path(sample_order(question, plan, repeat))
            if evidence.n in wanted
        ],
        dtype=np.intp,
    )
    which = which.reshape(len(questions), plan.repeats, len(steps)).transpose(2, 1, 0)
    distinct = list(places)
    scores = {}
    for name, estimator in estimators.items():
        skipped = 0 if estimator.uses_answer or steps[0] > 0 else 1  # no score before the first sample
        if name in SEE_SEQUENCES:
            fewer: dict[Evidence, int] = {}
            at = np.array([fewer.setdefault(without_repeats(each), len(fewer)) for each in distinct])
            scores[name] = _scores(estimator, list(fewer), at[which[skipped:]], steps[skipped])
        else:
            scores[name] = _scores(estimator, distinct, which[skipped:], steps[skipped])
    return scores


def _scores(
    estimator: Estimator, distinct: Sequence[Evidence], which: NDArray[np.intp], first: int
) -> Scores:
    used = np.unique(which)
    beliefs = estimator.batch([distinct[place] for place in used])
    at = np.searchsorted(used, which)
    return Scores(beliefs.mean[at], None if beliefs.variance is None else beliefs.variance[at], first)


def score_orders(
    questions: Sequence[StudyQuestion], scorers: Sequence[Scorer], plan: ResamplingPlan
) -> dict[str, Scores]:
    """Scores of every scorer of samples at every budget, repeat and question, along the same orders."""
    steps = [n for n in plan.scored_steps if n > 0]
    orders = [(each.row, sample_order(each, plan, at)) for each in questions for at in range(plan.repeats)]
    found: dict[str, list[Beliefs]] = {scorer.name: [] for scorer in scorers}
    for n in steps:
        rows = [row.pick(order[:n]) for row, order in orders]
        for scorer in scorers:
            found[scorer.name].append(scorer.many(rows))
    shape = (len(steps), len(questions), plan.repeats)
    return {name: _stacked(beliefs, shape, steps[0]) for name, beliefs in found.items()}


def _stacked(beliefs: Sequence[Beliefs], shape: tuple[int, int, int], first: int) -> Scores:
    mean = np.stack([each.mean for each in beliefs]).reshape(shape).transpose(0, 2, 1)
    variances = [each.variance for each in beliefs if each.variance is not None]
    if len(variances) < len(beliefs):
        return Scores(mean, None, first)
    return Scores(mean, np.stack(variances).reshape(shape).transpose(0, 2, 1), first)

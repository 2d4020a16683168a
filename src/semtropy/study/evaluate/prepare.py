"""The first step of a study: read a recording, split its questions, see what it can carry, fit priors."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...estimators import load_estimator
from ...estimators.histogram import plug_in
from ...recording import Recording, Row, read_recording
from ...scorers import load_scorer
from .questions import StudyQuestion, sorted_by_id
from .resample import seed_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...nouns import Belief, Beliefs, Estimator, Evidence

__all__ = [
    "CONSTANT",
    "ESTIMATORS",
    "EstimatorSpec",
    "Fold",
    "PreparedRecording",
    "Split",
    "constant_scores",
    "prepare",
]

RecordingSource = str | os.PathLike[str] | Recording

# What a study compares, in the order of its tables. `length` is its own baseline: the longer, the more
# suspicious.
ESTIMATORS = (
    "bayes",
    "bayes-paper",
    "histogram",
    "rescaled",
    "rescaled-length",
    "log-likelihood",
    "p-true",
    "length",
)
# Scores of the answer itself: the same at every budget.
CONSTANT = frozenset({"log-likelihood", "p-true", "length"})


class Clipped:
    """`rescaled` where a draw holds nothing but samples cut off by a length limit.

    Those have no probability, and one draw in thousands must not end a study: they count as the least weight that the
    estimator knows, as improbable sequences do.
    """

    name = "rescaled"
    has_variance = False

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator

    def __call__(self, evidence: Evidence) -> Belief:
        return self._estimator(_as_improbable(evidence))

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        return self._estimator.batch([_as_improbable(evidence) for evidence in evidences])


def _as_improbable(evidence: Evidence) -> Evidence:
    return (
        evidence if any(evidence.string_floors) else replace(evidence, no_logprob=(0,) * len(evidence.counts))
    )


@dataclass(frozen=True, slots=True)
class EstimatorSpec:
    """An estimator to be loaded where it is used: its name and its options, the prior among them."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Estimator:
        """The estimator itself."""
        made = load_estimator(self.name, **self.options)
        return Clipped(made) if self.name == "rescaled" else made


@dataclass(frozen=True, slots=True)
class Fold:
    """Test questions with the estimators that were fitted on others; the entropy that parts those best."""

    test: tuple[StudyQuestion, ...]
    specs: Mapping[str, EstimatorSpec]
    threshold: float


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """One recording, ready: its folds, the methods it can carry, and what a reader should know."""

    model: str
    dataset: str
    train: int | None
    folds: tuple[Fold, ...]
    methods: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def join(cls, pieces: Sequence[PreparedRecording]) -> PreparedRecording:
        """The pieces of one recording, each with its own fold."""
        return replace(pieces[0], folds=tuple(fold for piece in pieces for fold in piece.folds))

    @property
    def test(self) -> list[StudyQuestion]:
        """Every tested question, fold after fold."""
        return [question for fold in self.folds for question in fold.test]


@dataclass(frozen=True, slots=True)
class Split:
    """Who trains and who is tested.

    The first `train` questions train the priors and the rest are tested; `folds` trains and tests across folds
    instead. "First" is by the natural_key order of ids, or by chance from the seed `shuffle`.
    """

    train: int = 200
    folds: int | None = None
    shuffle: int | None = None

    @property
    def pieces(self) -> int:
        """How many priors are fitted, each on its own."""
        return self.folds or 1

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """The rows as they are split; no other question, process or row order moves one."""
        if self.shuffle is None:
            return list(rows)
        return sorted(rows, key=lambda row: seed_words("shuffle", self.shuffle, row.id))

    def places(self, count: int, where: str) -> list[tuple[list[int], list[int]]]:
        """(training, test) places; question i is in fold i modulo `folds`."""
        if self.folds is None:
            if self.train < 1:
                raise InputError(f"--train is {self.train}: a prior needs at least one training question")
            if self.train >= count:
                raise InputError(
                    f"{where}: {count} questions, and --train {self.train} leaves none to test: "
                    f"give a smaller --train, or --folds 5 to train and test on all"
                )
            return [(list(range(self.train)), list(range(self.train, count)))]
        if not 2 <= self.folds <= count:
            raise InputError(f"{where}: --folds is {self.folds}: from 2 to the number of questions, {count}")
        return [
            ([at for at in range(count) if at % self.folds != fold], list(range(fold, count, self.folds)))
            for fold in range(self.folds)
        ]


def prepare(
    source: RecordingSource,
    methods: Sequence[str],
    *,
    split: Split,
    piece: int = 0,
    alphas: Sequence[float] = (),
) -> PreparedRecording:
    """Read and split one recording, and fit the priors of `methods` for one piece of the split: a fold, or all."""
    recording = source if isinstance(source, Recording) else read_recording(source)
    path = None if isinstance(source, Recording) else str(source)
    model, dataset = recording.header.model or "unknown model", recording.header.dataset or "unknown dataset"
    where = f"{model} on {dataset}"
    rows = split.order(sorted_by_id(recording, path=path))
    del recording
    places = split.places(len(rows), where)
    asked = [StudyQuestion.of(row) for row in rows]
    tested = [asked[at] for _, test in places for at in test]
    kept, notes = _looked_over(methods, tested, where)
    training, test = places[piece]
    fold = Fold(
        tuple(asked[at] for at in test if asked[at].wrong is not None),
        _fit([rows[at] for at in training], kept, alphas),
        _parting_entropy([asked[at] for at in training]),
    )
    return PreparedRecording(
        model, dataset, None if split.folds else split.train, (fold,), tuple(kept), tuple(notes)
    )


def _looked_over(
    methods: Sequence[str], tested: Sequence[StudyQuestion], where: str
) -> tuple[list[str], list[str]]:
    """The methods that the tested questions can carry, and what a reader should know of them."""
    graded = [question for question in tested if question.wrong is not None]
    if not graded:
        raise InputError(
            f"{where}: no tested question has a grade (answer.correct): grade the recording first"
        )
    notes = []
    if len(graded) < len(tested):
        notes.append(
            f"{where}: {len(tested) - len(graded)} of {len(tested)} test questions have no grade, left out"
        )
    kept, dropped = _carried(methods, graded)
    notes += [f"{where}: {name} is dropped: {why}" for name, why in dropped.items()]
    no_logprob = sum(int((question.draws.sequences < 0).sum()) for question in graded)
    if no_logprob and "rescaled" in kept:
        notes.append(
            f"{where}: {no_logprob} of {sum(len(question.draws) for question in graded)} samples have no probability "
            "(cut off by a length limit, say): rescaled gives them its least weight"
        )
    return kept, notes


def constant_scores(name: str, questions: Sequence[StudyQuestion]) -> list[float]:
    """The score of each question's answer by a method that draws no samples."""
    if name == "length":
        return [float(_there(question.answer_length)) for question in questions]
    scorer = load_scorer(name)
    column = "p_true" if name == "p-true" else "answer_logprob"
    return [scorer(scorer.sees(_there(getattr(question, column)))) for question in questions]


def _there(value: float | None) -> float:
    assert value is not None, "a method that lacks a column is dropped before"
    return value


def _carried(methods: Sequence[str], graded: Sequence[StudyQuestion]) -> tuple[list[str], dict[str, str]]:
    """The methods these questions have the columns for, and why each of the others is dropped."""
    needs = {
        "rescaled": ("samples[].logprob that can be used", [q.priced for q in graded]),
        "rescaled-length": ("samples[].token_logprobs", [q.draws.lengths is not None for q in graded]),
        "log-likelihood": ("answer.logprob", [q.answer_logprob is not None for q in graded]),
        "p-true": ("p_true", [q.p_true is not None for q in graded]),
        "length": ("answer.text", [q.answer_length is not None for q in graded]),
    }
    kept, dropped = [], {}
    for name in methods:
        column, present = needs.get(name, ("", []))
        lacking = len(present) - sum(present)
        if lacking:
            dropped[name] = f"{lacking} of {len(present)} tested questions lack {column}"
        else:
            kept.append(name)
    return kept, dropped


def _fit(
    training: Sequence[Row], methods: Sequence[str], alphas: Sequence[float]
) -> dict[str, EstimatorSpec]:
    """How to load each sampling method; `bayes-paper` under another alpha is called bayes-paper@alpha."""
    specs: dict[str, EstimatorSpec] = {}
    if "bayes" in methods:
        from ...estimators import Prior

        specs["bayes"] = EstimatorSpec("bayes", {"prior": Prior.fit(training)})
    if "bayes-paper" in methods:
        from ...estimators import PaperPrior

        prior = PaperPrior.fit(training)
        specs["bayes-paper"] = EstimatorSpec("bayes-paper", {"prior": prior})
        for alpha in alphas:
            specs[f"bayes-paper@{alpha:g}"] = EstimatorSpec("bayes-paper", {"prior": prior, "alpha": alpha})
    for name in methods:
        if name not in CONSTANT and name not in specs:
            specs[name] = EstimatorSpec(name)
    # The yardstick of every saving, whether or not it was asked for.
    specs.setdefault("histogram", EstimatorSpec("histogram"))
    return specs


def _parting_entropy(training: Sequence[StudyQuestion]) -> float:
    """The entropy that best parts wrong from right among training questions (Youden), for rules that need
    one.

    Of all samples of each question; the median where grades are missing or all alike. Always above 0.
    """
    entropies = np.array([plug_in(np.bincount(question.draws.meanings).tolist()) for question in training])
    graded = np.array([question.wrong is not None for question in training])
    wrong = np.array([bool(question.wrong) for question in training])[graded]
    if wrong.all() or not wrong.any():
        return max(float(np.median(entropies)), 1e-3)
    values = np.unique(entropies[graded])
    cuts = np.append((values[1:] + values[:-1]) / 2, values[-1])
    above = entropies[graded] > cuts[:, None]
    gain = above[:, wrong].mean(axis=1) - above[:, ~wrong].mean(axis=1)
    return max(float(cuts[gain.argmax()]), 1e-3)

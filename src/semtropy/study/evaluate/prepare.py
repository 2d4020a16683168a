"""The first two steps of an evaluation: read and split a recording, then fit what the estimators of a fold need."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...estimators import PaperPrior, Prior, load_method
from ...estimators.counts import DEFAULT_SIZE, median_size, plug_in
from ...estimators.fitting import TrainingQuestion
from ...recording import Recording, Row, read_recording
from ...scorers import NAMES as SCORERS
from ...scorers.row import REMEDIES
from .resampling import ESTIMATORS, Scores, StudyQuestion, seed_words, sorted_by_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...nouns import Estimator

RecordingSource = str | os.PathLike[str] | Recording

# In the order of the tables: estimators of the entropy, scorers, and the naive baseline last.
METHODS = (*ESTIMATORS, *SCORERS)
"""The estimators and scorers that `evaluate` compares."""
# What a `Prior` is fitted for.
NEED_PRIOR = frozenset({"bayes", "agreement"})


@dataclass(frozen=True, slots=True)
class Split:
    """A train/test split, or cross-validation.

    The first `train` questions fit the priors and the rest are tested; with `folds`, each fold is tested with priors
    fitted on the others. The order is the natural order of ids, or random from the seed `shuffle`.
    """

    train: int = 200
    folds: int | None = None
    shuffle: int | None = None

    @property
    def pieces(self) -> int:
        """How many times priors are fitted: once, or once per fold."""
        return self.folds or 1

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """The rows in the order of the split; it depends on the seed and each row's id alone."""
        if self.shuffle is None:
            return list(rows)
        return sorted(rows, key=lambda row: seed_words("shuffle", self.shuffle, row.id))

    def indices(self, count: int, where: str) -> list[tuple[list[int], list[int]]]:
        """(training, test) indices for each piece, of `count` questions; question i is in fold i modulo `folds`."""
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


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """What to prepare of each recording.

    methods  the names to compare; None for all there are, and every score that is stored in the recording
    split    which questions train and which are tested
    alphas   further values of alpha for `bayes-paper`
    pool     use only the first samples of each question, this many
    """

    methods: tuple[str, ...] | None = None
    split: Split = field(default_factory=Split)
    alphas: tuple[float, ...] = ()
    pool: int | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Questions to test, and what their estimators are fitted on, or were.

    train       the training questions; dropped once the estimators are fitted
    test        the graded test questions
    methods     the names of the methods
    alphas      further values of alpha for `bayes-paper`
    size        the number of meanings K that `james-stein` and `nsb` assume: one for all folds, because folds with
                different K would shift the estimates of their questions against those of other folds
    estimators  what loads each estimator, in the process that uses it
    threshold   the entropy threshold learned from the training questions, in nats
    """

    train: tuple[StudyQuestion, ...] = ()
    test: tuple[StudyQuestion, ...] = ()
    methods: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()
    size: int = DEFAULT_SIZE
    estimators: Mapping[str, Callable[[], Estimator]] = field(default_factory=dict)
    threshold: float = 0.0


@dataclass(frozen=True, slots=True)
class StudyRecording:
    """One recording on its way through a study: split into folds as it is read, with scores in the end.

    train    the number of training questions; None under cross-validation
    methods  those it has the columns for
    notes    what a reader should know
    scores   of all test questions, by method
    """

    model: str
    dataset: str
    train: int | None
    folds: tuple[Fold, ...]
    methods: tuple[str, ...]
    notes: tuple[str, ...] = ()
    scores: Mapping[str, Scores] = field(default_factory=dict)

    @property
    def test(self) -> list[StudyQuestion]:
        """All test questions, fold by fold."""
        return [question for fold in self.folds for question in fold.test]


def read_study(source: RecordingSource, options: PrepareOptions) -> StudyRecording:
    """Read one recording, once for all folds."""
    split = options.split
    recording = source if isinstance(source, Recording) else read_recording(source)
    path = None if isinstance(source, Recording) else str(source)
    header = recording.header
    model, dataset = header.model or "unknown model", header.dataset or "unknown dataset"
    where = f"{model} on {dataset}"
    rows = split.order(sorted_by_id(recording, path=path))
    del recording
    if options.pool is not None:
        rows = [row.first(options.pool) for row in rows]
    methods = options.methods or (*METHODS, *stored_names(rows))
    indices = split.indices(len(rows), where)
    questions = list(map(StudyQuestion.of, rows))
    tested = [questions[at] for _, test in indices for at in test]
    kept, notes = _choose_methods(methods, tested, where, header.why_logprobs_unusable)
    trained = {at for training, _ in indices for at in training}
    if NEED_PRIOR & set(kept):
        for at in trained:
            questions[at] = replace(questions[at], training=TrainingQuestion.of(rows[at]))
    size = median_size(len(np.unique(questions[at].arrays.meanings)) for at in trained)
    folds = tuple(
        Fold(
            tuple(questions[at] for at in training),
            tuple(questions[at] for at in test if questions[at].wrong is not None),
            tuple(kept),
            options.alphas,
            size,
        )
        for training, test in indices
    )
    train = None if split.folds else split.train
    return StudyRecording(model, dataset, train, folds, tuple(kept), tuple(notes))


def _choose_methods(
    methods: Sequence[str], tested: Sequence[StudyQuestion], where: str, why_unusable: str | None
) -> tuple[list[str], list[str]]:
    """The methods that every graded test question has the columns for, and notes on what is left out."""
    graded = [question for question in tested if question.wrong is not None]
    if not graded:
        raise InputError(
            f"{where}: no tested question has a grade (answer.correct): grade the recording first"
        )
    kept, notes = [], []
    if len(graded) < len(tested):
        notes.append(
            f"{where}: {len(tested) - len(graded)} of {len(tested)} test questions have no grade, left out"
        )
    for name in methods:
        lacking = [columns for question in graded if (columns := question.missing(name))]
        if not lacking:
            kept.append(name)
            continue
        first = [columns[0] for columns in lacking]
        column = "relations" if "relations" in first else first[0]
        reason = f" ({REMEDIES[column]})" if column in REMEDIES else ""
        if why_unusable and name in ESTIMATORS:
            reason = f" that can be used: {why_unusable}"
        notes.append(
            f"{where}: {name} is dropped: {len(lacking)} of {len(graded)} tested questions lack {column}{reason}"
        )
    no_logprob = sum(int((~question.arrays.weighed).sum()) for question in graded)
    if no_logprob and "rescaled" in kept:
        notes.append(
            f"{where}: {no_logprob} of {sum(len(question.arrays) for question in graded)} samples have no probability "
            "(cut off by a length limit, say): rescaled gives them its least weight"
        )
    return kept, notes


def stored_names(rows: Iterable[Row]) -> list[str]:
    """The names of the scores that other tools stored, in order of appearance; one that a method has is refused."""
    names = list(dict.fromkeys(name for row in rows for name in row.scores))
    for name in names:
        if name in METHODS:
            raise InputError(f"scores.{name}: there is a method of that name: store the score under another")
    return names


def fit_fold(fold: Fold) -> Fold:
    """The fold with its estimators and its threshold, and without the training questions."""
    return replace(fold, train=(), estimators=_fitted(fold), threshold=youden_threshold(fold.train))


def _fitted(fold: Fold) -> dict[str, Callable[[], Estimator]]:
    """How to load each estimator; `bayes-paper` with another alpha is called bayes-paper@alpha."""
    methods = fold.methods
    found: dict[str, Callable[[], Estimator]] = {}
    fitted = [name for name in ("bayes", "agreement") if name in methods]
    if fitted:
        prior = Prior.fit([each.training for each in fold.train if each.training is not None])
        found |= {name: partial(load_method, name, prior=prior) for name in fitted}
    if "bayes-paper" in methods:
        sizes = PaperPrior.from_sizes([len(np.bincount(each.arrays.meanings)) for each in fold.train])
        found["bayes-paper"] = partial(load_method, "bayes-paper", prior=sizes)
        for alpha in fold.alphas:
            found[f"bayes-paper@{alpha:g}"] = partial(load_method, "bayes-paper", prior=sizes, alpha=alpha)
    sized = [name for name in ("james-stein", "nsb") if name in methods]
    found |= {name: partial(load_method, name, size=fold.size) for name in sized}
    if "rescaled" in methods:
        # One subsample in thousands may hold nothing but samples cut off by a length limit.
        found["rescaled"] = partial(load_method, "rescaled", clip_missing=True)
    # The baseline of every saving is there whether or not it was asked for.
    for name in (*methods, "histogram"):
        if name in ESTIMATORS:
            found.setdefault(name, partial(load_method, name))
    return found


def youden_threshold(training: Sequence[StudyQuestion]) -> float:
    """The entropy with the largest Youden index (true minus false positive rate) on training questions, in nats.

    Entropies are plug-in estimates of all samples. Where grades are missing or all alike, the median. At least 1e-3.
    """
    entropies = np.array([plug_in(np.bincount(each.arrays.meanings).tolist()) for each in training])
    graded = np.array([each.wrong is not None for each in training])
    wrong = np.array([bool(each.wrong) for each in training])[graded]
    if wrong.all() or not wrong.any():
        return max(float(np.median(entropies)), 1e-3)
    values = np.unique(entropies[graded])
    cuts = np.append((values[1:] + values[:-1]) / 2, values[-1])
    above = entropies[graded] > cuts[:, None]
    gain = above[:, wrong].mean(axis=1) - above[:, ~wrong].mean(axis=1)
    return max(float(cuts[gain.argmax()]), 1e-3)

"""The first step of an evaluation: read a recording, split it, and choose the methods it has the columns for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...estimators import required_column
from ...estimators.counts import median_size
from ...estimators.training import TrainingQuestion
from ...recording import Recording, Row, read_recording
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer
from .fold import NEED_PRIOR, EstimatorSpec, FoldFit, FoldTraining
from .questions import ESTIMATORS, StudyQuestion, is_of_answer, sorted_by_id
from .split import Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "METHODS",
    "Fold",
    "PrepareOptions",
    "PreparedRecording",
    "ReadRecording",
    "RecordingSource",
    "read_study",
    "stored_names",
]

RecordingSource = str | os.PathLike[str] | Recording

# In the order of the tables: estimators of the entropy, scorers, and the naive baseline last.
METHODS = (*ESTIMATORS, *SCORERS)
"""The estimators and scorers that `evaluate` compares."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Test questions, the estimators fitted on the other questions, and the entropy threshold learned from them.

    `scorers` are those of samples, which nothing is fitted for.
    """

    test: tuple[StudyQuestion, ...]
    specs: Mapping[str, EstimatorSpec]
    threshold: float
    scorers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """One recording, ready to be scored: its folds, the methods it has the columns for, and notes for the reader."""

    model: str
    dataset: str
    train: int | None
    folds: tuple[Fold, ...]
    methods: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def test(self) -> list[StudyQuestion]:
        """All test questions, fold by fold."""
        return [question for fold in self.folds for question in fold.test]


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
class ReadRecording:
    """One recording, read and reduced to what is needed of it, in the order of the split."""

    model: str
    dataset: str
    questions: tuple[StudyQuestion, ...]
    training: tuple[TrainingQuestion | None, ...]
    methods: tuple[str, ...]
    notes: tuple[str, ...]

    def folds(self, options: PrepareOptions) -> list[FoldTraining]:
        """What each fold is fitted on."""
        found = []
        indices = options.split.indices(len(self.questions), f"{self.model} on {self.dataset}")
        trained = {at for training, _ in indices for at in training}
        size = median_size(len(np.unique(self.questions[at].draws.meanings)) for at in trained)
        for training, _ in indices:
            rows = tuple(held for at in training if (held := self.training[at]) is not None)
            asked = tuple(self.questions[at] for at in training)
            found.append(FoldTraining.of(asked, rows, self.methods, options.alphas, size))
        return found

    def prepared(self, fits: Sequence[FoldFit], split: Split) -> PreparedRecording:
        """The recording with what was fitted for each fold."""
        scorers = tuple(
            name for name in self.methods if name in SCORERS and not is_of_answer(load_scorer(name))
        )
        indices = split.indices(len(self.questions), self.model)
        folds = tuple(
            Fold(
                tuple(each for at in test if (each := self.questions[at]).wrong is not None),
                fit.specs,
                fit.threshold,
                scorers,
            )
            for (_, test), fit in zip(indices, fits, strict=True)
        )
        train = None if split.folds else split.train
        return PreparedRecording(self.model, self.dataset, train, folds, self.methods, self.notes)


def read_study(source: RecordingSource, options: PrepareOptions) -> ReadRecording:
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
    questions = tuple(StudyQuestion.of(row, methods) for row in rows)
    tested = [questions[at] for _, test in indices for at in test]
    kept, notes = _choose_methods(methods, tested, where, header.why_logprobs_unusable)
    fitted = {at for training, _ in indices for at in training} if NEED_PRIOR & set(kept) else set()
    training = tuple(TrainingQuestion.of(row) if at in fitted else None for at, row in enumerate(rows))
    return ReadRecording(model, dataset, questions, training, tuple(kept), tuple(notes))


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
        lacking = [question for question in graded if question.lacks_column_of(name)]
        if not lacking:
            kept.append(name)
            continue
        column, reason = _needed(name, related=all(question.related for question in lacking))
        if why_unusable and name in ESTIMATORS:
            reason = f" that can be used: {why_unusable}"
        notes.append(
            f"{where}: {name} is dropped: {len(lacking)} of {len(graded)} tested questions lack {column}{reason}"
        )
    no_logprob = sum(int((question.draws.sequences < 0).sum()) for question in graded)
    if no_logprob and "rescaled" in kept:
        notes.append(
            f"{where}: {no_logprob} of {sum(len(question.draws) for question in graded)} samples have no probability "
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


def _needed(method: str, *, related: bool) -> tuple[str | None, str]:
    """The column that a method needs and the questions lack, and how to get it; `related` where they have relations."""
    if method in SCORERS:
        sees = load_scorer(method).sees
        first, _, other = sees.column.partition(" or ")
        remedy = None if related else getattr(sees, "remedy", None)
        return other if related and other else first, f" ({remedy})" if remedy else ""
    return (required_column(method), "") if method in ESTIMATORS else (f"scores.{method}", "")

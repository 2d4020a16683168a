"""The first step of an evaluation: read a recording, split it, choose the methods, fit the priors."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...estimators import PaperPrior, Prior, load_method, required_column
from ...estimators.counts import median_size
from ...estimators.histogram import plug_in
from ...recording import Recording, Row, read_recording
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer
from .questions import ESTIMATORS, StudyQuestion, is_of_answer, sorted_by_id
from .split import Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...nouns import Estimator

__all__ = [
    "METHODS",
    "EstimatorSpec",
    "Fold",
    "PrepareOptions",
    "PreparedRecording",
    "RecordingSource",
    "prepare",
    "stored_names",
]

RecordingSource = str | os.PathLike[str] | Recording

# In the order of the tables: estimators of the entropy, scorers, and the naive baseline last.
METHODS = (*ESTIMATORS, *SCORERS)
"""The estimators and scorers that `evaluate` compares."""


@dataclass(frozen=True, slots=True)
class EstimatorSpec:
    """An estimator to be loaded in the process that uses it: its name and options, such as a fitted prior."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Estimator:
        """The estimator."""
        return load_method(self.name, **self.options)


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

    @classmethod
    def join(cls, pieces: Sequence[PreparedRecording]) -> PreparedRecording:
        """One recording from its pieces, which hold one fold each."""
        return replace(pieces[0], folds=tuple(fold for piece in pieces for fold in piece.folds))

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


def prepare(source: RecordingSource, options: PrepareOptions, *, piece: int = 0) -> PreparedRecording:
    """Read and split one recording, and fit the priors for one piece of the split (one fold, or all)."""
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
    questions = [StudyQuestion.of(row, methods) for row in rows]
    tested = [questions[at] for _, test in indices for at in test]
    kept, notes = _choose_methods(methods, tested, where, header.why_logprobs_unusable)
    training, test = indices[piece]
    fold = Fold(
        tuple(questions[at] for at in test if questions[at].wrong is not None),
        _fit([rows[at] for at in training], kept, options.alphas),
        youden_threshold([questions[at] for at in training]),
        tuple(name for name in kept if name in SCORERS and not is_of_answer(load_scorer(name))),
    )
    return PreparedRecording(
        model, dataset, None if split.folds else split.train, (fold,), tuple(kept), tuple(notes)
    )


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
        lacking = sum(question.lacks_column_of(name) for question in graded)
        if not lacking:
            kept.append(name)
            continue
        column, reason = _needed(name)
        if why_unusable and name in ESTIMATORS:
            reason = f" that can be used: {why_unusable}"
        notes.append(
            f"{where}: {name} is dropped: {lacking} of {len(graded)} tested questions lack {column}{reason}"
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


def _needed(method: str) -> tuple[str | None, str]:
    """The column that a method needs, and how to get it."""
    if method in SCORERS:
        sees = load_scorer(method).sees
        remedy = getattr(sees, "remedy", None)
        return sees.column, f" ({remedy})" if remedy else ""
    return (required_column(method), "") if method in ESTIMATORS else (f"scores.{method}", "")


def _fit(
    training: Sequence[Row], methods: Sequence[str], alphas: Sequence[float]
) -> dict[str, EstimatorSpec]:
    """How to load each estimator; `bayes-paper` with another alpha is called bayes-paper@alpha."""
    specs: dict[str, EstimatorSpec] = {}
    fitted = [name for name in ("bayes", "agreement") if name in methods]
    if fitted:
        prior = Prior.fit(training)
        specs |= {name: EstimatorSpec(name, {"prior": prior}) for name in fitted}
    if "bayes-paper" in methods:
        sizes = PaperPrior.fit(training)
        specs["bayes-paper"] = EstimatorSpec("bayes-paper", {"prior": sizes})
        for alpha in alphas:
            specs[f"bayes-paper@{alpha:g}"] = EstimatorSpec("bayes-paper", {"prior": sizes, "alpha": alpha})
    sized = [name for name in ("james-stein", "nsb") if name in methods]
    if sized:
        size = median_size(training)
        specs |= {name: EstimatorSpec(name, {"size": size}) for name in sized}
    if "rescaled" in methods:
        # One draw in thousands may hold nothing but samples cut off by a length limit.
        specs["rescaled"] = EstimatorSpec("rescaled", {"clip_missing": True})
    for name in methods:
        if name in ESTIMATORS:
            specs.setdefault(name, EstimatorSpec(name))
    # The baseline of every saving, whether or not it was asked for.
    specs.setdefault("histogram", EstimatorSpec("histogram"))
    return specs


def youden_threshold(training: Sequence[StudyQuestion]) -> float:
    """The entropy with the largest Youden index (true minus false positive rate) on training questions, in nats.

    Entropies are plug-in estimates of all samples. Where grades are missing or all alike, the median. At least 1e-3.
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

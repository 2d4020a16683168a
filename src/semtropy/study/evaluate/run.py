"""The evaluation itself: every estimator on the same draws of stored samples.

Four steps, each a map over independent pieces: read each recording, fit each fold, score each block of test questions,
measure each recording. Blocks are cut the same way for any number of processes, so results do not depend
on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...recording import Recording, open_recording
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer
from ...scorers.unseen import SampleEvidence
from .fold import fit_fold
from .measure import MeasureOptions, measure
from .parallel import parallel_map
from .prepare import METHODS, Fold, PreparedRecording, PrepareOptions, ReadRecording, read_study
from .provenance import provenance_of
from .questions import is_of_answer
from .resample import EvidenceScore, ResamplingPlan, Scores, estimate_draws, score_draws
from .results import Results
from .split import Split

if TYPE_CHECKING:
    from ..engines import WorkEngine
    from .parallel import ParallelMap, ProgressCallback
    from .prepare import RecordingSource

__all__ = ["estimate_recordings", "evaluate"]

# Small enough that sixteen cores share one recording, large enough for an efficient batch.
BLOCK_QUESTIONS = 25


def evaluate(
    recordings: Sequence[RecordingSource],
    *,
    estimators: Sequence[str] | None = None,
    budgets: Sequence[int] = tuple(range(1, 11)),
    seeds: int = 5,
    train: int = 200,
    folds: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    alphas: Sequence[float] = (),
    against: str | None = None,
    bootstrap: int = 1000,
    pool: int | None = None,
    processes: int = 1,
    engine: WorkEngine | None = None,
    progress: ProgressCallback | None = None,
) -> Results:
    """Compare estimators on recordings: AUROC at fixed and adaptive budgets, with intervals.

    Parameters:
        recordings: paths or `Recording` objects, with meanings and grades.
        estimators: names from `METHODS` or of stored scores; all that a recording has the columns for by default.
        budgets: numbers of samples per question.
        seeds: how many times samples are drawn, all from `seed`.
        train: how many questions, first in the natural order of ids, fit the priors; the rest are tested.
        folds: cross-validate over this many folds instead of `train`.
        shuffle: order the questions at random before the split.
        seed: of the draws, the shuffle and the bootstrap.
        alphas: also run `bayes-paper` with these values of alpha.
        against: the estimator all others are compared with; `bayes` by default.
        bootstrap: resamples of the paired bootstrap; 0 for no comparisons.
        pool: draw from this many samples of each question alone, the first: those that were related, say.
        processes: worker processes; with more than one, call this under `if __name__ == "__main__"`.
        engine: runs the pieces of work in place of processes, on a Ray cluster say; the results are the same.
        progress: called with the step, its pieces done and its pieces in total.

    >>> from semtropy.study import example_recording
    >>> results = evaluate([example_recording()], estimators=["histogram", "length"], folds=5, seeds=2, bootstrap=0)
    >>> [(cell.estimator, cell.budget, round(cell.auroc, 2)) for cell in results.cells if cell.budget == 5]
    [('histogram', 5, 0.67), ('length', 5, 0.26)]
    """
    names, wanted = _check_names(estimators, recordings), _check_budgets(budgets)
    _check_options(recordings, names, seeds, against, pool)
    plan = ResamplingPlan(wanted[-1], seeds, seed, first=min(1, wanted[0]))
    options = MeasureOptions(wanted, plan, against, bootstrap)
    prepared = PrepareOptions(names, Split(train, folds, seed if shuffle else None), tuple(alphas), pool)
    with parallel_map(processes, progress, engine) as run:
        scored = _estimate(recordings, prepared, plan, run)
        results = _nonempty(Results.join(run("measuring", partial(measure, options=options), scored)))
    return replace(results, provenance=provenance_of(recordings, prepared, options))


def _nonempty(results: Results) -> Results:
    if not results.tested:
        raise InputError("nothing could be measured: " + "; ".join(results.notes))
    return results


def estimate_recordings(
    recordings: Sequence[RecordingSource],
    *,
    estimators: Sequence[str] | None = None,
    plan: ResamplingPlan | None = None,
    split: Split | None = None,
    pool: int | None = None,
    processes: int = 1,
    progress: ProgressCallback | None = None,
) -> list[tuple[PreparedRecording, dict[str, Scores]]]:
    """The scores that `evaluate` measures, for other measures: for each recording its test questions and scores."""
    options = PrepareOptions(_check_names(estimators, recordings), split or Split(), pool=pool)
    with parallel_map(processes, progress) as run:
        return _estimate(recordings, options, plan or ResamplingPlan(), run)


def _estimate(
    recordings: Sequence[RecordingSource],
    options: PrepareOptions,
    plan: ResamplingPlan,
    run: ParallelMap,
) -> list[tuple[PreparedRecording, dict[str, Scores]]]:
    read = list(run.read("reading", partial(read_study, options=options), recordings))
    _refuse_duplicates(read)
    fitted = run("fitting", fit_fold, [fold for each in read for fold in each.folds(options)])
    split = options.split
    prepared = [each.prepared(list(islice(fitted, split.pieces)), split) for each in read]
    blocks = [block for each in prepared for fold in each.folds for block in _blocks(fold)]
    done = run("estimating", partial(_estimate_block, plan=plan), blocks)
    scored = []
    for each in prepared:
        parts = list(islice(done, sum(len(_blocks(fold)) for fold in each.folds)))
        scored.append((each, _join_scores(each, parts)))
    return scored


def _blocks(fold: Fold) -> list[Fold]:
    """The fold's test questions in blocks, one piece of work each."""
    return [
        replace(fold, test=fold.test[start : start + BLOCK_QUESTIONS])
        for start in range(0, len(fold.test), BLOCK_QUESTIONS)
    ]


def _estimate_block(block: Fold, plan: ResamplingPlan) -> dict[str, Scores]:
    estimators: dict[str, Any] = {name: spec.load() for name, spec in block.specs.items()}
    scorers: dict[str, Any] = {name: load_scorer(name) for name in block.scorers}
    for name, scorer in list(scorers.items()):
        if issubclass(scorer.sees, SampleEvidence):
            estimators[name] = EvidenceScore(scorers.pop(name))
    found = estimate_draws(block.test, estimators, plan)
    return found | score_draws(block.test, scorers, plan) if scorers else found


def _join_scores(prepared: PreparedRecording, parts: Sequence[dict[str, Scores]]) -> dict[str, Scores]:
    scores = {name: Scores.join([part[name] for part in parts]) for name in parts[0]}
    for name in prepared.methods:
        if name in SCORERS and is_of_answer(load_scorer(name)):
            answers = np.array([question.answer_scores[name] for question in prepared.test], dtype=float)
            scores[name] = Scores(answers[None, None, :], None, None)
        elif name not in METHODS:
            scores[name] = _stored([question.stored_scores[name] for question in prepared.test])
    return scores


def _stored(held: Sequence[float | tuple[float, ...]]) -> Scores:
    """Scores by another tool: one for all budgets, or one for each from 1 on, as far as every question has them."""
    lists = [value for value in held if isinstance(value, tuple)]
    if not lists:
        return Scores(np.array(held, dtype=float)[None, None, :], None, None)
    shortest = min(len(value) for value in lists)
    columns = [value[:shortest] if isinstance(value, tuple) else (value,) * shortest for value in held]
    return Scores(np.array(columns, dtype=float).T[:, None, :], None, 1)


def _check_names(
    estimators: Sequence[str] | None, recordings: Sequence[RecordingSource]
) -> tuple[str, ...] | None:
    """The methods asked for; a name that is no method must be a score stored with some recording's first question."""
    if estimators is None:
        return None
    others = [name for name in estimators if name not in METHODS]
    stored = {name for source in recordings for name in _first_scores(source)} if others else set()
    for name in others:
        if name not in stored:
            kept = f"; the recordings store {', '.join(sorted(stored))}" if stored else ""
            raise InputError(f"no estimator is called {name!r}: choose from {', '.join(METHODS)}{kept}")
    return tuple(dict.fromkeys(estimators))


def _first_scores(source: RecordingSource) -> list[str]:
    rows = source.rows if isinstance(source, Recording) else open_recording(source).rows
    return [name for row in islice(rows, 1) for name in row.scores]


def _check_options(
    recordings: Sequence[RecordingSource],
    names: Sequence[str] | None,
    seeds: int,
    against: str | None,
    pool: int | None,
) -> None:
    compared = METHODS if names is None else names
    if against is not None and against not in compared:
        raise InputError(f"--against is {against!r}: choose one of those compared, {', '.join(compared)}")
    if pool is not None and pool < 1:
        raise InputError(f"--pool is {pool}: the number of samples of a question to draw from, at least 1")
    if seeds < 1:
        raise InputError(f"--seeds is {seeds}: samples are drawn at least once")
    if not recordings:
        raise InputError("no recording was given")


def _check_budgets(budgets: Sequence[int]) -> tuple[int, ...]:
    wanted = tuple(sorted(set(budgets)))
    if not wanted or wanted[0] < 0 or wanted[-1] < 1:
        raise InputError(f"--budgets are {list(budgets)}: numbers of samples, from 0, the largest at least 1")
    return wanted


def _refuse_duplicates(read: Sequence[ReadRecording]) -> None:
    """Results are keyed by model and dataset, so two recordings of one pair could not be distinguished."""
    seen = set()
    for each in read:
        pair = (each.model, each.dataset)
        if pair in seen:
            raise InputError(
                f"two recordings are of {each.model} on {each.dataset}: "
                "evaluate them separately, or rename one in its header"
            )
        seen.add(pair)

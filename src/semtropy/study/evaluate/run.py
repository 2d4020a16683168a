"""The evaluation itself: every estimator on the same draws of stored samples.

Three steps, each a map over independent pieces: prepare each fold of each recording, score each block of test
questions, measure each recording. Blocks are cut the same way for any number of processes, so results do not depend
on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...scorers import NAMES as SCORERS
from .measure import MeasureOptions, measure
from .parallel import parallel_map
from .prepare import METHODS, Fold, PreparedRecording, prepare
from .resample import ResamplingPlan, Scores, estimate_draws
from .results import Results
from .split import Split

if TYPE_CHECKING:
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
    processes: int = 1,
    progress: ProgressCallback | None = None,
) -> Results:
    """Compare estimators on recordings: AUROC at fixed and adaptive budgets, with intervals.

    Parameters:
        recordings: paths or `Recording` objects, with meanings and grades.
        estimators: names from `METHODS`; all that a recording has the columns for by default.
        budgets: numbers of samples per question.
        seeds: how many times samples are drawn, all from `seed`.
        train: how many questions, first in the natural order of ids, fit the priors; the rest are tested.
        folds: cross-validate over this many folds instead of `train`.
        shuffle: order the questions at random (from `seed`) before the split.
        seed: of the draws, the shuffle and the bootstrap.
        alphas: also run `bayes-paper` with these values of alpha.
        against: the estimator all others are compared with; `bayes` by default.
        bootstrap: resamples of the paired bootstrap; 0 for no comparisons.
        processes: worker processes; with more than one, call this under `if __name__ == "__main__"`.
        progress: called with the step, its pieces done and its pieces in total.

    >>> from semtropy.study import example_recording
    >>> results = evaluate([example_recording()], estimators=["histogram", "length"], folds=5, seeds=2, bootstrap=0)
    >>> [(cell.estimator, cell.budget, round(cell.auroc, 2)) for cell in results.cells if cell.budget == 5]
    [('histogram', 5, 0.67), ('length', 5, 0.26)]
    """
    names, wanted = _check_names(estimators), _check_budgets(budgets)
    _check_options(recordings, names, seeds, against)
    plan = ResamplingPlan(budget=wanted[-1], draws=seeds, seed=seed, first=min(1, wanted[0]))
    options = MeasureOptions(budgets=wanted, plan=plan, against=against, bootstrap=bootstrap)
    split = Split(train, folds, seed if shuffle else None)
    with parallel_map(processes, progress) as run:
        scored = _estimate(recordings, names, plan, split, tuple(alphas), run)
        results = Results.join(run("measuring", partial(measure, options=options), scored))
    if not results.tested:
        raise InputError("nothing could be measured: " + "; ".join(results.notes))
    return results


def estimate_recordings(
    recordings: Sequence[RecordingSource],
    *,
    estimators: Sequence[str] | None = None,
    plan: ResamplingPlan | None = None,
    split: Split | None = None,
    processes: int = 1,
    progress: ProgressCallback | None = None,
) -> list[tuple[PreparedRecording, dict[str, Scores]]]:
    """The scores that `evaluate` measures, for other measures: for each recording its test questions and scores."""
    names = _check_names(estimators)
    with parallel_map(processes, progress) as run:
        return _estimate(recordings, names, plan or ResamplingPlan(), split or Split(), (), run)


def _estimate(
    recordings: Sequence[RecordingSource],
    methods: Sequence[str],
    plan: ResamplingPlan,
    split: Split,
    alphas: tuple[float, ...],
    run: ParallelMap,
) -> list[tuple[PreparedRecording, dict[str, Scores]]]:
    pieces = [(source, piece) for source in recordings for piece in range(split.pieces)]
    fitted = run("fitting", partial(_prepare_piece, methods=methods, split=split, alphas=alphas), pieces)
    prepared = [PreparedRecording.join(list(islice(fitted, split.pieces))) for _ in recordings]
    _refuse_duplicates(prepared)
    blocks = [block for each in prepared for fold in each.folds for block in _blocks(fold)]
    done = run("estimating", partial(_estimate_block, plan=plan), blocks)
    scored = []
    for each in prepared:
        parts = list(islice(done, sum(len(_blocks(fold)) for fold in each.folds)))
        scored.append((each, _join_scores(each, parts)))
    return scored


def _prepare_piece(
    piece: tuple[RecordingSource, int], methods: Sequence[str], split: Split, alphas: tuple[float, ...]
) -> PreparedRecording:
    return prepare(piece[0], methods, split=split, piece=piece[1], alphas=alphas)


def _blocks(fold: Fold) -> list[Fold]:
    """The fold's test questions in blocks, one piece of work each."""
    return [
        Fold(fold.test[start : start + BLOCK_QUESTIONS], fold.specs, fold.threshold)
        for start in range(0, len(fold.test), BLOCK_QUESTIONS)
    ]


def _estimate_block(block: Fold, plan: ResamplingPlan) -> dict[str, Scores]:
    return estimate_draws(block.test, {name: spec.load() for name, spec in block.specs.items()}, plan)


def _join_scores(prepared: PreparedRecording, parts: Sequence[dict[str, Scores]]) -> dict[str, Scores]:
    scores = {name: Scores.join([part[name] for part in parts]) for name in parts[0]}
    for name in prepared.methods:
        if name in SCORERS:
            answers = np.array([question.answer_scores[name] for question in prepared.test], dtype=float)
            scores[name] = Scores(answers[None, None, :], None, None)
    return scores


def _check_names(estimators: Sequence[str] | None) -> list[str]:
    if estimators is None:
        return list(METHODS)
    for name in estimators:
        if name not in METHODS:
            raise InputError(f"no estimator is called {name!r}: choose from {', '.join(METHODS)}")
    return list(dict.fromkeys(estimators))


def _check_options(
    recordings: Sequence[RecordingSource], names: Sequence[str], seeds: int, against: str | None
) -> None:
    if against is not None and against not in names:
        raise InputError(f"--against is {against!r}: choose one of those compared, {', '.join(names)}")
    if seeds < 1:
        raise InputError(f"--seeds is {seeds}: samples are drawn at least once")
    if not recordings:
        raise InputError("no recording was given")


def _check_budgets(budgets: Sequence[int]) -> tuple[int, ...]:
    wanted = tuple(sorted(set(budgets)))
    if not wanted or wanted[0] < 0 or wanted[-1] < 1:
        raise InputError(f"--budgets are {list(budgets)}: numbers of samples, from 0, the largest at least 1")
    return wanted


def _refuse_duplicates(prepared: Sequence[PreparedRecording]) -> None:
    """Results are keyed by model and dataset, so two recordings of one pair could not be distinguished."""
    seen = set()
    for each in prepared:
        pair = (each.model, each.dataset)
        if pair in seen:
            raise InputError(
                f"two recordings are of {each.model} on {each.dataset}: "
                "evaluate them separately, or rename one in its header"
            )
        seen.add(pair)

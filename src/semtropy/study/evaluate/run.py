"""The evaluation itself: every estimator on the same subsamples of stored samples.

Four steps, each a map over independent pieces: read each recording, fit each fold, score each block of test questions,
measure each recording. Blocks are cut the same way for any number of processes, so results do not depend
on it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy

from ... import __version__
from ...errors import InputError, unknown
from ...files import safe_children
from ...recording import Recording, open_recording
from ...scorers import NAMES as SCORERS
from ...scorers import load_scorer
from .measure import MeasureOptions, measure
from .prepare import METHODS, Fold, PrepareOptions, Split, StudyRecording, fit_fold, read_study
from .resampling import ResamplingPlan, Scores, estimate_orders, score_orders
from .results import Provenance, Results

if TYPE_CHECKING:
    from ..engines import WorkEngine
    from .prepare import RecordingSource


# A map over independent pieces of work, in this process, in several or on a cluster, with progress.


A = TypeVar("A")
B = TypeVar("B")
# Called with the name of a step, its pieces done so far, and its pieces in total.
ProgressCallback = Callable[[str, int, int], None]


def available_cores() -> int:
    """How many cores this process may use; all of the machine where the system does not say.

    >>> available_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class ParallelMap:
    """Applies a function to items, keeps their order, and reports progress.

    mapper    applies a function to items: `map`, or one over processes or machines
    progress  called after each item
    near      the same for functions that read files, which other machines may not have
    """

    mapper: Callable[..., Iterable[Any]]
    progress: ProgressCallback | None
    near: Callable[..., Iterable[Any]]

    def __call__(
        self, step: str, function: Callable[[A], B], items: Sequence[A], *, reads: bool = False
    ) -> Iterator[B]:
        """The results of one step, in order; `reads` for a step that reads files."""
        mapper = self.near if reads else self.mapper
        for done, result in enumerate(mapper(function, items), start=1):
            if self.progress is not None:
                self.progress(step, done, len(items))
            yield result


@contextmanager
def parallel_map(
    processes: int, progress: ProgressCallback | None, engine: WorkEngine | None = None
) -> Iterator[ParallelMap]:
    """A map over `processes` processes, started afresh (spawned); over this one where `processes` is 1.

    With an `engine`, a map by that engine instead.
    """
    if engine is not None:
        yield ParallelMap(lambda f, items: engine(partial(partial, map, f), items), progress, map)
        return
    if processes <= 1:
        yield ParallelMap(map, progress, map)
        return
    with safe_children(), ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent) as pool:
        yield ParallelMap(pool.map, progress, pool.map)


def _end_with_parent() -> None:
    """End this worker when the process that started it is killed; it would wait for work for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="semtropy-parent", daemon=True).start()


# Where the results of a study come from: the command, the versions, and the hashes of the recordings.


def provenance_of(
    sources: Sequence[RecordingSource], prepared: PrepareOptions, measured: MeasureOptions
) -> Provenance:
    """The provenance of an evaluation with these options."""
    named = tuple(_named(source) for source in sources)
    words = ["semtropy", "evaluate", *(name for name, _ in named), *_options(prepared, measured)]
    versions = {
        "semtropy": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    plan = measured.plan
    return Provenance(shlex.join(words), plan.seed, plan.repeats, measured.bootstrap, versions, named)


def _options(prepared: PrepareOptions, measured: MeasureOptions) -> list[str]:
    split, plan = prepared.split, measured.plan
    chosen = {
        "--estimators": None if prepared.methods is None else ",".join(prepared.methods),
        "--budgets": budget_ranges(measured.budgets),
        "--seeds": str(plan.repeats),
        "--folds" if split.folds else "--train": str(split.folds or split.train),
        "--seed": str(plan.seed),
        "--alphas": ",".join(f"{alpha:g}" for alpha in prepared.alphas) or None,
        "--against": measured.against,
        "--bootstrap": str(measured.bootstrap),
        "--pool": None if prepared.pool is None else str(prepared.pool),
    }
    words = [word for option, value in chosen.items() if value is not None for word in (option, value)]
    return [*words, "--shuffle"] if split.shuffle is not None else words


def budget_ranges(budgets: Sequence[int]) -> str:
    """Numbers of samples as `--budgets` takes them.

    >>> budget_ranges((1, 2, 3, 5, 10))
    '1-3,5,10'
    """
    runs: list[list[int]] = []
    for budget in budgets:
        if runs and budget == runs[-1][-1] + 1:
            runs[-1].append(budget)
        else:
            runs.append([budget])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _named(source: RecordingSource) -> tuple[str, str | None]:
    if isinstance(source, Recording):
        return f"({source.header.model or 'unknown model'} in memory)", None
    return Path(source).name, file_hash(source)


def file_hash(path: str | os.PathLike[str]) -> str | None:
    """The SHA-256 of a file, or of the names and contents of a folder's files; None where it cannot be read."""
    top = Path(path)
    digest = hashlib.sha256()
    try:
        for file in sorted(each for each in top.rglob("*") if each.is_file()) if top.is_dir() else [top]:
            if top.is_dir():
                digest.update(file.relative_to(top).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


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
        seed: of the random orders, the shuffle and the bootstrap.
        alphas: also run `bayes-paper` with these values of alpha.
        against: the estimator all others are compared with; `bayes` by default.
        bootstrap: resamples of the paired bootstrap; 0 for no comparisons.
        pool: draw from this many samples of each question alone, the first: those that were related, say.
        processes: worker processes; with more than one, call this under `if __name__ == "__main__"`.
        engine: runs the pieces of work instead, on a Ray cluster say; the results are the same.
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
        results = _measured(recordings, prepared, options, run)
    return replace(results, provenance=provenance_of(recordings, prepared, options))


def _measured(
    recordings: Sequence[RecordingSource], prepared: PrepareOptions, options: MeasureOptions, run: ParallelMap
) -> Results:
    scored = _estimate(recordings, prepared, options.plan, run)
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
    pool: int | None = None,
    processes: int = 1,
    progress: ProgressCallback | None = None,
) -> list[StudyRecording]:
    """The recordings with the scores that `evaluate` measures, for other measures."""
    options = PrepareOptions(_check_names(estimators, recordings), split or Split(), pool=pool)
    with parallel_map(processes, progress) as run:
        return _estimate(recordings, options, plan or ResamplingPlan(), run)


def _estimate(
    recordings: Sequence[RecordingSource],
    options: PrepareOptions,
    plan: ResamplingPlan,
    run: ParallelMap,
) -> list[StudyRecording]:
    read = list(run("reading", partial(read_study, options=options), recordings, reads=True))
    _refuse_duplicates(read)
    training = [replace(fold, test=()) for each in read for fold in each.folds]
    fitted = iter(list(run("fitting", fit_fold, training)))
    read = [
        replace(each, folds=tuple(replace(next(fitted), test=fold.test) for fold in each.folds))
        for each in read
    ]
    blocks = [block for each in read for fold in each.folds for block in _blocks(fold)]
    done = run("estimating", partial(_estimate_block, plan=plan), blocks)
    return [
        replace(each, scores=_all_scores(each, list(islice(done, sum(len(_blocks(f)) for f in each.folds)))))
        for each in read
    ]


def _blocks(fold: Fold) -> list[Fold]:
    """The fold's test questions in blocks, one piece of work each."""
    return [
        replace(fold, test=fold.test[start : start + BLOCK_QUESTIONS])
        for start in range(0, len(fold.test), BLOCK_QUESTIONS)
    ]


def _estimate_block(block: Fold, plan: ResamplingPlan) -> dict[str, Scores]:
    found = estimate_orders(block.test, {name: load() for name, load in block.estimators.items()}, plan)
    scorers = [
        scorer for name in block.methods if name in SCORERS and (scorer := load_scorer(name)).of_samples
    ]
    return found | score_orders(block.test, scorers, plan) if scorers else found


def _all_scores(recording: StudyRecording, parts: Sequence[dict[str, Scores]]) -> dict[str, Scores]:
    """The scores of the blocks joined, with those that need no samples, and those of other tools."""
    scores = {name: Scores.join([part[name] for part in parts]) for name in parts[0]}
    for name in recording.methods:
        if name not in METHODS:
            scores[name] = _stored([question.stored_scores[name] for question in recording.test])
        elif name not in scores:
            scorer = load_scorer(name)
            answers = np.array([scorer(question.row) for question in recording.test])
            scores[name] = Scores(answers[None, None, :], None, None)
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
            raise InputError(f"{unknown('estimator', name, (*METHODS, *stored))}{kept}")
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


def _refuse_duplicates(read: Sequence[StudyRecording]) -> None:
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

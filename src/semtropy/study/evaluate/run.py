"""A study: every estimator on the same draws of stored samples, with intervals.

Three steps, each a map over independent pieces: prepare a recording (a fold of it), put a block of its
questions to every estimator, measure a recording. Blocks are cut the same whatever the number of processes,
so that results are too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np

from ...errors import InputError
from ...estimators import NAMES
from ...scorers import NAMES as SCORERS
from .measure import MeasureOptions, measure
from .prepare import (
    CONSTANT,
    ESTIMATORS,
    Fold,
    PreparedRecording,
    RecordingSource,
    Split,
    constant_scores,
    prepare,
)
from .resample import ResamplingPlan, Scores, estimate_draws
from .results import Results

__all__ = ["ESTIMATORS", "Results", "Split", "estimate_recordings", "evaluate"]

# Small enough that sixteen cores share one recording, large enough that an estimator's batch is one.
BLOCK_QUESTIONS = 25

A = TypeVar("A")
B = TypeVar("B")
# Hears the step, how many of its pieces are done, and how many there are.
ProgressCallback = Callable[[str, int, int], None]


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
    tell: ProgressCallback | None = None,
) -> Results:
    """AUROC of every estimator at every budget, adaptive curves, and what goes with them.

    `seeds` is how many times samples are drawn, all of them from `seed`. The first `train` questions in
    the natural_key order of their ids train the priors and the rest test; `folds` trains and tests across
    folds instead; `shuffle` orders the questions by chance first, from `seed`. `alphas` are tried on
    `bayes-paper`. `against` is the estimator all others are compared with by a paired bootstrap of
    `bootstrap` resamples (0 for none). Nothing depends on `processes` but the time; with more than one,
    call this under `if __name__ == "__main__"`. `tell` hears how far it is.
    """
    names = _known(estimators)
    if against is not None and against not in names:
        raise InputError(f"--against is {against!r}: choose one of those compared, {', '.join(names)}")
    wanted = _budgets(budgets)
    if seeds < 1:
        raise InputError(f"--seeds is {seeds}: samples are drawn at least once")
    if not recordings:
        raise InputError("no recording was given")
    plan = ResamplingPlan(budget=wanted[-1], draws=seeds, seed=seed)
    measures = MeasureOptions(budgets=wanted, plan=plan, against=against, bootstrap=bootstrap)
    split = Split(train, folds, seed if shuffle else None)
    with _runner(processes, tell) as run:
        pairs = _believed(recordings, names, plan, split, tuple(alphas), run)
        results = Results.join(run("measuring", partial(measure, measures=measures), pairs))
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
    tell: ProgressCallback | None = None,
) -> list[tuple[PreparedRecording, dict[str, Scores]]]:
    """The beliefs that a study is measured on, for measures of one's own: a pair a recording."""
    with _runner(processes, tell) as run:
        return _believed(recordings, _known(estimators), plan or ResamplingPlan(), split or Split(), (), run)


@dataclass(frozen=True, slots=True)
class _Runner:
    """A map over independent pieces, here or in other processes, that keeps their order and tells how far it is."""

    mapper: Callable[..., Iterable[Any]]
    tell: ProgressCallback | None

    def __call__(self, step: str, function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        for done, result in enumerate(self.mapper(function, items), start=1):
            if self.tell is not None:
                self.tell(step, done, len(items))
            yield result


@contextmanager
def _runner(processes: int, tell: ProgressCallback | None) -> Iterator[_Runner]:
    if processes <= 1:
        yield _Runner(map, tell)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield _Runner(pool.map, tell)


def _believed(
    recordings: Sequence[RecordingSource],
    methods: Sequence[str],
    plan: ResamplingPlan,
    split: Split,
    alphas: tuple[float, ...],
    run: _Runner,
) -> list[tuple[PreparedRecording, dict[str, Scores]]]:
    pieces = [(source, piece) for source in recordings for piece in range(split.pieces)]
    first = partial(_prepare, methods=methods, split=split, alphas=alphas)
    fitted = run("fitting", first, pieces)
    prepared = [PreparedRecording.join(list(islice(fitted, split.pieces))) for _ in recordings]
    _tell_apart(prepared)
    blocks = [block for each in prepared for fold in each.folds for block in _blocks(fold)]
    done = run("estimating", partial(_believe, plan=plan), blocks)
    pairs = []
    for each in prepared:
        parts = list(islice(done, sum(len(_blocks(fold)) for fold in each.folds)))
        pairs.append((each, _joined(each, parts)))
    return pairs


def _prepare(
    piece: tuple[RecordingSource, int], methods: Sequence[str], split: Split, alphas: tuple[float, ...]
) -> PreparedRecording:
    return prepare(piece[0], methods, split=split, piece=piece[1], alphas=alphas)


def _blocks(fold: Fold) -> list[Fold]:
    """A fold cut into blocks of questions, the pieces of work."""
    return [
        Fold(fold.test[start : start + BLOCK_QUESTIONS], fold.specs, fold.threshold)
        for start in range(0, len(fold.test), BLOCK_QUESTIONS)
    ]


def _believe(block: Fold, plan: ResamplingPlan) -> dict[str, Scores]:
    return estimate_draws(block.test, {name: spec.load() for name, spec in block.specs.items()}, plan)


def _joined(prepared: PreparedRecording, parts: Sequence[dict[str, Scores]]) -> dict[str, Scores]:
    scores = {name: Scores.join([part[name] for part in parts]) for name in parts[0]}
    for name in prepared.methods:
        if name in CONSTANT:
            scores[name] = Scores(np.array(constant_scores(name, prepared.test))[None, None, :], None)
    return scores


def _known(estimators: Sequence[str] | None) -> list[str]:
    available = [name for name in ESTIMATORS if name in (*NAMES, *SCORERS)]
    if estimators is None:
        return available
    for name in estimators:
        if name not in available:
            raise InputError(f"no estimator is called {name!r}: choose from {', '.join(available)}")
    return list(dict.fromkeys(estimators))


def _budgets(budgets: Sequence[int]) -> tuple[int, ...]:
    wanted = tuple(sorted(set(budgets)))
    if not wanted or wanted[0] < 1:
        raise InputError(f"--budgets are {list(budgets)}: numbers of samples, 1 or more")
    return wanted


def _tell_apart(prepared: Sequence[PreparedRecording]) -> None:
    seen = set()
    for each in prepared:
        pair = (each.model, each.dataset)
        if pair in seen:
            raise InputError(
                f"two recordings are of {each.model} on {each.dataset}: "
                "evaluate them apart, or rename one in its header"
            )
        seen.add(pair)

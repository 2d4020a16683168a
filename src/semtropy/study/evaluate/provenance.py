"""Where the results of a study come from: the command, the versions, and the hashes of the recordings."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy

from ... import __version__
from ...recording import Recording
from .results import Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measure import MeasureOptions
    from .prepare import PrepareOptions, RecordingSource

__all__ = ["budget_ranges", "file_hash", "provenance_of"]


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
    return Provenance(shlex.join(words), plan.seed, plan.draws, measured.bootstrap, versions, named)


def _options(prepared: PrepareOptions, measured: MeasureOptions) -> list[str]:
    split, plan = prepared.split, measured.plan
    chosen = {
        "--estimators": None if prepared.methods is None else ",".join(prepared.methods),
        "--budgets": budget_ranges(measured.budgets),
        "--seeds": str(plan.draws),
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

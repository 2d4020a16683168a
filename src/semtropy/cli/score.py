"""`semtropy score FILE`: the entropy and verdict of each question of a recording, one line per question."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, SemtropyError
from ._options import add_engine, engine_of
from ._text import json_text, one_line

if TYPE_CHECKING:
    from ..calibration import Calibration
    from ..scoring import Scored


_BATCH = 64  # rows that a worker of a cluster is given at a time


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "score",
        help="score the answers of a recording",
        description="Score the answers of a recording, one line per question. No model is called. Answers that have no"
        " meaning yet are grouped first; `semtropy cluster` does so once and writes the meanings down.",
    )
    add = parser.add_argument
    add("recording", metavar="FILE", help="a recording (.jsonl, .jsonl.gz, .parquet) or the folder of a run")
    add("--estimator", default="bayes", metavar="E", help="the estimator or scorer to use (default: bayes)")
    add("--prior", type=Path, metavar="FILE", help="a fitted prior for bayes (default: the built-in prior)")
    add(
        "--calibration",
        type=Path,
        metavar="FILE",
        help="a file written by `semtropy calibrate`: adds the probability of a hallucination",
    )
    add(
        "--judge",
        metavar="J",
        help="the judge for answers that have no meaning yet: builtin (default), builtin-large, llm:MODEL, "
        "nli:NAME_OR_PATH, numeric, normalised or exact",
    )
    add("--json", action="store_true", help="print one JSON object per question")
    add_engine(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score question by question, printing each as it is done."""
    from ..estimators import Prior
    from ..recording import open_recording
    from ..scoring import row_scoring
    from .progress import GroupingProgress

    def ungrouped() -> int:
        count = 0
        # A row that cannot be read ends the run, once those before it are scored.
        with suppress(SemtropyError):
            for row in open_recording(arguments.recording).rows:
                count += not row.clustered
        return count

    work = partial(
        row_scoring,
        arguments.estimator,
        prior=None if arguments.prior is None else Prior.load(arguments.prior),
        calibration=_calibration(arguments.calibration, arguments.estimator),
        judge=arguments.judge,
        watch=GroupingProgress(ungrouped, sys.stderr) if arguments.engine == "local" else None,
    )
    scored = engine_of(arguments)(work, open_recording(arguments.recording).rows, batch=_BATCH)
    for line in (json_text(each.to_dict()) for each in scored) if arguments.json else _table(scored):
        print(line)
    return 0


def _calibration(path: Path | None, estimator: str) -> Calibration | None:
    if path is None:
        return None
    from ..calibration import Calibration

    found = Calibration.load(path)
    if found.estimator not in (estimator, "claims"):
        raise InputError(f"{path}: was fitted for the estimator {found.estimator}, not {estimator}")
    return found


def _table(scored: Iterable[Scored]) -> Iterator[str]:
    """Columns of fixed width, so that each line can be printed before the next is known."""
    yield f"{'id':<16} {'entropy':>7}  {'90% interval':<12} {'meanings':>8} {'samples':>7}  {'':<8} answer"
    count = flagged = 0
    notes: Counter[str] = Counter()
    for line in scored:
        count += 1
        flagged += bool(line.flagged)
        notes.update(re.sub(r"^\d+ of \d+ (sample|answer)s", _some, note) for note in line.verdict.warnings)
        yield _columns(line)
    yield f"{count} questions, {flagged} flagged"
    for note, times in notes.items():
        print(f"note ({times} of {count} questions): {note}", file=sys.stderr)


def _some(counted: re.Match[str]) -> str:
    return f"one {counted[1]}" if counted[0].startswith("1 ") else f"some {counted[1]}s"


def _columns(line: Scored) -> str:
    entropy, probability = line.verdict.entropy, line.verdict.probability
    between = "" if entropy.interval is None else "{:.2f} - {:.2f}".format(*entropy.interval)
    mark = "flagged" if line.flagged else ""
    if probability is not None:
        mark = f"{probability:.0%}{' !' if line.flagged else ''}"
    return (
        f"{one_line(line.id, 16):<16} {entropy.mean:>7.3f}  {between:<12} {len(line.verdict.meanings):>8}"
        f" {line.verdict.samples:>7}  {mark:<8} {one_line(line.verdict.answer, 48)}"
    )

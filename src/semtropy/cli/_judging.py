"""What `semtropy cluster` and `semtropy relate` share: they judge the answers of one recording and write another."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ._engine import add_engine, engine_of

if TYPE_CHECKING:
    import argparse

    from ..study.judging import RowJudging

__all__ = ["add_judging", "judge_and_report"]


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add the input, the output and the judge."""
    add = parser.add_argument
    add("source", metavar="IN", help="a recording (.jsonl, .jsonl.gz, .parquet) or the folder of a run")
    add("out", metavar="OUT", help="the recording to write: .jsonl, .jsonl.gz or .parquet")
    add(
        "--judge",
        metavar="J",
        help="builtin, exact, normalised, numeric, nli:NAME_OR_PATH or llm:MODEL (default: builtin)",
    )
    add("--cache", type=Path, metavar="FILE", help="an SQLite file that stores judgements for later runs")
    add_engine(parser)


def judge_and_report(arguments: argparse.Namespace, judging: RowJudging, *, doing: str) -> int:
    """Judge, with progress, and report what it took."""
    if arguments.cache is not None and arguments.engine == "ray":
        raise InputError("--cache is a file of one machine: leave it out with --engine ray")
    from ..meaning import load_judge
    from ..recording import open_recording
    from ..study.judging import judge_recording
    from .progress import GroupingProgress

    load = partial(load_judge, arguments.judge, cache=arguments.cache)
    report = judge_recording(
        arguments.source,
        arguments.out,
        load(),
        judging,
        engine=engine_of(arguments),
        load=load if arguments.engine == "ray" else None,
        watch=GroupingProgress(
            lambda: sum(1 for _ in open_recording(arguments.source).rows), sys.stderr, doing=doing
        ),
    )
    print(f"{arguments.out}", *report.lines(), sep="\n")
    return 0

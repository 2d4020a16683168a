"""`semtropy cluster IN OUT`: assign a meaning to every sample of a recording."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

__all__ = ["add_judging", "register"]


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "cluster",
        help="group the samples of a recording by meaning",
        description="Assign a meaning to every sample of a recording. An interrupted run can be resumed.",
    )
    add_judging(parser)
    add = parser.add_argument
    add(
        "--mode",
        default="strict",
        metavar="M",
        help="when two answers mean the same: strict, each entails the other; relaxed, one entails the other and "
        "neither contradicts the other; either, one entails the other (default: strict)",
    )
    add("--all", action="store_true", help="also regroup questions whose samples have meanings")
    add("--window", type=int, default=64, metavar="N", help="questions judged together (default: 64)")
    parser.set_defaults(run=run)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add what commands share that judge the answers of one recording and write another."""
    add = parser.add_argument
    add("source", metavar="IN", help="a recording (.jsonl, .jsonl.gz, .parquet) or the folder of a run")
    add("out", metavar="OUT", help="the recording to write: .jsonl, .jsonl.gz or .parquet")
    add(
        "--judge",
        metavar="J",
        help="builtin, exact, normalised, numeric, nli:NAME_OR_PATH or llm:MODEL (default: builtin)",
    )
    add("--cache", type=Path, metavar="FILE", help="an SQLite file that stores judgements for later runs")


def run(arguments: argparse.Namespace) -> int:
    """Cluster, and report what it took."""
    from ..meaning import load_judge
    from ..meaning.recordings import cluster_recording
    from ..recording import open_recording
    from .progress import GroupingProgress

    report = cluster_recording(
        arguments.source,
        arguments.out,
        load_judge(arguments.judge, cache=arguments.cache),
        mode=arguments.mode,
        every=arguments.all,
        window=arguments.window,
        watch=GroupingProgress(lambda: sum(1 for _ in open_recording(arguments.source).rows), sys.stderr),
    )
    print(f"{arguments.out}", *report.lines(), sep="\n")
    return 0

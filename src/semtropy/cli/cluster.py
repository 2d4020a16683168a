"""`semtropy cluster IN OUT`: give every sample of a recording its meaning."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

__all__ = ["register"]

EVERY = 5.0  # seconds between lines of progress


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "cluster",
        help="group the samples of a recording by meaning",
        description="Give every sample of a recording its meaning. Stopped and started again, it goes on.",
    )
    add = parser.add_argument
    add("source", metavar="IN", help="a recording: .jsonl, .jsonl.gz, .parquet, or a folder being written")
    add("out", metavar="OUT", help="what to write: its name ends in .jsonl, .jsonl.gz or .parquet")
    add(
        "--judge",
        metavar="J",
        help="builtin, exact, normalised, numeric, nli:NAME_OR_PATH or llm:MODEL (default: builtin)",
    )
    add("--mode", default="strict", metavar="M", help="strict, relaxed or either (default: strict)")
    add("--cache", type=Path, metavar="FILE", help="an SQLite file that keeps judgements for other runs")
    add("--all", action="store_true", help="group anew also the questions that have meanings")
    add("--window", type=int, default=64, metavar="N", help="questions judged together (default: 64)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Cluster, and report what it took."""
    from ..meaning import load_judge
    from ..meaning.recordings import cluster_recording

    report = cluster_recording(
        arguments.source,
        arguments.out,
        load_judge(arguments.judge, cache=arguments.cache),
        mode=arguments.mode,
        every=arguments.all,
        window=arguments.window,
        watch=_Progress(),
    )
    print(f"{arguments.out}", *report.lines(), sep="\n")
    return 0


class _Progress:
    """A line on standard error now and then."""

    def __init__(self) -> None:
        self._started = self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            rate = done / (now - self._started)
            print(f"{done:,} questions, {rate:.1f} a second", file=sys.stderr, flush=True)

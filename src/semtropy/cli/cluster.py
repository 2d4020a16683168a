"""`semtropy cluster IN OUT`: assign a meaning to every sample of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._options import add_judging, judge_and_report

if TYPE_CHECKING:
    import argparse


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
    parser.set_defaults(run=run, resumes=True)


def run(arguments: argparse.Namespace) -> int:
    """Cluster, and report what it took."""
    from ..study.judging import RowGrouping

    judging = RowGrouping(arguments.mode, arguments.all, arguments.window)
    return judge_and_report(arguments, judging, doing="grouping by meaning")

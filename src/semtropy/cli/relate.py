"""`semtropy relate IN OUT`: judge which answers of a recording entail or contradict each other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .cluster import add_judging

if TYPE_CHECKING:
    import argparse

__all__ = ["register"]


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "relate",
        help="judge which answers of a recording entail or contradict each other",
        description=(
            "Judge every pair of different texts among the answer and the first samples of each question, in both "
            "directions, for methods that compare answers pairwise. With --cache an interrupted run resumes."
        ),
    )
    add_judging(parser)
    add = parser.add_argument
    add("--first", type=int, default=20, metavar="N", help="relate the first N samples (default: 20)")
    add("--all", action="store_true", help="also judge questions that have relations")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Relate, and report what it took."""
    from ..meaning import load_judge
    from ..recording import open_recording
    from ..study.relate import relate_recording
    from .progress import GroupingProgress

    report = relate_recording(
        arguments.source,
        arguments.out,
        load_judge(arguments.judge, cache=arguments.cache),
        first=arguments.first,
        every=arguments.all,
        watch=GroupingProgress(
            lambda: sum(1 for _ in open_recording(arguments.source).rows), sys.stderr, doing="relating"
        ),
    )
    print(f"{arguments.out}", *report.lines(), sep="\n")
    return 0

"""`semtropy relate IN OUT`: judge which answers of a recording entail or contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._options import add_judging, judge_and_report

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "relate",
        help="judge which answers of a recording entail or contradict each other",
        description=(
            "Judge every pair of different texts among the answer and the first samples of each question, in both "
            "directions, for methods that compare answers pairwise. An interrupted run can be resumed."
        ),
    )
    add_judging(parser)
    add = parser.add_argument
    add("--first", type=int, default=20, metavar="N", help="relate the first N samples (default: 20)")
    add("--all", action="store_true", help="also judge questions that have relations")
    parser.set_defaults(run=run, resumes=True)


def run(arguments: argparse.Namespace) -> int:
    """Relate, and report what it took."""
    from ..study.judging import RowRelating

    return judge_and_report(arguments, RowRelating(arguments.first, arguments.all), doing="relating")

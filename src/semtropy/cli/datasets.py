"""`semtropy datasets`: the sets of questions known by name, and where each would come from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "datasets",
        help="list the datasets known by name",
        description="List the datasets that `semtropy generate` knows by name, with the paper's number of "
        "questions and where each would come from on this machine.",
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a line a set."""
    from ..study.generate.datasets import NAMED_SETS, available

    rows = [
        {"name": name, "questions": recipe.size, "about": recipe.about, "from": available(name)}
        for name, recipe in NAMED_SETS.items()
    ]
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        print(f"{row['name']:<10} {row['questions']:>5}  {row['about']}\n{'':<17} from {row['from']}")
    return 0

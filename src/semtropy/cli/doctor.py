"""`semtropy doctor`: what a model and a judge really do, found out with nine short answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ._options import add_config, read_config
from ._text import json_text, say

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="find out what a model really does, and what a check of it costs",
        description="Ask a model for nine short answers and report what it does: whether samples differ, which "
        "log-probabilities it gives, what it refuses, how fast it is, what a check costs. Test the judge, too. Each "
        "problem comes with what to do about it.",
    )
    add = parser.add_argument
    add("--model", default="smollm2", help="the model (default: smollm2, the built-in one)")
    add("--base-url", metavar="URL", help="address of the endpoint, with openai:MODEL or completions:MODEL")
    add("--judge", metavar="J", help="the judge to test (default: the built-in one)")
    add(
        "--price-per-token",
        type=float,
        default=0.0,
        metavar="P",
        help="what a generated token costs, for the cost of a check",
    )
    add("--json", action="store_true", help="print one JSON object")
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine the model; exit code 0 whatever is found, as long as it answers."""
    from ..doctor import DRAWS, examine
    from ..meaning import load_judge
    from ..models import load_model
    from ..stopping import Price

    read_config(arguments.config, arguments, arguments.words)
    address = {} if arguments.base_url is None else {"base_url": arguments.base_url}
    model = load_model(arguments.model, **address)
    price = Price(per_token=arguments.price_per_token) if arguments.price_per_token else None
    findings = examine(model, load_judge(arguments.judge), price=price)
    if arguments.json:
        say(json_text({"model": arguments.model, "findings": [asdict(finding) for finding in findings]}))
        return 0
    say(f"Asking {arguments.model} for {DRAWS + 3} short answers, of a few tokens each.")
    for finding in findings:
        say(f"{'ok  ' if finding.good else 'note'}  {finding.about}: {finding.found}.")
        if finding.advice is not None:
            say(f"      {finding.advice[0].upper()}{finding.advice[1:]}.")
    return 0

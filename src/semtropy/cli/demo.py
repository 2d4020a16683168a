"""`semtropy demo`: a fact, a name that a small model makes up, and a paragraph, checked on the built-in model."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._text import say

if TYPE_CHECKING:
    import argparse

    from ..verdict import Verdict

KNOWN = "What is the capital of France?"
OBSCURE = "Who was the mayor of Timisoara in 1911?"
PARAGRAPH = "Tell me about the Sun in a short paragraph."
PARAGRAPH_TOKENS = 96


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="see three verdicts on the built-in model: a fact, a made-up name, a paragraph",
        description="Check a question that the small built-in model knows, one that it cannot know, and a paragraph, "
        "and explain how the verdicts differ. Takes less than a minute, and needs no key.",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed for the draws (default: 1)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Three verdicts, and what sets them apart."""
    known, obscure = (_check(question, arguments.seed) for question in (KNOWN, OBSCURE))
    say(f"\n{textwrap.fill(summary(known, obscure), 100)}")
    long = _check(PARAGRAPH, arguments.seed, max_tokens=PARAGRAPH_TOKENS)
    say(
        f"\nEach claim of a paragraph gets a verdict. The same {long.samples} samples of it served all claims."
    )
    say("\nNow your own question:\n")
    say(textwrap.indent("\n".join(next_steps()), "  "))
    return 0


def _check(question: str, seed: int, **options: Any) -> Verdict:
    """Check as `semtropy check` does, and print what it prints; the built-in model answers."""
    from ..checking import Checker
    from . import parser
    from .check import check_one

    given = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words = ["check", question, *given, "--seed", str(seed)]
    say(f"\n$ semtropy {shlex.join(words)}")
    arguments = parser(["check"]).parse_args(words)
    # A terminal shows them in any case.
    arguments.show_groups = not sys.stdout.isatty() and question == OBSCURE
    return check_one(Checker.load(**options), question, arguments)[0]


def next_steps() -> list[str]:
    """The commands after which `semtropy` can be typed in this shell."""
    folder = Path(sys.executable).parent
    inside = sys.prefix != sys.base_prefix
    here = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    activate = str(here / "activate") if os.name == "nt" else f". {here / 'activate'}"
    return [*([activate] if inside else []), 'semtropy check "Who painted the Mona Lisa?"']


def summary(known: Verdict, obscure: Verdict) -> str:
    """What the two verdicts say together."""
    from ..verdict import percent

    first, second = (percent(verdict.agreement.mean) for verdict in (known, obscure) if verdict.agreement)
    enough = "" if known.samples or obscure.samples else " The probability of the answer itself was enough."
    return (
        f"The same small model answered both. Asked 100 times more, it would repeat its first answer {first} times "
        f"and its second answer {second}: it made that one up. The checks drew {known.samples} and {obscure.samples} "
        f"samples, of at most 10 each.{enough}"
    )

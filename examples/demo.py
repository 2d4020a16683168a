"""One question a small model knows and one it cannot know, checked on the built-in model. Run by `make demo`."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

from semtropy import Verdict, check
from semtropy.verdict import percent

KNOWN = "What is the capital of France?"
OBSCURE = "Who was the mayor of Timisoara in 1911?"


def show(question: str, *, seed: int) -> Verdict:
    """Check a question and print what was found."""
    print(f"\n> {question}", flush=True)
    verdict = check(question, rng=seed)
    print(verdict.explain())
    if verdict.samples:
        print(textwrap.indent(verdict.show_groups(), "  "))
    return verdict


def main(seed: int = 1) -> int:
    """Two verdicts, and what sets them apart."""
    known, obscure = (show(question, seed=seed) for question in (KNOWN, OBSCURE))
    print()
    print(textwrap.fill(summary(known, obscure), 100))
    print("\nNow your own question:\n")
    print(textwrap.indent("\n".join(next_steps()), "  "))
    return 0


def next_steps() -> list[str]:
    """The commands after which `semtropy` can be typed in this shell."""
    folder = Path(sys.executable).parent
    inside = sys.prefix != sys.base_prefix
    here = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    activate = str(here / "activate") if os.name == "nt" else f". {here / 'activate'}"
    return [*([activate] if inside else []), 'semtropy check "Who wrote Moby Dick?"']


def summary(known: Verdict, obscure: Verdict) -> str:
    """What the two verdicts say together."""
    first, second = (percent(verdict.agreement.mean) for verdict in (known, obscure) if verdict.agreement)
    enough = "" if known.samples or obscure.samples else " The probability of the answer itself was enough."
    return (
        f"The same small model both times. Asked again 100 times, it would repeat its first answer {first} times, and "
        f"its second {second}: that one it makes up. Samples drawn: {known.samples} and {obscure.samples}, of at most "
        f"10 each.{enough}"
    )


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))

"""One question a small model knows and one it cannot know, checked on the built-in model. Run by `make demo`."""

from __future__ import annotations

import sys

from semtropy import Verdict, check

KNOWN = "What is the capital of France?"
OBSCURE = "Who was the mayor of Timisoara in 1911?"


def show(question: str, *, seed: int) -> Verdict:
    """Check a question and print the verdict, with the samples grouped by meaning if there are any."""
    print(f"\n> {question}", flush=True)
    verdict = check(question, rng=seed)
    print(verdict.explain())
    if verdict.samples:
        print(verdict.show_groups())
    return verdict


def summary(verdict: Verdict) -> str:
    """How likely the model is to say so again, and what it took to know."""
    again = "unknown" if verdict.agreement is None else f"{verdict.agreement.mean:.0%}"
    return f'"{verdict.answer}" again: {again} (entropy {verdict.entropy.mean:.2f} nats, {verdict.samples} samples)'


def main(seed: int = 1) -> int:
    """Two verdicts, and what sets them apart."""
    known, obscure = (show(question, seed=seed) for question in (KNOWN, OBSCURE))
    print(
        "\nThe same small model gave both answers. How likely would it be to give each of them again?"
        f"\n  {summary(known)}\n  {summary(obscure)}"
        '\nTry a question:  .venv/bin/semtropy check "Who wrote Moby Dick?"'
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))

"""One question a small model knows and one it cannot know, checked on the built-in model. Run by `make demo`."""

from __future__ import annotations

import sys

from semtropy import Verdict, check

KNOWN = "What is the capital of France?"
OBSCURE = "Who was the mayor of Timisoara in 1911?"


def show(question: str, *, seed: int) -> Verdict:
    """Check a question and print what was found."""
    print(f"\n> {question}", flush=True)
    verdict = check(question, rng=seed)
    print(verdict.explain())
    for meaning in sorted(verdict.meanings, key=lambda meaning: -meaning.count):
        print(f"  {meaning.count:2} x {meaning.text}")
    return verdict


def main(seed: int = 1) -> int:
    """Two verdicts, and what sets them apart."""
    known, obscure = (show(question, seed=seed) for question in (KNOWN, OBSCURE))
    likeliest = max(known.meanings, key=lambda meaning: meaning.floor)
    print(
        f"\nThe same small model both times. Its first answer it gives with a probability of at least "
        f"{likeliest.floor:.0%}, which leaves little room for others: {known.entropy.mean:.2f} nats, after "
        f"{known.samples} of at most 10 samples. The second it makes up, differently each time: "
        f"{obscure.entropy.mean:.2f} nats, after {obscure.samples}."
        f'\nTry your own:  .venv/bin/semtropy check "Who wrote Moby Dick?"'
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))

"""Time against samples: how long checks take where every request takes 1.5 s.

Each provider's emulator is asked three times about a question that it always answers the same, and three times about
one that it answers differently every time. The first check finds out what the endpoint gives; the limit holds for it
too.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing

from semtropy.checking import Checker
from semtropy.models import ScriptedModel
from semtropy.testing import emulate

SECONDS = 1.5
ROUND_TRIPS = 2
OVERHEAD = 0.8  # for judging, estimating and the slower machines
PROVIDERS = ("openai", "openai-reasoning", "anthropic", "gemini", "ollama", "vllm")
SURE = {"Paris": 0.999, "Lyon": 0.001}
UNSURE = {f"name {number}": 0.02 for number in range(50)}


def measure(provider: str, answers: dict[str, float], checks: int = 3) -> list[tuple[int, int, float]]:
    """Samples, round trips and seconds of each check."""
    found = []
    with emulate(provider, answers, delay=SECONDS) as endpoint, closing(endpoint.model()) as model:
        checker = Checker.load(model=model, judge="exact")
        for seed in range(checks):
            start = time.perf_counter()
            verdict = checker.check("Which city has the tower?", rng=seed)
            found.append((verdict.samples, verdict.spent.rounds, time.perf_counter() - start))
    return found


def main() -> int:
    """Print a line for each check of a steady answer and of an unsteady one; 1 if one of the steady takes too long."""
    warmed = Checker.load(model=ScriptedModel(default=UNSURE), judge="exact")
    warmed.check("Which?", rng=0)  # loads the prior and the kernel
    late = False
    print(f"{'provider':18} {'question':8} {'check':>5} {'samples':>7} {'trips':>5} {'seconds':>7}")
    for provider in PROVIDERS:
        for kind, answers in (("steady", SURE), ("unsteady", UNSURE)):
            for number, (samples, trips, seconds) in enumerate(measure(provider, answers), start=1):
                over = kind == "steady" and seconds > ROUND_TRIPS * SECONDS + OVERHEAD
                late = late or over
                print(
                    f"{provider:18} {kind:8} {number:5} {samples:7} {trips:5} {seconds:7.2f}{'  late' * over}"
                )
    return int(late)


if __name__ == "__main__":
    sys.exit(main())

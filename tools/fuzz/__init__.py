"""`python -m tools.fuzz [NAME ...]` attacks parts of semtropy with random, extreme and invalid inputs.

A fuzzer is a module of this package with

    fuzz(cases: int, seed: int) -> None     raises at the first fault
    CASES: int                              how many cases `make fuzz` runs
    environment() -> dict[str, str]         optional: variables for the process it runs in, made beforehand

and a line in `FUZZERS`. `attack_all` runs the cases and names the one that failed, so that it can be run again alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

__all__ = ["FUZZERS", "attack_all"]

FUZZERS = {
    "beliefs": "tools.fuzz.beliefs",
    "files": "tools.fuzz.files",
    "gateway": "tools.fuzz.gateway",
    "kernel": "tools.fuzz.kernel",
    "pickles": "tools.fuzz.pickles",
    "recordings": "tools.fuzz.recordings",
    "replies": "tools.fuzz.replies",
    "upstreams": "tools.fuzz.upstreams",
}


def attack_all(
    attack: Callable[[np.random.Generator], None],
    cases: int,
    seed: int,
    *,
    first: int = 0,
    seconds: float = 60.0,
) -> None:
    """Run `attack` with the random numbers of each case.

    A fault is any exception, or a case that takes more than `seconds` of processor time.
    """
    for i in range(first, first + cases):
        start = time.process_time()
        try:
            attack(np.random.default_rng([seed, i]))
        except Exception as fault:
            raise AssertionError(f"case {i} of seed {seed}: {type(fault).__name__}: {fault}") from fault
        taken = time.process_time() - start
        if taken > seconds:
            raise AssertionError(f"case {i} of seed {seed} took {taken:.0f} s; {seconds:.0f} are allowed")

"""What the loop and the estimator add to a round of live checking, over the time of the model and the judge.

A scripted model and the exact judge answer at once, so what is left is ours; it is also given as a share of a round of
the built-in model, measured in the same run.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from semtropy import Belief, Budget, Reason
from semtropy.checking import Checker
from semtropy.errors import SemtropyError
from semtropy.models import load_model
from semtropy.models.scripted import ScriptedModel
from semtropy.stopping import Decided, Rounds, Rule, Spent
from semtropy.verdict import THRESHOLD

Clock = Callable[[], float]

QUESTIONS = 60
LIMIT_MS = 5.0
SEEDS = 10
KNOWN, OBSCURE = "What is the capital of France?", "Who was the mayor of Timisoara in 1911?"
SPREADS = (
    {"Paris": 0.97, "Lyon": 0.03},
    {"Ann": 0.5, "Bob": 0.3, "Cid": 0.2},
    {f"name {k}": 0.05 for k in range(20)},
)


def never(belief: Belief, spent: Spent) -> Reason | None:
    """A rule that is never satisfied."""
    return None


def deciding(belief: Belief, spent: Spent) -> Reason | None:
    """What `Decided` costs, without its effect: the distribution is worked out every round."""
    Decided(THRESHOLD)(belief, spent)
    return None


def timed(checker: Checker, prompt: str, seed: int, clock: Clock = time.perf_counter) -> list[float]:
    """Milliseconds of each round."""
    marks = [clock()]
    marks.extend(clock() for _ in checker.stream(prompt, rng=seed))
    return [1e3 * float(gap) for gap in np.diff(marks)]


def overhead(estimator: str, rule: Rule = never) -> list[float]:
    """Rounds with a model and a judge that cost nothing; one by one, up to ten samples, never satisfied early.

    Processor time, so that what else the machine is doing does not count.
    """
    rounds = []
    for number in range(QUESTIONS):
        checker = Checker.load(
            model=_Direct(ScriptedModel(default=SPREADS[number % len(SPREADS)])),
            judge="exact",
            estimator=estimator,
            rule=rule,
            budget=Budget(samples=10),
            rounds=Rounds(growth=1.0),
        )
        rounds.extend(timed(checker, f"question {number}", number, time.thread_time))
    return rounds


class _Direct:
    """The scripted model without its awaitable twin, as a model in this process is."""

    def __init__(self, model: ScriptedModel) -> None:
        self.name, self.sample = model.name, model.sample


def real_rounds(estimator: str) -> list[float] | None:
    """Rounds of the built-in model with the built-in judge, or None where it is not to be had."""
    try:
        checker = Checker.load(
            model=load_model("smollm2"),
            estimator=estimator,
            rule=never,
            rounds=Rounds(growth=1.0),
        )
    except (SemtropyError, ImportError):
        return None
    return timed(checker, OBSCURE, 1)


def known_against_obscure(estimator: str) -> dict[str, Any] | None:
    """The demo's two questions over ten seeds: how often the known one has less entropy for no more samples."""
    try:
        checker = Checker.load(model=load_model("smollm2"), estimator=estimator)
    except (SemtropyError, ImportError):
        return None
    pairs = [[checker.check(question, rng=seed) for question in (KNOWN, OBSCURE)] for seed in range(SEEDS)]
    better = [k.entropy.mean < o.entropy.mean and k.samples <= o.samples for k, o in pairs]
    return {
        "seeds": SEEDS,
        "lower_entropy_for_no_more_samples": sum(better),
        "samples_known": statistics.mean(known.samples for known, _ in pairs),
        "samples_obscure": statistics.mean(obscure.samples for _, obscure in pairs),
        "entropy_known": statistics.mean(known.entropy.mean for known, _ in pairs),
        "entropy_obscure": statistics.mean(obscure.entropy.mean for _, obscure in pairs),
    }


def measure(estimator: str = "bayes") -> dict[str, Any]:
    """The numbers of this benchmark."""
    ours = overhead(estimator)[1:]  # the first round imports and warms up
    loop = overhead("histogram")[1:]
    whole = real_rounds(estimator)
    return {
        "estimator": estimator,
        "rounds": len(ours),
        "overhead_ms_median": statistics.median(ours),
        "of_which_loop_ms": statistics.median(loop),
        "overhead_ms_p95": float(np.quantile(ours, 0.95)),
        "overhead_ms_median_decided": statistics.median(overhead(estimator, deciding)[1:]),
        "limit_ms": LIMIT_MS,
        "share_of_a_real_round": None if not whole else statistics.median(ours) / statistics.median(whole),
        "known_against_obscure": known_against_obscure(estimator),
    }


def main() -> int:
    """Print the numbers; 1 if a round costs more than the limit."""
    found = measure(*sys.argv[1:2])
    print(json.dumps(found, indent=2))
    return 0 if found["overhead_ms_median"] < LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())

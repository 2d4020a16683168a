"""Accuracy of the exact moments against an independent high-precision reference, on random and extreme cases."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.reference import endless_seen, one_seen, two_seen
from semtropy.entropy import (
    Moments,
    Observations,
    PitmanYorComponent,
    SequencePrior,
    component_moments,
    moments,
    two_level_moments,
)

__all__ = ["main"]

FLOORS = (1e-300, 1e-12, 1e-6, 1e-2, 0.3, 0.7, 0.99, 1 - 1e-6, 1 - 1e-12)
SIZES = (2, 3, 7, 30, 1000)


def misses(cases: int, seed: int = 0) -> np.ndarray:
    """Rows (error of the mean, relative error of the variance): one seen, two seen, two-level, endless in turn."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(cases):
        alpha = float(10 ** rng.uniform(-2, 1))
        floor = float(rng.choice(FLOORS)) if rng.random() < 0.5 else float(rng.uniform(0, 1))
        size = int(rng.choice(SIZES))
        count = int(10 ** rng.uniform(0, rng.choice([1, 4])))
        if i % 4 == 0:
            found = moments([count], [floor], [size], alpha)
            mean, variance, _ = one_seen(alpha + count - 1, 1, floor, alpha, size - 1)
        elif i % 4 == 1:
            share = float(rng.uniform(0.01, 0.99))
            floors, counts = (floor * share, floor * (1 - share)), (count, int(rng.integers(1, 20)))
            found = moments(counts, floors, [2], alpha)
            mean, variance, _ = two_seen((alpha + counts[0] - 1, alpha + counts[1] - 1), (1, 1), floors)
        elif i % 4 == 3:
            theta, discount = float(10 ** rng.uniform(-2, np.log10(30))), float(rng.uniform(0.01, 0.9))
            concentration = float(10 ** rng.uniform(-1, 3))
            found = endless_moments(
                floor, PitmanYorComponent(discount, SequencePrior(theta), (concentration,))
            )
            mean, variance, _ = endless_seen(
                -discount - theta, theta, floor, concentration + discount, discount
            )
        else:
            theta = float(10 ** rng.uniform(-2, np.log10(30)))
            found = two_level_moments([floor], [1], [size], alpha, theta)
            mean, variance, _ = one_seen(alpha - theta, theta, floor, alpha, size - 1)
        rows.append((abs(float(found.mean[0] - mean)), abs(float(found.variance[0] / variance - 1))))
        if sys.stderr.isatty() and i % 10 == 9:
            print(f"\r{i + 1} of {cases}", end="", file=sys.stderr)
    return np.array(rows)


def endless_moments(floor: float, kind: PitmanYorComponent) -> Moments:
    """One meaning seen, by one sequence."""
    one = np.ones(1)
    seen = Observations(np.array([floor]), one, ((float(np.log(floor)),),), 0 * one)
    found = component_moments([seen], [kind], tolerance=1e-9)
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])


def main(cases: int = 510) -> None:
    """Print the quantiles of both errors."""
    rows = misses(cases)
    print(f"exact moments against mpmath, {cases} random and extreme cases")
    print("| | median | 99% | worst | allowed |\n|---|---|---|---|---|")
    for name, errors, allowed in (("mean", rows[:, 0], 1e-9), ("variance, relative", rows[:, 1], 1e-7)):
        middle, most, worst = np.quantile(errors, [0.5, 0.99, 1])
        print(f"| {name} | {middle:.0e} | {most:.0e} | {worst:.0e} | {allowed:.0e} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

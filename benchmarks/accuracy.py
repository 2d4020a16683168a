"""Accuracy of the exact moments and evidence against an independent high-precision reference.

Families of cases, in turn: one meaning seen; two seen and none unseen; one of a few, the others without floors; the
two-level model; a Pitman-Yor component; and large counts with large floors, which the others reach too rarely.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import mpmath as mp
import numpy as np

from benchmarks.reference import one_of_a_few, one_seen, pitman_yor_seen, two_seen
from semtropy.entropy import Moments, moments, two_level_moments
from semtropy.entropy.components import Observations, PitmanYorComponent, SequencePrior
from semtropy.entropy.two_level import component_moments

__all__ = ["main", "pitman_yor_moments"]

FLOORS = (1e-300, 1e-12, 1e-6, 1e-2, 0.3, 0.7, 0.99, 1 - 1e-6, 1 - 1e-12)
SIZES = (2, 3, 7, 30, 1000)
ALLOWED = {"mean": 1e-9, "variance, relative": 1e-7, "log-evidence": 1e-7}

Case = tuple[
    Moments, tuple[mp.mpf, mp.mpf, mp.mpf]
]  # what semtropy found, and mean, variance and log-evidence


def _common(rng: np.random.Generator) -> tuple[float, float, int, int]:
    """alpha, a floor, a support size and a count, over the whole of their ranges."""
    floor = float(rng.choice(FLOORS)) if rng.random() < 0.5 else float(rng.uniform(0, 1))
    count = int(10 ** rng.uniform(0, rng.choice([1, 4])))
    return float(10 ** rng.uniform(-2, 1)), floor, int(rng.choice(SIZES)), count


def _placed(found: Moments, expected: tuple[mp.mpf, ...], size: int, seen: int, alpha: float) -> Case:
    """Adds to the integral what the evidence has beside: K! / (K - m)! Gamma(K alpha) / Gamma(alpha)^m."""
    a = mp.mpf(alpha)
    choices = mp.loggamma(size + 1) - mp.loggamma(size - seen + 1)
    log_evidence = expected[2] + choices + mp.loggamma(size * a) - seen * mp.loggamma(a)
    return found, (expected[0], expected[1], log_evidence)


def _one(rng: np.random.Generator) -> Case:
    alpha, floor, size, count = _common(rng)
    expected = one_seen(alpha + count - 1, 1, floor, alpha, size - 1)
    return _placed(moments([count], [floor], [size], alpha), expected, size, 1, alpha)


def _large(rng: np.random.Generator) -> Case:
    """Counts of 100 to 10,000 with floors of 0.5 to 0.99: here the mode may lie on either side of the floor."""
    alpha, floor = float(10 ** rng.uniform(-2, 1)), float(rng.uniform(0.5, 0.99))
    count, size = int(10 ** rng.uniform(2, 4)), int(rng.choice(SIZES))
    expected = one_seen(alpha + count - 1, 1, floor, alpha, size - 1)
    return _placed(moments([count], [floor], [size], alpha), expected, size, 1, alpha)


def _two(rng: np.random.Generator) -> Case:
    alpha, floor, _, count = _common(rng)
    share = float(rng.uniform(0.01, 0.99))
    floors, counts = (
        (floor * share, floor * (1 - share)),
        (count, int(10 ** rng.uniform(0, rng.choice([1, 4])))),
    )
    expected = two_seen((alpha + counts[0] - 1, alpha + counts[1] - 1), (1, 1), floors)
    return _placed(moments(counts, floors, [2], alpha), expected, 2, 2, alpha)


def _few(rng: np.random.Generator) -> Case:
    alpha, floor, _, count = _common(rng)
    others = [int(10 ** rng.uniform(0, rng.choice([1, 4]))) for _ in range(int(rng.integers(1, 5)))]
    unseen = int(rng.integers(0, 4))
    seen, size = 1 + len(others), 1 + len(others) + unseen
    shapes = [alpha + other for other in others] + [alpha] * unseen
    mean, variance, log_z = one_of_a_few(alpha + count - 1, 1, floor, shapes)
    expected = mean, variance, log_z - unseen * mp.loggamma(mp.mpf(alpha))
    found = moments([count, *others], [floor] + [0.0] * len(others), [size], alpha)
    return _placed(found, expected, size, seen, alpha)


def _two_level(rng: np.random.Generator) -> Case:
    alpha, floor, size, _ = _common(rng)
    theta = float(10 ** rng.uniform(-2, np.log10(30)))
    mean, variance, log_z = one_seen(alpha - theta, theta, floor, alpha, size - 1)
    found = two_level_moments([floor], [1], [size], alpha, theta)
    return _placed(found, (mean, variance, log_z + mp.log(mp.mpf(theta))), size, 1, alpha)


def _pitman_yor(rng: np.random.Generator) -> Case:
    _, floor, _, _ = _common(rng)
    theta, discount = float(10 ** rng.uniform(-2, np.log10(30))), float(rng.uniform(0.01, 0.9))
    concentration = float(10 ** rng.uniform(-1, 3))
    c, d = mp.mpf(concentration), mp.mpf(discount)
    mean, variance, log_z = pitman_yor_seen(-d - theta, theta, floor, concentration + discount, discount)
    constant = mp.loggamma(c + 1) - mp.loggamma(1 - d) + mp.log(mp.mpf(theta))
    found = pitman_yor_moments(floor, PitmanYorComponent(discount, SequencePrior(theta), (concentration,)))
    return found, (mean, variance, log_z + constant)


FAMILIES: dict[str, Callable[[np.random.Generator], Case]] = {
    "one seen": _one,
    "two seen": _two,
    "one of a few": _few,
    "two levels": _two_level,
    "Pitman-Yor": _pitman_yor,
    "large counts and floors": _large,
}


def misses(cases: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """The family of each case, and its errors: of the mean, of the variance (relative), of the log-evidence."""
    names, rows = list(FAMILIES), []
    for i in range(cases):
        rng = np.random.default_rng([seed, i])
        found, (mean, variance, log_evidence) = FAMILIES[names[i % len(names)]](rng)
        rows.append(
            (
                abs(float(found.mean[0] - mean)),
                abs(float(found.variance[0] / variance - 1)),
                abs(float(found.log_evidence[0] - log_evidence)),
            )
        )
        if sys.stderr.isatty() and i % 10 == 9:
            print(f"\r{i + 1} of {cases}", end="", file=sys.stderr)
    return [names[i % len(names)] for i in range(cases)], np.array(rows)


def pitman_yor_moments(floor: float, component: PitmanYorComponent) -> Moments:
    """One meaning seen, by one sequence."""
    one = np.ones(1)
    seen = Observations(np.array([floor]), one, ((float(np.log(floor)),),), 0 * one)
    found = component_moments([seen], [component], tolerance=1e-9)
    return Moments(found.mean[0], found.variance[0], found.log_evidence[0])


def main(cases: int = 420) -> int:
    """Print the quantiles of the errors and the worst of each family; 1 if one is over what is allowed."""
    families, rows = misses(cases)
    print(f"exact moments and evidence against mpmath, {cases} random and extreme cases")
    print("| | median | 99% | worst | allowed |\n|---|---|---|---|---|")
    for (name, allowed), errors in zip(ALLOWED.items(), rows.T, strict=True):
        middle, most, worst = np.quantile(errors, [0.5, 0.99, 1])
        print(f"| {name} | {middle:.0e} | {most:.0e} | {worst:.0e} | {allowed:.0e} |")
    print(f"\n| worst | {' | '.join(ALLOWED)} |\n|---|---|---|---|")
    for family in FAMILIES:
        worst = rows[[name == family for name in families]].max(axis=0, initial=0.0)
        print(f"| {family} | {' | '.join(f'{error:.0e}' for error in worst)} |")
    return int((rows > np.array([*ALLOWED.values()])).any())


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))

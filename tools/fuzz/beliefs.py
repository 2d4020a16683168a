"""Numbers that must agree: compiled and NumPy integrals, one question and a batch, any order of the meanings.

The kernel fuzzer asks for numbers that are finite; this one asks whether they are right. Moments, distribution
functions and beliefs are computed in two ways, and lie where entropies and probabilities can. A refusal is no fault.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import semtropy.entropy.contour as contour
from semtropy import Evidence, load_estimator
from semtropy.entropy import Moments, cdf, moments, moments_batch
from semtropy.errors import ConvergenceError
from semtropy.evidence import JudgedAnswer
from tools.fuzz import attack_all

__all__ = ["CASES", "fuzz"]

CASES, SHORT = 1_000, 40
# Of the means in nats, beside the tolerance of 1e-9 of the moments and 1e-5 of beliefs.
NEAR, NEAR_BELIEF = 2e-7, 1e-6
LOGPROBS = (-745.0, -1e4, -1e-320, -3.0)


def fuzz(cases: int, seed: int) -> None:
    attack_all(_attack, cases, seed)


def _attack(rng: np.random.Generator) -> None:
    (_moments, _belief, _distribution)[int(rng.choice(3, p=[0.5, 0.4, 0.1]))](rng)


def _log_uniform(rng: np.random.Generator, low: float, high: float, size: int | None = None) -> Any:
    return 10 ** rng.uniform(low, high, size)


def _in_numpy(function: Callable[..., Any], *given: Any) -> Any:
    with mock.patch.object(contour, "_kernel", None):
        return function(*given)


# ---- the truncated Dirichlet --------------------------------------------------------------------------------------


def _floors(rng: np.random.Generator, m: int) -> np.ndarray:
    """Lower bounds: none, nearly all of the mass, more than it by rounding, of all sizes, or a large one."""
    share = rng.dirichlet(np.full(m, rng.choice([0.05, 1.0, 20.0])))
    large = np.where(np.arange(m) == rng.integers(m), rng.uniform(0.5, 0.9999), 0.0)
    ways = (
        np.zeros(m),
        share * (1 - _log_uniform(rng, -16, -6)),
        share * (1 + rng.choice([0.0, 1e-16, 1e-9, 5e-7])),
        np.where(rng.random(m) < 0.5, _log_uniform(rng, -323, -5, m), share * 0.5),
        large,
        share * rng.random(),
    )
    return ways[int(rng.integers(len(ways)))]


def _question(rng: np.random.Generator, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    m = min(most, int(rng.choice([1, 1, 2, 2, 3, 5, 8, 20])))
    counts = np.maximum(1, np.rint(_log_uniform(rng, 0, rng.choice([0.3, 1, 3, 5, 8]), m)))
    sizes = np.unique(m - 1 + np.rint(_log_uniform(rng, 0, rng.choice([0.5, 2, 6, 11.9]), 2)))
    alpha = float(rng.choice([0.5, 1.0, _log_uniform(rng, -3, 3)]))
    return counts, _floors(rng, m), np.maximum(sizes, m)[-1:] if sizes[0] < m else sizes, alpha


def _moments(rng: np.random.Generator) -> None:
    counts, floors, sizes, alpha = _question(rng, 20)
    try:
        found = moments(counts, floors, sizes, alpha)
    except ConvergenceError:
        return
    assert (found.variance >= 0).all(), "a negative variance"
    assert (found.mean > -1e-9).all(), f"a negative entropy: {found.mean}"
    assert (found.mean < np.log(sizes) + NEAR).all(), f"an entropy above log K: {found.mean}"
    order = rng.permutation(counts.size)
    _same(found, _in_numpy(moments, counts, floors, sizes, alpha), "NumPy")
    _same(found, moments(counts[order], floors[order], sizes, alpha), "another order")
    _same(found, moments_batch([counts, [1.0]], [floors, [0.3]], [sizes, [3.0]], alpha)[0], "a batch")


def _same(one: Moments, other: Moments, name: str) -> None:
    off = float(np.abs(one.mean - other.mean).max())
    assert off <= NEAR, f"{name}: the mean is off by {off:.1e}"
    spread = float((np.abs(one.variance - other.variance) / np.maximum(one.variance, 1e-15)).max())
    assert spread <= 1e-4, f"{name}: the variance is off by {spread:.1e} of it"


def _distribution(rng: np.random.Generator) -> None:
    counts, floors, sizes, alpha = _question(rng, 8)
    size = int(sizes[-1]) if sizes[-1] <= 1e6 else counts.size + int(rng.integers(0, 6))
    try:
        found = moments(counts, floors, [size], alpha)
        deviation = max(float(found.variance[0]) ** 0.5, 1e-9)
        around = found.mean[0] + deviation * np.array([-6, -2, -1, 0, 1, 2, 6])
        below = cdf(counts, floors, size, [-1.0, *around, math.log(size) + 1], alpha, tolerance=1e-4)
    except ConvergenceError:
        return
    assert below[0] == 0, f"P(h <= -1) = {below[0]}"
    assert below[-1] == 1, f"P(h <= log K + 1) = {below[-1]}"
    assert (np.diff(below) >= -1e-9).all(), f"a distribution function that falls: {below}"
    # Cantelli's inequality, with the exact moments
    assert below[1] <= 1 / 37 + 0.02, f"P = {below[1]} six deviations below the mean"
    assert below[-2] >= 1 - 1 / 37 - 0.02, f"P = {below[-2]} six deviations above it"


# ---- beliefs ------------------------------------------------------------------------------------------------------


def _logprob(rng: np.random.Generator) -> float:
    return float(
        rng.choice(
            [
                -_log_uniform(rng, -3, 1),
                -_log_uniform(rng, -9, -2),
                -_log_uniform(rng, 1, 4),
                rng.choice(LOGPROBS),
            ]
        )
    )


def _evidence(rng: np.random.Generator) -> Evidence:
    """Evidence of up to thirty meanings whose known probabilities sum to at most 1, with or without an answer."""
    m, left = int(rng.choice([0, 1, 1, 2, 3, 5, 9, 30])), 1.0
    known: list[tuple[float, ...]] = []
    for _ in range(m):
        own: list[float] = []
        for logprob in (_logprob(rng) for _ in range(int(rng.choice([0, 1, 1, 2, 4, 12])))):
            if math.exp(logprob) <= left:
                own.append(logprob)
                left -= math.exp(logprob)
        known.append(tuple(own))
    unknown = [int(rng.choice([0, 0, 1, 3, 50, 1000])) or int(not own) for own in known]
    counts = [len(own) + more + int(rng.choice([0, 0, 5])) for own, more in zip(known, unknown, strict=True)]
    floors = tuple(math.fsum(map(math.exp, own)) for own in known)
    answer = _answer(rng, known, left) if m == 0 or rng.random() < 0.6 else None
    return Evidence(
        tuple(counts), floors, tuple(map(len, known)), tuple(unknown), tuple(known), answer=answer
    )


def _answer(rng: np.random.Generator, known: list[tuple[float, ...]], left: float) -> JudgedAnswer:
    home, logprob = int(rng.integers(0, len(known) + 1)), _logprob(rng)
    entropy = float(rng.choice([0, 0.3, 3, 30])) if rng.random() < 0.4 else None
    if home < len(known) and known[home] and rng.random() < 0.3:
        place = int(rng.integers(len(known[home])))
        return JudgedAnswer(home, known[home][place], place, entropy)
    fits = rng.random() < 0.6 and math.exp(logprob) <= left
    return JudgedAnswer(home, logprob if fits else None, None, entropy)


def _belief(rng: np.random.Generator) -> None:
    bayes, evidence = load_estimator("bayes"), _evidence(rng)
    belief, plain = bayes(evidence), _in_numpy(bayes, evidence)
    many = bayes.batch([evidence, Evidence((1,), (0.3,))])
    assert belief.variance is not None
    assert belief.mean >= 0, f"a negative entropy: {belief.mean}"
    assert belief.variance >= 0, f"a negative variance: {belief.variance}"
    for name, mean in (("NumPy", plain.mean), ("a batch", float(many.mean[0]))):
        assert abs(belief.mean - mean) <= NEAR_BELIEF, f"{name}: the mean is off by {belief.mean - mean:.1e}"
    _probabilities([1.0 - (belief.probability_above(x) or 0.0) for x in (0.0, 0.3, 0.69, 1.5, 4.0)])
    if belief.agreement is not None:
        _probabilities([belief.agreement.probability_below(x) for x in (0.0, 0.1, 0.5, 0.9, 1.0)])
        _probabilities(list(belief.agreement.interval() or ()))
        assert belief.agreement.mean + belief.agreement.rival <= 1.002, (
            "two meanings with more than all samples"
        )


def _probabilities(rising: list[float]) -> None:
    assert all(0 <= each <= 1 for each in rising), f"no probabilities: {rising}"
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(rising)), f"falling: {rising}"

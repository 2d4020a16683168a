"""The compiled kernels: valid, extreme and invalid arrays at their boundary, and the functions that call them.

A call may be refused, or marked as not converged; it may not crash, read out of bounds, hang, or return a number that
is not finite as if it were an answer.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from tools.fuzz import attack_all
from tools.fuzz.sanitized import build as environment
from tools.fuzz.sanitized import load

__all__ = ["CASES", "environment", "fuzz"]

CASES = 50_000
TOLERANCE = 1e-9
ODD = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    -1.0,
    1.0,
    1e-320,
    1e-300,
    1e15,
    1e16,
    1e200,
    1e308,
    -1e308,
    2.0**63,
)
REFUSED = (TypeError, ValueError, BufferError)


def fuzz(cases: int, seed: int) -> None:
    load()
    with np.errstate(all="ignore"):  # of the numbers made here; the kernels raise no warnings
        attack_all(_attack, cases, seed)


def _attack(rng: np.random.Generator) -> None:
    attacks = (_solve, _solve_spoiled, _distribution, _distribution_spoiled, _moments, _batch, _two_level)
    attacks[int(rng.choice(7, p=[0.2, 0.2, 0.15, 0.2, 0.1, 0.05, 0.1]))](rng)


def _kernels() -> tuple[Any, Any]:
    """The two compiled modules. Imported here, after `load`."""
    from semtropy.entropy import _native

    names = (f"{_native.__name__}.{name}" for name in ("contour", "distribution"))
    contour, distribution = map(importlib.import_module, names)
    return contour, distribution


# ---- the contour integrals ----------------------------------------------------------------------------------------


def _log_uniform(rng: np.random.Generator, low: float, high: float, size: int | None = None) -> Any:
    return 10 ** rng.uniform(low, high, size)


def _floors(rng: np.random.Generator, m: int) -> np.ndarray:
    """Lower bounds that leave anything from 1e-13 to all of the mass, some tiny and some 0."""
    share = rng.dirichlet(np.full(m, rng.choice([0.1, 1.0, 10.0]))) * (1 - _log_uniform(rng, -13, 0))
    tiny = rng.random(m) < rng.choice([0.0, 0.3])
    share[tiny] = _log_uniform(rng, -300, -10, int(tiny.sum()))
    share[rng.random(m) < rng.choice([0.0, 0.2])] = 0.0
    return np.where((share > 0) & (share < 1e-300), 1e-300, share)


def _problems(rng: np.random.Generator) -> list[Any]:
    """Arguments of the kernel for one to three problems, anywhere in the range that components can reach."""
    sizes = rng.integers(1, int(rng.choice([3, 8])), int(rng.integers(1, 4)))
    floors = np.concatenate([_floors(rng, int(m)) for m in sizes])
    q = _log_uniform(rng, -3, rng.choice([0, 3]), floors.size)
    draws = np.rint(_log_uniform(rng, 0, rng.choice([1, 3, 5]), floors.size)) * (
        rng.random(floors.size) < 0.5
    )
    alpha, masses, shape = [], [], []
    for m in sizes.tolist():
        if rng.random() < 0.3:  # Pitman-Yor: the discount, and concentrations
            alpha.append(-float(rng.uniform(0.01, 0.99)))
            masses.append(np.sort(_log_uniform(rng, -2, rng.choice([1, 4, 8]), int(rng.integers(1, 5)))))
        else:  # Dirichlet: a number of unseen meanings
            alpha.append(float(_log_uniform(rng, -3, 3)))
            unseen = np.unique(np.rint(_log_uniform(rng, 0, rng.choice([1, 3, 12]), int(rng.integers(1, 5)))))
            masses.append(unseen * alpha[-1])
        shape += [alpha[-1]] * m
    p = np.array(shape) + draws - q
    p = np.where((floors == 0) & (p + q <= 0), 1 - q, p)
    ends = [np.cumsum([0, *lengths]).astype(np.int64) for lengths in (sizes, map(len, masses))]
    return [p, q, floors, ends[0], np.array(alpha), np.concatenate(masses), ends[1]]


def _solve(rng: np.random.Generator) -> None:
    kernel, given = _kernels()[0], _problems(rng)
    out = [np.full(given[5].size, np.nan) for _ in range(3)]
    error = np.full(given[4].size, np.nan)
    kernel.solve(*given, TOLERANCE, *out, error)
    good = np.repeat(error <= 100 * TOLERANCE, np.diff(given[6]))
    _finite(*(values[good] for values in out))
    assert (out[1][good] >= 0).all(), "a negative variance"
    assert (out[0][good] >= -1e-7).all(), "a negative entropy"
    kernel.screen(*given, out[2])
    _finite(out[2])


def _solve_spoiled(rng: np.random.Generator) -> None:
    kernel = _kernels()[0]
    given: list[Any] = [*_problems(rng), 10.0 ** rng.uniform(-10, -2)]
    given += [np.zeros(given[5].size) for _ in range(3)]
    given.append(np.zeros(given[4].size))
    for _ in range(int(rng.integers(1, 3))):
        i = int(rng.integers(len(given)))
        given[i] = _spoil(rng, given[i])
    _may_refuse(kernel.solve, *given)
    _may_refuse(kernel.screen, *given[:7], given[10])


def _spoil(rng: np.random.Generator, value: Any) -> Any:
    """The same with one thing wrong: a number, a length, a type, a shape."""
    if not isinstance(value, np.ndarray):
        return rng.choice(ODD)
    changed = value.copy()
    way = int(rng.integers(9))
    if way <= 2 and changed.size:
        odd = ODD if changed.dtype == float else (-1, 0, 1, 3, 2**31, 2**62, -(2**62))
        changed.flat[int(rng.integers(changed.size))] = rng.choice(odd)
        return changed
    fixed = value.copy()
    fixed.flags.writeable = False
    others = (
        *(value[: value.shape[0] // 2].copy(), np.append(value, value.ravel()[:1]), value.astype(np.float32)),
        *(
            value.astype(np.int64),
            value[::-1],
            None,
            value.tobytes(),
            value.reshape(1, 1, -1),
            fixed,
            "array",
            3,
        ),
    )
    return others[int(rng.integers(len(others)))]


def _may_refuse(function: Any, *given: Any) -> None:
    try:
        function(*given)
    except REFUSED:
        return


def _finite(*values: Any) -> None:
    for value in values:
        assert np.isfinite(value).all(), f"not finite: {value}"


# ---- the distribution kernel --------------------------------------------------------------------------------------


def _distribution_calls(rng: np.random.Generator) -> tuple[str, list[Any]]:
    """A function of the kernel, and arguments of the right types and lengths with numbers of any size."""

    def numbers(n: int, low: float = -3.0, high: float = 3.0) -> np.ndarray:
        values = rng.uniform(low, high, n)
        extreme = rng.random(n) < rng.choice([0.0, 0.0, 0.1])
        values[extreme] = rng.choice(ODD, int(extreme.sum()))
        return values

    def factor() -> tuple[float, float, float]:
        floor = float(rng.choice([0.0, _log_uniform(rng, -300, 0)]))
        return float(rng.normal() * _log_uniform(rng, -1, 8)), float(_log_uniform(rng, -3, 8)), floor

    n, points, rows = int(rng.integers(0, 600)), int(rng.integers(0, 9)), int(rng.integers(1, 5))
    knots = int(rng.integers(2, 12))
    match int(rng.integers(4)):
        case 0:
            table = np.sort(rng.random(knots))
            given = [
                table,
                np.gradient(table),
                *sorted(rng.uniform(0, 9, 2)),
                *(numbers(n) for _ in range(3)),
            ]
            return "stretched", [*given, numbers(points), np.zeros(points)]
        case 1:
            return "cells", [*(numbers(n) for _ in range(4)), numbers(points), np.zeros(points)]
        case 2:
            x = np.sort(numbers(knots, -300, 0))
            tabled = rows if rng.random() < 0.7 else 0
            bends = numbers(int(rng.integers(0, 12)), -600, 0)
            given = [factor(), factor(), x, numbers(knots), numbers(knots), numbers(rows, -700, 0), bends]
            return "split", [*given, np.zeros(rows), np.zeros((tabled, 65)), np.zeros((tabled, 65))]
    z = np.sort(numbers(65 * rows, -300, 300)).reshape(rows, 65)
    given = [
        factor(),
        np.sort(numbers(rows, -300, 0)),
        z,
        abs(numbers(65 * rows)).reshape(rows, 65),
        rng.random(n),
    ]
    return "take", [*given, *(numbers(n, -300, 0) for _ in range(3)), np.zeros(n)]


def _distribution(rng: np.random.Generator) -> None:
    name, given = _distribution_calls(rng)
    _may_refuse(getattr(_kernels()[1], name), *given)


def _distribution_spoiled(rng: np.random.Generator) -> None:
    name, given = _distribution_calls(rng)
    i = int(rng.integers(len(given)))
    given[i] = _spoil(rng, given[i])
    _may_refuse(getattr(_kernels()[1], name), *given)


# ---- the functions that call them ---------------------------------------------------------------------------------


def _question(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    m = int(rng.choice([1, 1, 2, 3, 5, 10]))
    counts = np.rint(_log_uniform(rng, 0, rng.choice([1, 4, 7]), m))
    sizes = np.unique(np.rint(m + _log_uniform(rng, 0, rng.choice([1, 3, 11.9]), int(rng.integers(1, 4)))))
    return counts, _floors(rng, m), sizes, float(_log_uniform(rng, -3, 3))


def _odd_question(rng: np.random.Generator) -> list[Any]:
    given: list[Any] = list(_question(rng))
    for _ in range(int(rng.integers(0, 3))):
        i = int(rng.integers(4))
        given[i] = _spoil(rng, given[i])
    return given


def _moments(rng: np.random.Generator) -> None:
    from semtropy.entropy import moments
    from semtropy.errors import ConvergenceError, InputError

    try:
        found = moments(*_odd_question(rng), tolerance=float(rng.choice([1e-9, 1e-9, *ODD])))
    except (ConvergenceError, InputError):
        return
    _finite(found.mean, found.variance, found.log_evidence)
    assert found.variance.min() >= 0, "a negative variance"


def _batch(rng: np.random.Generator) -> None:
    from semtropy.entropy import moments_batch
    from semtropy.errors import ConvergenceError, InputError

    rows: list[Any] = [
        _odd_question(rng) if rng.random() < 0.3 else _question(rng) for _ in range(int(rng.integers(1, 5)))
    ]
    try:
        counts, floors, sizes = ([row[i] for row in rows] for i in range(3))
        result = moments_batch(counts, floors, sizes, rows[0][3])
    except (ConvergenceError, InputError):
        return
    for found in result:
        _finite(found.mean, found.variance, found.log_evidence)
        assert found.variance.min() >= 0, "a negative variance"


def _two_level(rng: np.random.Generator) -> None:
    from semtropy.entropy import two_level_moments
    from semtropy.errors import ConvergenceError, InputError

    counts, floors, sizes, alpha = _question(rng)
    distinct = np.rint(rng.uniform(0, 5, floors.size))
    theta = float(_log_uniform(rng, -3, 3))
    try:
        found = two_level_moments(floors, distinct, sizes, alpha, theta, no_logprob=np.minimum(counts, 1e4))
    except (ConvergenceError, InputError):
        return
    possible = found.log_evidence > -math.inf
    _finite(found.mean, found.variance, found.log_evidence[possible])
    assert found.variance.min() >= 0, "a negative variance"

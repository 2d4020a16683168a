"""Integrals over the probability simplex as contour integrals: the moments of entropy without Monte Carlo.

Every posterior in semtropy has a density that is a product over meanings,

    seen meaning     (floor + y)^p y^(q - 1),   its probability is x = floor + y, y > 0
    unseen meaning   x^(alpha - 1), or all of them together a gamma block (below)

restricted to probabilities that sum to 1. The floor of a meaning is the lower bound that its known sequences set. With
room = 1 - sum of floors, the integral of such a product is the inverse Laplace transform of a product of
one-dimensional integrals,

    Z = (1 / 2 pi i) * contour integral of e^(s room) * prod_j A_j(s) ds,
    A_j(s) = integral of its factor * e^(-s y),

and entropy is a sum over meanings, so its moments need only A, B and C: the same inner integral weighted by 1, w and
w^2, where w = -x log x is the meaning's share of the entropy. What makes this exact with few nodes:

- the path s(t) = sigma (t cot t + i t), through the real saddle sigma, is one of steepest descent for a power of s;
- the inner integral runs along a ray that turns with s (by 0.62 of its angle, so that x stays away from 0), in
  y = exp(v) with v = centre + width (u - exp(start - u)): even steps around the integrand's mode, doubly fast below it;
- w is taken around a reference point and a common slope, w = phi(x) - phi(x0) - slope (x - x0): the slope's part adds
  up to a constant, and what is left is as small as the entropy's spread, so that variances of 1e-40 keep their digits;
- unseen meanings, and seen ones without a floor, are a gamma block in closed form, u of them s^-(u alpha): every
  support size shares the seen factors, as long as one path serves (the loss of sharing is bounded). The moments of
  the block's entropy are analytic in alpha, and at alpha = -discount they are those of a Pitman-Yor process
  (Archer, Park and Pillow 2014), so an unbounded number of meanings costs no more than a finite one;
- nodes are added until half of them give the same answer, to the tolerance.

`_native/contour.c` does this; `contour_numpy.py` is the same in NumPy, for machines without a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ConvergenceError, InputError
from .contour_numpy import solve_problem
from .product_density import Factors, exact_room
from .screening import log_z_estimates

try:
    from ._native import contour as _kernel  # type: ignore[attr-defined]
except ImportError:  # no compiler when semtropy was installed
    _kernel = None

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Problems", "Solution", "exact_room", "screen", "solve"]

TIGHTEST, LOOSEST = 1e-13, 1e-2  # tolerances
# What an answer may fall short of the tolerance before it is an error.
SLACK = 100.0


@dataclass(frozen=True, slots=True)
class Problems:
    """Many integrals at once, concatenated.

    Problem i has the factors `offsets[i]:offsets[i + 1]` of `p`, `q` and `floors`, the parameter `alpha[i]`, and
    the masses of its unseen meanings `mass[mass_offsets[i]:mass_offsets[i + 1]]`, rising: u alpha for u of them.
    A negative `alpha` is a Pitman-Yor discount; the mass is then the concentration of the unseen meanings.
    """

    p: Floats
    q: Floats
    floors: Floats
    offsets: NDArray[np.int64]
    alpha: Floats
    mass: Floats
    mass_offsets: NDArray[np.int64]

    def __iter__(self) -> Iterator[tuple[Factors, float, slice]]:
        """The factors and alpha of each problem, and where its masses stand."""
        for i, alpha in enumerate(self.alpha.tolist()):
            at = slice(*self.offsets[i : i + 2].tolist())
            where = slice(*self.mass_offsets[i : i + 2].tolist())
            yield Factors.of(self.p[at], self.q[at], self.floors[at]), alpha, where


@dataclass(frozen=True, slots=True)
class Solution:
    """Mean and variance of the entropy and log Z: one entry for each mass of unseen meanings."""

    mean: Floats
    variance: Floats
    log_z: Floats


def solve(
    problems: Problems, tolerance: float = 1e-9, *, on_failure: Literal["raise", "exclude"] = "raise"
) -> Solution:
    """Solve to `tolerance` in the mean and 100 times that, relative, in the variance.

    A density may have so little mass where probabilities sum to 1 that the integral is nothing but rounding.
    Such a problem is a ConvergenceError; with `on_failure="exclude"` it gets log Z = -inf instead, which
    gives it no weight beside any other. Whatever is returned is finite otherwise, and no variance is negative.
    """
    if not TIGHTEST <= tolerance <= LOOSEST:
        raise InputError(f"tolerance is {tolerance}; it must lie between {TIGHTEST:g} and {LOOSEST:g}")
    out = Solution(*np.zeros((3, problems.mass.size)))
    error = np.zeros(problems.alpha.size)
    if _kernel is not None:
        _kernel.solve(*_buffers(problems), tolerance, out.mean, out.variance, out.log_z, error)
    else:
        for i, (factors, alpha, where) in enumerate(problems):
            rows, error[i] = solve_problem(factors, alpha, problems.mass[where], tolerance)
            out.mean[where], out.variance[where], out.log_z[where] = rows.T
    failed = ~(error <= SLACK * tolerance)
    if failed.any():
        _handle(failed, error, problems, tolerance, on_failure, out)
    return out


def _handle(
    failed: NDArray[np.bool_],
    error: Floats,
    problems: Problems,
    tolerance: float,
    on_failure: str,
    out: Solution,
) -> None:
    if on_failure == "raise":
        worst, first = np.nan_to_num(error[failed], nan=np.inf).max(), int(np.flatnonzero(failed)[0])
        raise ConvergenceError(
            f"the entropy integral of question {first + 1} of {failed.size} did not converge: its error is about "
            f"{worst:.1e}, the tolerance {tolerance:.1e}"
        )
    excluded = np.repeat(failed, np.diff(problems.mass_offsets))
    out.mean[excluded], out.variance[excluded], out.log_z[excluded] = 0.0, 0.0, -np.inf


def screen(problems: Problems) -> Floats:
    """Estimate log Z from the saddle point, to within a small factor and for a small part of the cost of `solve`."""
    log_z = np.zeros(problems.mass.size)
    if _kernel is not None:
        _kernel.screen(*_buffers(problems), log_z)
    else:
        for factors, _, where in problems:
            log_z[where] = log_z_estimates(factors, problems.mass[where])
    return log_z


def _buffers(problems: Problems) -> tuple[NDArray[Any], ...]:
    """The arrays as the kernel takes them: contiguous, float64 and int64."""
    return (
        np.ascontiguousarray(problems.p, float),
        np.ascontiguousarray(problems.q, float),
        np.ascontiguousarray(problems.floors, float),
        np.ascontiguousarray(problems.offsets, np.int64),
        np.ascontiguousarray(problems.alpha, float),
        np.ascontiguousarray(problems.mass, float),
        np.ascontiguousarray(problems.mass_offsets, np.int64),
    )

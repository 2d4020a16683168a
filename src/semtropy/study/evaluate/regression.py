"""Logistic and isotonic regression of a binary label on one score.

Written out here so that a study needs no machine-learning library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .metrics import Bools, Floats

__all__ = ["cross_fitted", "isotonic", "log_loss", "logistic", "sigmoid"]

# Ridge penalty on the slope, per observation and in units of the score's standard deviation: keeps the slope finite
# where the scores are separable.
RIDGE = 1e-3


def sigmoid(x: ArrayLike) -> Floats:
    """1 / (1 + exp(-x)), without overflow.

    >>> sigmoid([0.0, -1000.0]).tolist()
    [0.5, 0.0]
    """
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, dtype=float))))


def logistic(
    scores: ArrayLike, wrong: ArrayLike, weights: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slope and intercept of P(wrong) = sigmoid(slope * score + intercept) for each row of scores, by Newton's method.

    `scores` and `weights` have shape (..., n), `wrong` has shape (n,). Constant scores get slope 0.

    >>> slope, intercept = logistic([0, 0, 0, 1, 1, 1], [False, False, True, False, True, True])
    >>> round(float(slope), 2), round(float(intercept), 2)
    (1.38, -0.69)
    """
    x, y = np.asarray(scores, dtype=float), np.asarray(wrong, dtype=float)
    w = np.ones_like(x) if weights is None else np.broadcast_to(np.asarray(weights, dtype=float), x.shape)
    total = w.sum(axis=-1, keepdims=True)
    centre = (w * x).sum(axis=-1, keepdims=True) / total
    spread = np.sqrt((w * (x - centre) ** 2).sum(axis=-1, keepdims=True) / total)
    # A constant score varies by rounding only; standardising would blow that up to a spread of 1.
    flat = spread <= 1e-9 * (1.0 + np.abs(centre))
    scale = np.where(flat, 1.0, spread)
    z = np.where(flat, 0.0, (x - centre) / scale)
    slope, intercept = np.zeros_like(total), np.zeros_like(total)
    ridge = RIDGE * total
    for _ in range(50):
        p = sigmoid(slope * z + intercept)
        h = w * np.maximum(p * (1 - p), 1e-9)
        gap = w * (y - p)
        g0 = gap.sum(axis=-1, keepdims=True) - 1e-6 * total * intercept
        g1 = (gap * z).sum(axis=-1, keepdims=True) - ridge * slope
        h00 = h.sum(axis=-1, keepdims=True) + 1e-6 * total
        h01 = (h * z).sum(axis=-1, keepdims=True)
        h11 = (h * z * z).sum(axis=-1, keepdims=True) + ridge
        determinant = h00 * h11 - h01 * h01
        # Steps are bounded, because Newton's method overshoots where the curve is saturated.
        step0 = np.clip((h11 * g0 - h01 * g1) / determinant, -2, 2)
        step1 = np.clip((h00 * g1 - h01 * g0) / determinant, -2, 2)
        intercept, slope = intercept + step0, slope + step1
        if max(np.abs(step0).max(), np.abs(step1).max()) < 1e-10:
            break
    slope = slope / scale
    return slope[..., 0], (intercept - slope * centre)[..., 0]


def isotonic(scores: ArrayLike, wrong: ArrayLike) -> tuple[Floats, Floats]:
    """Isotonic regression by the pool-adjacent-violators algorithm: knots and the values there.

    >>> [part.tolist() for part in isotonic([1, 2, 3, 4], [False, True, False, True])]
    [[1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 0.5, 1.0]]
    """
    x, y = np.asarray(scores, dtype=float), np.asarray(wrong, dtype=float)
    knots, place = np.unique(x, return_inverse=True)
    sizes = np.bincount(place).astype(float)
    sums = np.bincount(place, y)
    # Blocks as (sum, size, number of knots); a block with a smaller mean than its predecessor is merged into it.
    blocks: list[tuple[float, float, int]] = []
    for total, size in zip(sums.tolist(), sizes.tolist(), strict=True):
        block = (total, size, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    values = np.concatenate([np.full(knots_in, total / size) for total, size, knots_in in blocks])
    return knots, values


def log_loss(probabilities: ArrayLike, wrong: ArrayLike) -> float:
    """Mean negative log-likelihood of the labels; probabilities are clipped to 1e-6 .. 1 - 1e-6.

    >>> round(log_loss([0.5, 0.5], [True, False]), 4)
    0.6931
    """
    p = np.clip(np.asarray(probabilities, dtype=float), 1e-6, 1 - 1e-6)
    y = np.asarray(wrong, dtype=bool)
    return float(-np.log(np.where(y, p, 1 - p)).mean())


def cross_fitted(scores: Floats, wrong: Bools, *, folds: int = 5) -> Floats:
    """Out-of-fold P(wrong) for each score, by a logistic curve fitted on the other folds.

    Question i is in fold i modulo `folds`; `scores` has shape (..., questions).
    """
    fold = np.arange(wrong.size) % folds
    probabilities = np.empty_like(scores)
    for held_out in range(folds):
        slope, intercept = logistic(scores, wrong, fold != held_out)
        test = fold == held_out
        probabilities[..., test] = sigmoid(slope[..., None] * scores[..., test] + intercept[..., None])
    return probabilities

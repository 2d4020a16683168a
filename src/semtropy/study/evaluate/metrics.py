"""Metrics of how well a score separates hallucinations from correct answers: AUROC, AURAC, calibration error.

`scores` has shape (..., questions), a higher score is more suspicious, and `wrong` has shape (questions,), True for a
hallucination. Where a metric is undefined (no answers at all; for AUROC, all of them wrong or none) it is NaN here and
None in results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from ...nouns import Floats

    Bools = NDArray[np.bool_]
    Counts = NDArray[np.float32]

# The same counts in another order give means that differ in the last bits; these must rank as ties.
DECIMALS = 10


def round_scores(scores: ArrayLike) -> Floats:
    """Scores rounded to 10 decimals, so that equal evidence gathered in another order ties.

    >>> float(round_scores(0.1 + 0.2) - round_scores(0.3))
    0.0
    """
    return np.round(np.asarray(scores, dtype=float), DECIMALS)


def _pair(scores: ArrayLike, wrong: ArrayLike) -> tuple[Floats, Bools]:
    try:
        s = np.asarray(scores, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("scores must be numbers") from None
    labels = np.asarray(wrong)
    y = labels.astype(bool)
    if labels.size and (labels.dtype == object or not np.array_equal(labels, y)):
        raise InputError("wrong must be true or false for every question: leave out those without a grade")
    if y.ndim != 1 or s.shape[-1:] != y.shape:
        raise InputError(
            f"scores of shape {s.shape} for {y.shape} labels: the last axis must be the questions"
        )
    if not np.isfinite(s).all():
        raise InputError("scores hold NaN or infinity: leave out the questions without a score")
    return s, y


def auroc(scores: ArrayLike, wrong: ArrayLike) -> Floats:
    """Area under the ROC curve: P(a hallucination scores above a correct answer), ties counting one half.

    >>> float(auroc([0.1, 0.4, 0.4, 0.9], [False, False, True, True]))
    0.875
    """
    s, y = _pair(scores, wrong)
    if y.all() or not y.any():
        return np.full(s.shape[:-1], np.nan)
    flat = s.reshape(-1, y.size)
    right, bad = np.sort(flat[:, ~y], axis=1), flat[:, y]
    beaten = [
        np.searchsorted(row, scores).sum() + np.searchsorted(row, scores, side="right").sum()
        for row, scores in zip(right, bad, strict=True)
    ]
    areas: Floats = np.array(beaten).reshape(s.shape[:-1]) / (2.0 * right.shape[1] * bad.shape[1])
    return areas


def accuracy_rejection_area(scores: ArrayLike, wrong: ArrayLike) -> Floats:
    """AURAC: accuracy among the k least suspicious answers, averaged over k = 1 .. all.

    Tied answers come in random order, in expectation. A perfect score on half-wrong answers:

    >>> round(float(accuracy_rejection_area([0, 0, 1, 1], [False, False, True, True])), 4)
    0.7917
    """
    s, y = _pair(scores, wrong)
    if not y.size:
        return np.full(s.shape[:-1], np.nan)
    flat = s.reshape(-1, s.shape[-1])
    kept = np.arange(1, y.size + 1)
    areas = np.empty(len(flat))
    for place, row in enumerate(flat):
        order = np.argsort(row, kind="stable")
        right = (~y[order]).astype(float)
        last = np.flatnonzero(np.append(np.diff(row[order]) > 0, True))
        # Within a tie the expected number of right answers grows in a straight line.
        total = np.interp(kept, np.append(0, last + 1), np.append(0.0, np.cumsum(right)[last]))
        areas[place] = (total / kept).mean()
    return areas.reshape(s.shape[:-1])


def calibration_error(probabilities: ArrayLike, wrong: ArrayLike, *, bins: int = 10) -> Floats:
    """Expected calibration error: |frequency - probability| in equal-width bins, weighted by their size.

    >>> round(float(calibration_error([0.9, 0.9, 0.1, 0.1], [True, False, False, False])), 3)
    0.25
    """
    p, y = _pair(probabilities, wrong)
    if ((p < 0) | (p > 1)).any():
        raise InputError("probabilities lie outside 0 .. 1: calibrate the scores first")
    if not y.size:
        return np.full(p.shape[:-1], np.nan)
    flat = p.reshape(-1, p.shape[-1])
    rows = len(flat)
    cell = np.minimum((flat * bins).astype(int), bins - 1) + bins * np.arange(rows)[:, None]
    gap = np.bincount(cell.ravel(), (y - flat).ravel(), minlength=rows * bins)
    return np.asarray(np.abs(gap).reshape(rows, bins).sum(axis=1) / y.size).reshape(p.shape[:-1])


def half_width(values: ArrayLike) -> Floats:
    """1.96 standard errors over the last axis, the repeats; 0 for a single one.

    The standard deviation is that of a sample (n - 1): five repeats are few.

    >>> round(float(half_width([0.70, 0.72, 0.74])), 4)
    0.0226
    """
    v = np.asarray(values, dtype=float)
    if v.shape[-1] < 2:
        return np.zeros(v.shape[:-1])
    return np.asarray(1.96 * v.std(axis=-1, ddof=1) / np.sqrt(v.shape[-1]))


# Bootstrap over questions and repeats together, paired: for intervals of AUROCs and of their differences.
#
# Both are resampled with replacement and independently (A. B. Owen, "The pigeonhole bootstrap", Annals of Applied
# Statistics 1, 2007), so an interval holds for other questions and other samples of them.


# Resamples are made in blocks, so that memory does not grow with their number.
BLOCK_CELLS = 1_000_000


def resampled_auroc(
    scores: Floats, wrong: Bools, *, resamples: int = 1000, seed: int | Sequence[int] = 0
) -> Floats:
    """AUROC on `resamples` of the questions and of the repeats, shape (..., resamples).

    `scores` has shape (..., repeats, questions); AUROCs are averaged over the resampled repeats. The same `seed` gives
    the same resamples for every score, so differences are paired. A resample with only wrong or only right answers
    is NaN.
    """
    rows = scores.reshape(-1, *scores.shape[-2:])
    areas = np.zeros((len(rows), resamples))
    ranked = [[_ranked(repeat, wrong) for repeat in each] for each in rows]
    shares = _repeat_shares(scores.shape[-2], resamples, seed)
    for start, counts in _blocks(wrong.size, resamples, seed):
        block = slice(start, start + counts.shape[1])
        for place, each in enumerate(ranked):
            areas[place, block] = sum(
                shares[block, at] * _weighted(counts, *repeat) for at, repeat in enumerate(each)
            )
    return areas.reshape(*scores.shape[:-2], resamples)


def _repeat_shares(repeats: int, resamples: int, seed: int | Sequence[int]) -> Floats:
    """How much each repeat (column) weighs in each resample (row)."""
    words = [seed] if isinstance(seed, int) else list(seed)
    rng = np.random.default_rng([*words, repeats])
    return np.asarray(rng.multinomial(repeats, np.full(repeats, 1 / repeats), size=resamples) / repeats)


def interval(differences: Floats, level: float = 0.95) -> tuple[float, float]:
    """The central interval of the resampled differences, NaN left out.

    >>> interval(np.arange(5.0), 0.5)
    (1.0, 3.0)
    """
    tail = (1 - level) / 2
    low, high = np.nanquantile(differences, [tail, 1 - tail])
    return float(low), float(high)


def _blocks(questions: int, resamples: int, seed: int | Sequence[int]) -> Iterator[tuple[int, Counts]]:
    """Blocks of counts: how often each question (row) is in each resample (column)."""
    rng = np.random.default_rng(seed)
    size = max(1, BLOCK_CELLS // questions)
    for start in range(0, resamples, size):
        columns = min(size, resamples - start)
        picks = rng.integers(0, questions, size=(columns, questions)) * columns + np.arange(columns)[:, None]
        counts = np.bincount(picks.ravel(), minlength=questions * columns).astype(np.float32)
        yield start, counts.reshape(questions, columns)


Places = tuple["NDArray[np.intp]", "NDArray[np.intp]", "NDArray[np.intp]", "NDArray[np.intp]"]


def _ranked(row: Floats, wrong: Bools) -> Places:
    """Indices of wrong answers, of right ones by score, and how many right ones are below and up to each wrong one."""
    bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    good = good[np.argsort(row[good], kind="stable")]
    return bad, good, np.searchsorted(row[good], row[bad]), np.searchsorted(row[good], row[bad], side="right")


def _weighted(
    counts: Counts,
    bad: NDArray[np.intp],
    good: NDArray[np.intp],
    below: NDArray[np.intp],
    upto: NDArray[np.intp],
) -> Floats:
    """The AUROC of every column of `counts`, in time linear in the questions once they are sorted."""
    beaten = np.zeros((len(good) + 1, counts.shape[1]), dtype=np.float32)
    np.cumsum(counts[good], axis=0, out=beaten[1:])
    weights = counts[bad]
    won = 0.5 * np.einsum("qr,qr->r", weights, beaten[below] + beaten[upto], dtype=float)
    pairs = weights.sum(axis=0, dtype=float) * beaten[-1].astype(float)
    areas: Floats = np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)
    return areas


# Logistic and isotonic regression of a binary label on one score.
#
# Written out here so that a study needs no machine-learning library.


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

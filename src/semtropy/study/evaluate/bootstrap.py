"""Bootstrap over questions and draws together, paired: for intervals of AUROCs and of their differences.

Both are resampled with replacement and independently (A. B. Owen, "The pigeonhole bootstrap", Annals of Applied
Statistics 1, 2007), so an interval holds for other questions and other samples of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .metrics import Bools, Floats

    Counts = NDArray[np.float32]

__all__ = ["interval", "resampled_auroc"]

# Resamples are made in blocks, so that memory does not grow with their number.
BLOCK_CELLS = 1_000_000


def resampled_auroc(
    scores: Floats, wrong: Bools, *, repeats: int = 1000, seed: int | Sequence[int] = 0
) -> Floats:
    """AUROC on `repeats` resamples of the questions and of the draws, shape (..., repeats).

    `scores` has shape (..., draws, questions); AUROCs are averaged over the resampled draws. The same `seed` gives
    the same resamples for every score, so differences are paired. A resample with only wrong or only right answers
    is NaN.
    """
    rows = scores.reshape(-1, *scores.shape[-2:])
    draws = scores.shape[-2]
    areas = np.zeros((len(rows), repeats))
    ranked = [[_ranked(draw, wrong) for draw in each] for each in rows]
    shares = _draw_shares(draws, repeats, seed)
    for start, counts in _blocks(wrong.size, repeats, seed):
        block = slice(start, start + counts.shape[1])
        for place, each in enumerate(ranked):
            areas[place, block] = sum(
                shares[block, at] * _weighted(counts, *draw) for at, draw in enumerate(each)
            )
    return areas.reshape(*scores.shape[:-2], repeats)


def _draw_shares(draws: int, repeats: int, seed: int | Sequence[int]) -> Floats:
    """How much each draw (column) weighs in each resample (row)."""
    words = [seed] if isinstance(seed, int) else list(seed)
    rng = np.random.default_rng([*words, draws])
    return np.asarray(rng.multinomial(draws, np.full(draws, 1 / draws), size=repeats) / draws)


def interval(differences: Floats, level: float = 0.95) -> tuple[float, float]:
    """The central interval of the resampled differences, NaN left out.

    >>> interval(np.arange(5.0), 0.5)
    (1.0, 3.0)
    """
    tail = (1 - level) / 2
    low, high = np.nanquantile(differences, [tail, 1 - tail])
    return float(low), float(high)


def _blocks(questions: int, repeats: int, seed: int | Sequence[int]) -> Iterator[tuple[int, Counts]]:
    """Blocks of counts: how often each question (row) is in each resample (column)."""
    rng = np.random.default_rng(seed)
    size = max(1, BLOCK_CELLS // questions)
    for start in range(0, repeats, size):
        columns = min(size, repeats - start)
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

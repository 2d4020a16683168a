"""What may be asked of the mathematics: every array is checked here once, and an error says what is wrong with it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .factors import exact_room

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "check_alpha",
    "check_counts",
    "clean_batch",
    "clean_floors",
    "ends",
    "joined",
    "vector",
    "whole_counts",
    "whole_sizes",
]

# Floors come from sums of exponentials of rounded log-probabilities: this much above 1 is rounding, more is an error.
EXCESS_ALLOWED = 1e-6
TINIEST_FLOOR = 1e-300  # doubles lose digits below; smaller floors are raised to this
LEAST_ROOM = 2e-13  # floors that leave less are scaled to leave a little more than this


def vector(values: ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list of numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a list of at least one number, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a number that is not finite")
    return array


def whole_counts(counts: ArrayLike, least: int = 1, name: str = "counts") -> Floats:
    array = vector(counts, name)
    check_counts(array, least, name)
    return array


def check_counts(array: Floats, least: int = 1, name: str = "counts") -> None:
    if not array.min() >= least:
        raise InputError(f"{name} holds {array.min():g}: every seen meaning has at least {least}")
    if (array != np.rint(array)).any():
        raise InputError(f"{name} must be whole numbers")


def clean_floors(floors: Floats, least_room: float = LEAST_ROOM) -> Floats:
    """Floors as the integrals take them: not negative, room left above them, none too small for a double."""
    if floors.min() < 0:
        raise InputError(f"floors holds {floors.min():g}: a floor is a probability")
    room = exact_room(floors)
    if room < -EXCESS_ALLOWED:
        raise InputError(f"floors sum to {1 - room:.9g}: probabilities of distinct sequences cannot exceed 1")
    if room < least_room:
        floors = floors * ((1 - 1.5 * least_room) / (1 - room))
    tiny = (floors > 0) & (floors < TINIEST_FLOOR)
    return np.where(tiny, TINIEST_FLOOR, floors) if tiny.any() else floors


def clean_batch(floors: Floats, bounds: NDArray[np.int64]) -> Floats:
    """`clean_floors` for many prompts laid end to end; at once where nothing needs mending."""
    if not np.isfinite(floors).all():
        raise InputError("floors holds a number that is not finite")
    totals = np.add.reduceat(floors, bounds[:-1])
    if floors.min() >= TINIEST_FLOOR and totals.max() < 1 - 1e-9:
        return floors
    pairs = itertools.pairwise(bounds)
    return np.concatenate([clean_floors(floors[start:end]) for start, end in pairs])


def whole_sizes(sizes: ArrayLike) -> Floats:
    array = vector(sizes, "sizes")
    if array.size > 1 and np.diff(array).min() <= 0:
        raise InputError("sizes must rise")
    if array[0] < 1 or np.any(array != np.rint(array)):
        raise InputError("sizes must be whole numbers of meanings, from 1")
    return array


def check_alpha(alpha: float) -> None:
    if not 1e-3 <= alpha <= 1e3:
        raise InputError(f"alpha is {alpha}: a number from 0.001 to 1000")


def joined(rows: Sequence[Sequence[float] | NDArray[Any]], name: str) -> tuple[NDArray[np.int64], Floats]:
    """How long each row is, and all rows end to end."""
    try:
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        flat = np.concatenate([np.empty(0), *rows])
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list with a list of numbers for each prompt") from None
    if lengths.size == 0 or lengths.min() == 0 or flat.dtype != float:
        raise InputError(f"{name} must be a list with a non-empty list of numbers for each prompt")
    return lengths, flat


def ends(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

"""Validation of the arrays that `semtropy.entropy` takes: each is checked once, and errors say what is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ImpossibleLogprobs, InputError
from ..evidence import LARGEST_COUNT
from .contour import exact_room

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..nouns import Floats


# Floors come from sums of exponentials of rounded log-probabilities: an excess over 1 up to this is rounding.
EXCESS_ALLOWED = 1e-6
TINIEST_FLOOR = 1e-300  # doubles lose digits below; smaller floors are raised to this
LEAST_ROOM = 2e-13  # floors that leave less are scaled to leave a little more than this
# Up to this and LARGEST_COUNT the integrals converged in every trial; far beyond, doubles no longer resolve them.
LARGEST_SIZE = 1e12


def vector(values: ArrayLike, name: str) -> Floats:
    """A non-empty one-dimensional array of finite numbers."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a list of numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a list of at least one number; its shape is {array.shape}")
    if not np.logical_and.reduce(np.isfinite(array)):
        raise InputError(f"{name} contains a number that is not finite")
    return array


def counts_above(
    floors: ArrayLike, counts: ArrayLike, least: int = 1, name: str = "counts"
) -> tuple[Floats, Floats]:
    """Clean floors, and whole numbers from `least` to 10^8, one for each of them."""
    floor, array = clean_floors(vector(floors, "floors")), vector(counts, name)
    check_counts(array, least, name)
    if array.size != floor.size:
        raise InputError(
            f"{name} has {array.size} entries and floors {floor.size}; both need one for each meaning"
        )
    return floor, array


def check_counts(array: Floats, least: int = 1, name: str = "counts") -> None:
    # Half the time of min() and max() on few numbers.
    low, high = np.minimum.reduce(array), np.maximum.reduce(array)
    if not low >= least:
        raise InputError(f"{name} contains {low:g}; the least for a meaning is {least}")
    if high > LARGEST_COUNT:
        raise InputError(f"{name} contains {high:g}; the largest supported is {LARGEST_COUNT:g}")
    if np.logical_or.reduce(array != np.rint(array)):
        raise InputError(f"{name} must be whole numbers")


def clean_floors(floors: Floats, least_room: float = LEAST_ROOM) -> Floats:
    """Floors as the integrals take them: not negative, some room left above them, none too small for a double."""
    if not floors.min() >= 0:
        raise InputError(f"floors contains {floors.min():g}; a floor is a probability")
    room = exact_room(floors)
    if not room >= -EXCESS_ALLOWED:
        raise ImpossibleLogprobs(
            f"floors sum to {1 - room:.9g}; probabilities of distinct sequences cannot exceed 1"
        )
    if room < least_room:
        floors = floors * ((1 - 1.5 * least_room) / (1 - room))
    tiny = (floors > 0) & (floors < TINIEST_FLOOR)
    return np.where(tiny, TINIEST_FLOOR, floors) if tiny.any() else floors


def clean_batch(floors: Floats, bounds: NDArray[np.int64]) -> Floats:
    """`clean_floors` for many prompts, concatenated; one pass where nothing has to be changed."""
    if not np.isfinite(floors).all():
        raise InputError("floors contains a number that is not finite")
    totals = np.add.reduceat(floors, bounds[:-1])
    if floors.min() >= TINIEST_FLOOR and totals.max() < 1 - 1e-9:
        return floors
    pairs = itertools.pairwise(bounds)
    return np.concatenate([clean_floors(floors[start:end]) for start, end in pairs])


def whole_sizes(sizes: ArrayLike, seen: int = 1) -> Floats:
    """Numbers of meanings K, rising, none below the number of meanings seen."""
    array = vector(sizes, "sizes")
    check_sizes(array)
    if array.size > 1 and np.logical_or.reduce(array[1:] <= array[:-1]):
        raise InputError("sizes must rise")
    if array[0] < seen:
        raise InputError(f"sizes contains {array[0]:g}, but {seen} meanings were seen; K is at least that")
    return array


def check_sizes(array: Floats) -> None:
    if not np.minimum.reduce(array) >= 1 or np.logical_or.reduce(array != np.rint(array)):
        raise InputError("sizes must be whole numbers of meanings, at least 1")
    high = np.maximum.reduce(array)
    if high > LARGEST_SIZE:
        raise InputError(f"sizes contains {high:g}; the largest supported is {LARGEST_SIZE:g}")


def check_alpha(alpha: float, name: str = "alpha") -> float:
    """A parameter from 0.001 to 1000 as a double: in a narrower type, products with it would round or overflow."""
    if not isinstance(alpha, int | float | np.number) or not 1e-3 <= alpha <= 1e3:
        raise InputError(f"{name} is {alpha}: it must be a number from 0.001 to 1000")
    return float(alpha)


def joined(rows: Sequence[Sequence[float] | NDArray[Any]], name: str) -> tuple[NDArray[np.int64], Floats]:
    """The length of each row, and all rows concatenated."""
    try:
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        flat = np.concatenate([np.empty(0), *rows])
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must contain one list of numbers for each prompt") from None
    if lengths.size == 0 or lengths.min() == 0 or flat.dtype != float:
        raise InputError(f"{name} must contain one non-empty list of numbers for each prompt")
    return lengths, flat


def ends(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run of a concatenation starts, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

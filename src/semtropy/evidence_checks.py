"""Checks of the numbers that evidence is made of: whole numbers, probabilities and log-probabilities per meaning."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .errors import InputError
from .numeric_checks import shown
from .samples import LOGPROB_SLACK, check_logprobs

__all__ = ["LARGEST_COUNT", "check_places", "log_probabilities", "probabilities", "whole_numbers"]

LARGEST_COUNT = 10**8
"""The largest number of samples of one meaning. Up to it the integrals converged in every trial."""


def _all_are(values: Sequence[Any], kind: type) -> bool:
    """Whether these are plain values of one type, as they nearly always are: checks then run in C."""
    return not set(map(type, values)) - {kind}


def whole_numbers(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    """`values` as ints; an error names the first that is no whole number from 0 to 10^8.

    >>> whole_numbers("counts", [2.0, 1])
    (2, 1)
    """
    if _all_are(values, int) and min(values, default=0) >= 0 and max(values, default=0) <= LARGEST_COUNT:
        return tuple(values)
    return tuple(_whole(name, value) for value in values)


def _whole(name: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number != value:
        raise InputError(f"{name} contains {shown(value)}: it must hold whole numbers, 0 or more")
    if number > LARGEST_COUNT:
        raise InputError(f"{name} contains {shown(value)}: the largest supported is {LARGEST_COUNT:.0e}")
    return number


def probabilities(name: str, values: Sequence[Any]) -> tuple[float, ...]:
    """`values` as floats; an error names the first that is negative or not finite.

    Sums of rounded probabilities may exceed 1 a little, and those of an odd endpoint by much: that is for the
    estimators to judge, which can do without them.
    """
    if _all_are(values, float) and min(values, default=0.0) >= 0 and math.isfinite(sum(values)):
        return tuple(values)
    for value in values:
        try:
            fine = 0 <= value < math.inf
        except TypeError:
            fine = False
        if not fine:
            raise InputError(f"{name} contains {shown(value)}: a probability is a finite number, 0 or more")
    return tuple(value if type(value) is float else float(value) for value in values)


def log_probabilities(name: str, values: Sequence[Sequence[Any]]) -> tuple[tuple[float, ...], ...]:
    """One tuple of log-probabilities per meaning; an error names the first that is none."""
    if _all_are(values, tuple):
        flat = tuple(itertools.chain.from_iterable(values))
        fine = _all_are(flat, float) and max(flat, default=0.0) <= LOGPROB_SLACK
        if fine and math.isfinite(sum(flat)):
            return tuple(values)  # type: ignore[arg-type]
    for meaning, own in enumerate(values):
        check_logprobs(f"{name}[{meaning}]", own)
    return tuple(own if type(own) is tuple else tuple(own) for own in values)


def check_places(counts: Sequence[int], floors: Sequence[float], answered: int | None) -> None:
    """Refuse a meaning that nothing speaks for: no sample, no lower bound, and not the judged answer's."""
    if all(counts):
        return
    for meaning, (count, floor) in enumerate(zip(counts, floors, strict=True)):
        if count == 0 and floor == 0 and meaning != answered:
            raise InputError(
                f"counts[{meaning}] is 0: leave out a meaning without samples, unless it has a lower bound or is "
                "that of the judged answer"
            )

"""Whether a value that a user gave is a number, and how it reads in a message."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number that a float can hold: not a truth value, not text, not 10**400."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def is_whole(value: object) -> TypeGuard[int]:
    """Whether this is a whole number; a truth value is none."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def is_count(value: object) -> TypeGuard[int]:
    """Whether this is a whole number, 0 or more; a truth value is none."""
    return is_whole(value) and value >= 0


def shown(value: object) -> str:
    """A value in a message, shortened.

    >>> shown(0.5), shown(10**400), shown("x" * 100)
    ('0.5', 'a number of more than 60 digits', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    if isinstance(value, int) and value.bit_length() > 200:  # Python itself refuses to print the largest
        return "a number of more than 60 digits"
    text = repr(value[:100]) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:31]}..."

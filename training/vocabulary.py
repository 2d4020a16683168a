"""Lists of words, written as text."""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    """The words of a text.

    >>> words("one  two")
    ('one', 'two')
    """
    return tuple(text.split())

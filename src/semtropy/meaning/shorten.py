"""Fitting a pair into a judge's input: long questions lose their middle, answers lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # The (start, end) places in a text of its tokens.
    Offsets = Callable[[str], Sequence[tuple[int, int]]]

__all__ = ["pieces", "shorten"]

_GAP = " … "


def shorten(question: str, offsets: Offsets, room: int) -> str:
    """The question in about `room` tokens: its beginning and, twice as much, its end, where a prompt asks.

    >>> words = lambda text: [(m.start(), m.end()) for m in __import__("re").finditer(r"\\S+", text)]
    >>> shorten("one two three four five six seven eight nine ten", words, 6)
    'one two … eight nine ten'
    >>> shorten("who won?", words, 6), shorten("who won the cup?", words, 0)
    ('who won?', '')
    """
    places = offsets(question)
    if len(places) <= room:
        return question
    kept = max(room - 1, 0)  # one for the gap
    head, tail = kept // 3, kept - kept // 3
    if kept < 3:
        return question[places[-kept][0] :] if kept else ""
    head += kept % 3 > 0
    tail = kept - head
    return question[: places[head - 1][1]] + _GAP + question[places[-tail][0] :]


def pieces(text: str, offsets: Offsets, room: int) -> list[str]:
    """The whole text, cut into as few pieces of at most `room` tokens as it takes: nothing is dropped.

    >>> words = lambda text: [(m.start(), m.end()) for m in __import__("re").finditer(r"\\S+", text)]
    >>> pieces("one two three four five", words, 2)
    ['one two', 'three four', 'five']
    """
    places = offsets(text)
    if len(places) <= room:
        return [text]
    starts = range(0, len(places), room)
    return [text[places[start][0] : places[min(start + room, len(places)) - 1][1]] for start in starts]

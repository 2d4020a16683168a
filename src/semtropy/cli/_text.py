"""Text from a model, made safe to print: no escape sequence in an answer reaches the terminal."""

from __future__ import annotations

import re

__all__ = ["one_line", "printable"]

# C0 and C1 control characters but tab and line break, and the marks that reorder text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` with control characters shown as escapes.

    >>> printable("\\x1b[31mred")
    '\\\\x1b[31mred'
    """
    return _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def one_line(text: str, limit: int = 60) -> str:
    """`text` on one line, printable, shortened to `limit` characters.

    >>> one_line("a\\n  b")
    'a b'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"

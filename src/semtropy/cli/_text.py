"""Text from a model, made safe to print: no escape sequence in an answer reaches the terminal."""

from __future__ import annotations

import json
import re
import sys
from typing import IO, Any

# C0 and C1 control characters but tab and line break, and the marks that reorder text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` with control characters shown as escapes.

    >>> printable("\\x1b[31mred")
    '\\\\x1b[31mred'
    """
    return _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def say(text: str, *, file: IO[str] | None = None, end: str = "\n") -> None:
    """Print `text` with control characters shown as escapes."""
    print(printable(text), end=end, file=file or sys.stdout, flush=True)


def json_text(data: Any) -> str:
    """`data` as one line of JSON, with control characters of any kind escaped.

    >>> json_text({"answer": "5 \u20ac \x9b2J"})
    '{"answer": "5 \u20ac \\\\u009b2J"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def one_line(text: str, limit: int = 60) -> str:
    """`text` on one line, printable, shortened to `limit` characters.

    >>> one_line("a\\n  b")
    'a b'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"

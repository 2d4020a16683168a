"""Text and JSON files that a user names: every fault is one `InputError` that names the file."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import IO, Any

from .errors import InputError

__all__ = ["decode_json", "decode_text", "read_bytes", "read_json", "read_text", "text_lines"]

MOST_FROM_A_STREAM = 64 << 20  # bytes of a pipe or a device, which may have no end


def read_text(path: str | os.PathLike[str], name: str | None = None) -> str:
    """The text of a UTF-8 file, without a byte order mark.

    path  the file
    name  what errors call it; by default its path
    """
    return decode_text(read_bytes(path, name), name or str(path))


def read_json(path: str | os.PathLike[str], name: str | None = None) -> Any:
    """The value in a JSON file."""
    return decode_json(read_text(path, name), name or str(path))


def read_bytes(path: str | os.PathLike[str], name: str | None = None) -> bytes:
    """The bytes of a file; a pipe or a device may give 64 MB."""
    called = name or str(path)
    try:
        with Path(path).open("rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read()
            return _bounded(file, called)
    except OSError as error:
        raise InputError(f"{called}: cannot be read: {error.strerror or error}") from None


def _bounded(file: IO[bytes], name: str) -> bytes:
    data = file.read(MOST_FROM_A_STREAM + 1)
    if len(data) > MOST_FROM_A_STREAM:
        raise InputError(f"{name}: gives more than 64 MB and is not a file: write it to a file first")
    return data


def decode_text(data: bytes, name: str) -> str:
    """UTF-8 text, without a byte order mark.

    >>> decode_text(b"\\xef\\xbb\\xbfWho?", "questions.txt")
    'Who?'
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: is not UTF-8 text: save the file as UTF-8") from None


def text_lines(text: str) -> list[str]:
    """The lines of a text without white space around them; blank ones are empty.

    A line ends where an editor ends it. `str.splitlines` would also end it at a form feed or U+2028 inside a question.

    >>> text_lines("Who\\u2028is it?\\r\\n\\r\\nWhere?")
    ['Who\\u2028is it?', '', 'Where?']
    """
    return [line.strip() for line in io.StringIO(text, newline=None)]


def decode_json(text: str, name: str) -> Any:
    """The value of a JSON text.

    >>> decode_json("[1, 2]", "pairs.json")
    [1, 2]
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{name}: is not JSON ({error.msg.lower()}, {place})") from None
    except RecursionError:
        raise InputError(f"{name}: is not JSON that can be read (nested too deeply)") from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{name}: is not JSON that can be read ({error})") from None

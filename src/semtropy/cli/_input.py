"""The files that options name; `-` is standard input."""

from __future__ import annotations

import sys
from typing import Any

from ..input_files import decode_json, decode_text, read_text

__all__ = ["option_json", "option_text"]


def option_text(option: str, path: str) -> str:
    """The text of the file that an option names; errors name the option too."""
    name = f"{option} {path}"
    if path != "-":
        return read_text(path, name)
    # Bytes, because text from standard input may have been decoded as something other than UTF-8.
    binary = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if binary is None else decode_text(binary.read(), name)


def option_json(option: str, path: str) -> Any:
    """The value of the JSON file that an option names."""
    return decode_json(option_text(option, path), f"{option} {path}")

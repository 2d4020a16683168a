"""Shared by the importers: typed access to the values of foreign files, with errors that name file and field."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ...errors import InputError, RecordingError
from ...files import read_text
from ..schema import shown
from .pickles import plain


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: header fields, rows, and notes for the user."""

    header: dict[str, Any]
    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Source:
    """A file being imported; every error names it and the field."""

    path: Path

    def fail(self, message: str, at: str, line: int | None = None) -> NoReturn:
        raise RecordingError(message, path=str(self.path), line=line, field=at)

    def read_text(self) -> str:
        """The text of the file."""
        try:
            return read_text(self.path)
        except InputError as error:
            raise RecordingError(str(error)) from None  # names the file already

    def plain(self, value: Any, at: str) -> Any:
        """`value` with arrays and tensors as lists."""
        try:
            found = plain(value)
        except InputError as error:
            self.fail(str(error), at)
        return found

    def mapping(self, value: Any, at: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.fail(f"expected a dict, found {_kind(value)}", at)
        return value

    def item(self, holder: Any, key: str, at: str) -> Any:
        """The value of `key` in the mapping `holder`."""
        held = self.mapping(holder, at)
        if key not in held:
            self.fail("is missing", f"{at}.{key}" if at else key)
        return held[key]

    def sequence(self, value: Any, at: str, size: int | None = None) -> list[Any]:
        found = self.plain(value, at) if not isinstance(value, list | tuple) else list(value)
        if not isinstance(found, list):
            self.fail(f"expected a list, found {_kind(value)}", at)
        if size is not None and len(found) != size:
            self.fail(f"has {len(found)} entries, expected {size}", at)
        return found

    def text(self, value: Any, at: str) -> str:
        if not isinstance(value, str):
            self.fail(f"expected text, found {_kind(value)}", at)
        return value

    def texts(self, value: Any, at: str) -> list[str]:
        return [self.text(each, f"{at}[{place}]") for place, each in enumerate(self.sequence(value, at))]

    def number(self, value: Any, at: str) -> float | None:
        """A finite number; None for None and for NaN, which some tools write for unknown."""
        found = self.plain(value, at)
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        if found is None or (isinstance(found, float) and math.isnan(found)):
            return None
        if not isinstance(found, bool | int | float):
            self.fail(f"expected a number, found {_kind(found)}", at)
        if not -sys.float_info.max <= found <= sys.float_info.max:
            self.fail(f"expected a finite number, found {shown(found)}", at)
        return float(found)

    def logprobs(self, value: Any, at: str) -> list[float] | None:
        """A list of token log-probabilities; None if one of them is unknown."""
        if value is None:
            return None
        numbers = [
            self.number(entry, f"{at}[{place}]") for place, entry in enumerate(self.sequence(value, at))
        ]
        known = [number for number in numbers if number is not None]
        return known if known and len(known) == len(numbers) else None

    def whole(self, value: Any, at: str) -> int:
        number = self.number(value, at)
        if number is None or number != int(number) or number < 0:
            self.fail(f"expected a whole number from 0, found {shown(value)}", at)
        return int(number)


def join_identical(texts: Sequence[str], meanings: Sequence[int]) -> tuple[list[int], int]:
    """Give identical texts the meaning of the first of them; return the meanings and how many samples changed.

    An entailment model may deny that an answer entails itself.

    >>> join_identical(["a", "b", "a"], [0, 1, 2])
    ([0, 1, 0], 1)
    """
    first: dict[str, int] = {}
    joined = [first.setdefault(text, meaning) for text, meaning in zip(texts, meanings, strict=True)]
    return joined, sum(old != new for old, new in zip(meanings, joined, strict=True))


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"

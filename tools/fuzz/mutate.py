"""Mutations shared by the fuzzers of files: damaged bytes, odd values in JSON, little memory, errors that read well."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from semtropy.errors import SemtropyError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["attempt", "damaged", "little_memory", "with_odd_value"]

T = TypeVar("T")

MEMORY = 1 << 30  # what a fuzzer may take beyond what it starts with

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(10**400), 10**400, 0.0, -0.0, 1e-300, -1e308, 1e308, 0.5,
    float("nan"), float("inf"), float("-inf"), "", "x", "\x00", "\ud800", "\U0001f600", "é" * 50, "x" * 10_000, "\n",
    "NaN", "1e999", [], {}, [[]], [None], {"": None}, [0] * 1000, {"text": None}, [[[[[[]]]]]], "[" * 2000,
)  # fmt: skip
FRAGMENTS = (
    b"", b"\x00", b"\xff", b"\n", b'"', b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"Infinity", b"-Infinity", b"1e999",
    b"-1e400", b"9" * 400, b"9" * 5000, b"null", b"true", b'"\\ud800"', b"\xef\xbb\xbf", b"\xed\xa0\x80", b"[" * 3000,
    b"\x1f\x8b", b"PAR1", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80", b" " * 100, b"\r\n", b"\t", b"\\", b"\\u",
)  # fmt: skip


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """`data` with a few bytes changed, removed, repeated or replaced by fragments that parsers stumble over."""
    held = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, len(held) + 1))
        length = int(rng.integers(0, 16))
        match int(rng.integers(0, 6)):
            case 0 if held:
                held[at % len(held)] ^= 1 << int(rng.integers(0, 8))
            case 1:
                held[at : at + length] = FRAGMENTS[int(rng.integers(len(FRAGMENTS)))]
            case 2:
                held[at:at] = FRAGMENTS[int(rng.integers(len(FRAGMENTS)))]
            case 3:
                del held[at : at + length]
            case 4:
                held[at:at] = held[at : at + length] * int(rng.integers(1, 50))
            case _:
                del held[at + length * 20 :]
    return bytes(held)


def with_odd_value(rng: np.random.Generator, value: Any) -> Any:
    """A copy of a JSON value in which some part was replaced, removed, or given another name."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    if isinstance(value, list):
        at = int(rng.integers(len(value)))
        return [*value[:at], with_odd_value(rng, value[at]), *value[at + 1 :]]
    key = list(value)[int(rng.integers(len(value)))]
    match int(rng.integers(0, 8)):
        case 0:
            return {name: inner for name, inner in value.items() if name != key}
        case 1:
            return {**value, f"{key}x": value[key]}
        case _:
            return {**value, key: with_odd_value(rng, value[key])}


def attempt(work: Callable[..., T], *arguments: Any) -> T | None:
    """The result, or None after an error that semtropy raises on purpose, if that is one readable line."""
    try:
        return work(*arguments)
    except SemtropyError as error:
        text = str(error)
        if len(text.splitlines()) != 1 or len(text) > 2000:
            raise AssertionError(f"not one short line: {text[:500]!r}") from error
        return None


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """One more gigabyte than now: asking for more fails, while the body runs."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

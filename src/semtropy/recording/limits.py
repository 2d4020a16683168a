"""Size limits for files from others: a few kilobytes must not unpack to gigabytes.

Each limit is a fixed amount or a multiple of the file's size, whichever is larger, so that honest recordings of any
size pass. `SEMTROPY_LIMITS=off` in the environment, or `Limits.off()` as an argument, lifts them for a file you
trust.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
from dataclasses import dataclass

from ..errors import InputError, RecordingError

LIFT = "set SEMTROPY_LIMITS=off if you trust the file"
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may unpack to.

    line      bytes of one line of JSON
    unpacked  bytes of the unpacked file; also allowed: `ratio` times its size on disk
    ratio     see `unpacked`
    values    numbers, texts and lists in a Parquet file or in JSON that was packed; also allowed: `ratio` times its
              size on disk

    >>> Limits().unpacked_bytes(10_000), Limits().unpacked_bytes(10_000_000_000)
    (67108864, 320000000000)
    """

    line: int = 16 * MEGABYTE
    unpacked: int = 64 * MEGABYTE
    ratio: int = 32
    values: int = 2_000_000

    @classmethod
    def off(cls) -> Limits:
        """No limits."""
        return cls(sys.maxsize, sys.maxsize, sys.maxsize, sys.maxsize)

    @classmethod
    def default(cls) -> Limits:
        """The limits of this process: `Limits()`, or none with SEMTROPY_LIMITS=off."""
        chosen = os.environ.get("SEMTROPY_LIMITS", "on").strip().lower()
        if chosen not in ("on", "off", ""):
            raise InputError(f"SEMTROPY_LIMITS is {chosen!r}: write on or off")
        return cls.off() if chosen == "off" else cls()

    def unpacked_bytes(self, size: int) -> int:
        """The bytes that a file of `size` bytes may unpack to."""
        return min(max(self.unpacked, self.ratio * size), sys.maxsize)

    def most_values(self, size: int) -> int:
        """The values that a packed file of `size` bytes may hold."""
        return min(max(self.values, self.ratio * size), sys.maxsize)


def json_values(text: bytes) -> int:
    """At most how many values a JSON text holds: an empty list of two bytes takes 64 in memory.

    >>> json_values(b'{"a": [1, 2, []]}')
    7
    """
    return text.count(b",") + text.count(b"[") + text.count(b"{") + 2


def too_many_values(most: int) -> str:
    """What is said of a file with more values."""
    return f"holds more than {most:,} values: {LIFT}"


def gunzip(data: bytes, limits: Limits, path: str) -> bytes:
    """The JSON or the table in a gzip file at `path`; an error of the file where it is more than the limits allow.

    >>> len(gunzip(gzip.compress(bytes(100)), Limits(), "packed.jsonl.gz"))
    100
    """
    chunks, size, allowed = [], 0, limits.unpacked_bytes(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while size <= allowed and (chunk := file.read(MEGABYTE)):
            chunks.append(chunk)
            size += len(chunk)
    refuse_unpacked(size, len(data), limits, path)
    unpacked, most = b"".join(chunks), limits.most_values(len(data))
    if json_values(unpacked) > most:
        raise RecordingError(too_many_values(most), path=path)
    return unpacked


def refuse_unpacked(unpacked: int, size: int, limits: Limits, path: str) -> None:
    """An error where the `size` bytes at `path` unpack to more than is allowed."""
    allowed = limits.unpacked_bytes(size)
    if unpacked > allowed:
        raise RecordingError(f"unpacks to more than {allowed:,} bytes: {LIFT}", path=path)


class Allowance:
    """An amount of memory that can be spent until it is used up."""

    __slots__ = ("left", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def spend(self, amount: int) -> None:
        """Take `amount` bytes off; an `InputError` once the limit is exceeded."""
        self.left -= amount
        if self.left < 0:
            raise InputError(f"unpacks to more than {max(1, self.limit // MEGABYTE)} MB: {LIFT}")

"""Reads how much a Parquet file holds from its footer, before any of it is unpacked.

The footer is a struct in Thrift's compact protocol (https://github.com/apache/parquet-format). It is decoded here
because pyarrow ends the process when it is asked for the metadata of a column that is damaged.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, Any

from ..errors import RecordingError

__all__ = ["ParquetSizes", "parquet_sizes"]

MOST_NESTED = 32

# Field numbers of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_NUM_ROWS, _ROW_GROUPS, _COLUMNS, _META_DATA, _NUM_VALUES, _UNPACKED = 3, 4, 1, 3, 5, 6
# Types of the compact protocol.
_STOP, _TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 6, 7, 8, 9, 10, 12


@dataclass(frozen=True, slots=True)
class ParquetSizes:
    """Rows, values in all columns, and bytes when unpacked, as the footer states them."""

    rows: int
    values: int
    unpacked: int


def parquet_sizes(file: IO[bytes], name: str) -> ParquetSizes:
    """The sizes in the footer of an open file; errors call it `name`."""
    try:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        length, magic = struct.unpack("<I4s", file.read(8))
        if magic != b"PAR1" or length > size - 8:
            raise ValueError("it does not end with a footer")
        file.seek(size - 8 - length)
        footer = _Decoder(file.read(length)).struct()
        columns = [
            chunk[_META_DATA] for group in footer.get(_ROW_GROUPS, []) for chunk in group.get(_COLUMNS, [])
        ]
        values, unpacked = (sum(column[key] for column in columns) for key in (_NUM_VALUES, _UNPACKED))
        rows = footer[_NUM_ROWS]
        if not all(isinstance(number, int) and number >= 0 for number in (rows, values, unpacked)):
            raise ValueError("it states sizes below 0")
        return ParquetSizes(rows, values, unpacked)
    except (struct.error, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise RecordingError(f"cannot be read as Parquet ({error})", path=name) from None


class _Decoder:
    """A struct of the compact protocol as a dict from field numbers to values."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > MOST_NESTED:
            raise ValueError("its footer is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind = head & 0x0F
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):  # in lists, truth values take a byte
            return self._byte()
        if kind < _DOUBLE:
            return self._signed()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind not in (_LIST, _SET):
            raise ValueError(f"its footer holds a value of type {kind}")
        head = self._byte()
        size, inner = head >> 4, head & 0x0F
        size = self._unsigned() if size == 15 else size
        if size > len(self._data) - self._at or depth > MOST_NESTED:
            raise ValueError("its footer holds a list longer than itself")
        return [self._value(inner, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise ValueError("its footer ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("its footer holds a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

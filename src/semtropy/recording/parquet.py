"""Recordings as Parquet: the columns of the schema, one row per question, the header in the metadata.

pandas, polars, DuckDB and Hugging Face `datasets` can read these files. Reading one back gives every value that was
written; keys come in the order of the columns.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import MissingExtra, RecordingError
from ..files import cannot_write, replacing
from .jsonlines import refuse_repeated
from .limits import LIFT, Limits
from .schema import Header, Row, find_unwritable, shown

if TYPE_CHECKING:
    import pyarrow as pa


# Lossless conversion between JSON objects and typed columns, for Parquet.
#
# A column has one type, and null where there is no value. A JSON object may hold unknown keys, an integer among
# floats, or an explicit null. `pack` puts each value into its column if that loses nothing and the rest, as JSON,
# into the column `extra`; `unpack` restores the object. In most recordings `extra` is empty or holds only the keys the
# schema does not name.


class Column(NamedTuple):
    """A type of column: whether a value fits it without loss, and its type in Arrow, given the library.

    key   the key whose values it holds; None where the column has its name
    null  whether a missing key is read back as null, which means the same there
    """

    fits: Callable[[Any], bool]
    arrow: Callable[[Any], Any]
    key: str | None = None
    null: bool = False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape and a column cannot hold
        return False
    return True


def _list(of: Column) -> Column:
    return Column(
        lambda value: type(value) is list and all(map(of.fits, value)), lambda pa: pa.list_(of.arrow(pa))
    )


def _struct(layout: Layout) -> Column:
    return Column(lambda value: type(value) is dict, lambda pa: pa.struct(_fields(layout, pa)))


def _fields(layout: Layout, pa: Any) -> list[tuple[str, Any]]:
    """The columns of a layout and their types in Arrow; what has no column is in the last."""
    return [*((name, column.arrow(pa)) for name, column in layout.items()), ("extra", pa.string())]


Layout = Mapping[str, Column]

TEXT = Column(lambda value: type(value) is str and _is_utf8(value), lambda pa: pa.string())
WHOLE = Column(lambda value: type(value) is int and -(2**63) <= value < 2**63, lambda pa: pa.int64())
FLOAT = Column(lambda value: type(value) is float, lambda pa: pa.float64())
TRUTH = Column(lambda value: type(value) is bool, lambda pa: pa.bool_())

ANSWER: Layout = {
    "text": TEXT,
    "logprob": FLOAT,
    "token_logprobs": _list(FLOAT),
    "correct": TRUTH._replace(null=True),
}
SAMPLE: Layout = {
    "text": TEXT,
    "logprob": FLOAT,
    "token_logprobs": _list(FLOAT),
    "tokens": _list(WHOLE),
    "token_texts": _list(TEXT)._replace(key="tokens"),
    "complete": TRUTH,
    "meaning": WHOLE,
}
ROW: Layout = {
    "id": TEXT,
    "question": TEXT,
    "context": TEXT._replace(null=True),
    "references": _list(TEXT),
    "answer": _struct(ANSWER),
    "samples": _list(_struct(SAMPLE)),
    "p_true": FLOAT,
}


def pack(held: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """The object `held` as a dict of columns.

    >>> pack({"text": "4", "logprob": -1, "accuracy": 0.5}, SAMPLE)["extra"]
    '{"logprob": -1, "accuracy": 0.5}'
    """
    columns: dict[str, Any] = dict.fromkeys(layout)
    rest = dict(held)
    for name, column in layout.items():
        key = column.key or name
        value = rest.get(key)
        if column.null if value is None else column.fits(value):
            columns[name] = rest.pop(key, None)
    columns["extra"] = json.dumps(rest) if rest else None
    return columns


def unpack(columns: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """The inverse of `pack`, up to the order of the keys.

    >>> held = {"meaning": 0, "text": "4", "logprob": None, "note": {"by": "hand"}}
    >>> unpack(pack(held, SAMPLE), SAMPLE) == held
    True
    """
    held = {
        column.key or name: columns[name]
        for name, column in layout.items()
        if columns[name] is not None or column.null
    }
    if columns["extra"] is None:
        return held
    with suppress(ValueError, RecursionError):
        match json.loads(columns["extra"]):
            # Version 0.2 wrote a list where keys had an unusual order: the rest, and all keys in order.
            case dict(rest) | [dict(rest), list()]:
                return held | rest
    raise RecordingError("is not what semtropy writes there", field="extra")


# Reads how much a Parquet file holds from its footer, before any of it is unpacked.
#
# The footer is a struct in Thrift's compact protocol (https://github.com/apache/parquet-format). It is decoded here
# because pyarrow ends the process when it is asked for the metadata of a column that is damaged.


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


_Part = TypeVar("_Part", Header, Row)

METADATA = b"semtropy_recording"
ROWS_PER_GROUP = 256  # held in memory at a time
VALUES_PER_BATCH = 2_000_000


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", extra="study") from None
    return pyarrow


def _schema(pa: Any, header: Header) -> Any:
    return pa.schema(_fields(ROW, pa), metadata={METADATA: json.dumps(dict(header))})


def write_parquet(
    path: str | os.PathLike[str], header: Header | Mapping[str, Any], rows: Iterable[Row | Mapping[str, Any]]
) -> int:
    """Write a recording; return the number of rows. The file appears under its name only once it is complete."""
    pa = _arrow()
    target = Path(path)
    head = header if isinstance(header, Header) else Header(header)
    schema = _schema(pa, _writable(head, target, None))
    checked = _checked(rows, head, target)
    written = 0
    try:
        with (
            replacing(target) as partial,
            pa.parquet.ParquetWriter(partial, schema, compression="zstd") as writer,
        ):
            while group := list(islice(checked, ROWS_PER_GROUP)):
                writer.write_table(pa.Table.from_pylist(list(map(_columns, group)), schema))
                written += len(group)
    except OSError as error:
        raise RecordingError(cannot_write(error), path=str(path)) from None
    return written


def _checked(rows: Iterable[Row | Mapping[str, Any]], header: Header, path: Path) -> Iterator[dict[str, Any]]:
    ids: set[str] = set()
    for place, row in enumerate(rows, start=1):
        checked = row if isinstance(row, Row) else Row(row, header=header, path=f"{path}, row {place}")
        refuse_repeated(checked, ids, str(path))
        yield dict(_writable(checked, path, place))


def _writable(held: _Part, path: Path, row: int | None) -> _Part:
    found = find_unwritable(held.fields)
    if found:
        where = f"{path}, row {row}" if row else str(path)
        raise RecordingError(found[1], path=where, field=found[0])
    return held


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row, its answer and its samples."""
    columns = _shown(pack(row, ROW), row, "id", "question")
    answer = columns["answer"]
    columns["answer"] = None if answer is None else _shown(pack(answer, ANSWER), answer)
    columns["samples"] = [_shown(pack(sample, SAMPLE), sample) for sample in columns["samples"]]
    return columns


def _shown(columns: dict[str, Any], held: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Fill columns that other readers need though the exact value is in `extra` (an integer id, a lone surrogate)."""
    for name in names or ("text",):
        if columns[name] is None:
            columns[name] = str(held[name]).encode("utf-8", "replace").decode()
    return columns


def read_parquet(path: Path, limits: Limits | None = None) -> Iterator[Header | Row]:
    """Yield the header, then the rows; memory holds one group of rows."""
    pa = _arrow()
    name = str(path)
    try:
        with path.open("rb") as stream:
            rows_per_batch = check_parquet_size(stream, limits or Limits.default(), name)
        with pa.parquet.ParquetFile(path) as file:
            header = _header(file.schema_arrow, name)
            _compare(file.schema_arrow, _schema(pa, header), name)
            texts = text_columns(file)
        yield header
        with pa.parquet.ParquetFile(path, read_dictionary=texts) as file:
            ids: dict[str, int] = {}
            for place, fields in enumerate(_all_rows(file, rows_per_batch, name), start=1):
                row = Row(fields, header=header, path=f"{name}, row {place}")
                if ids.setdefault(row.id, place) != place:
                    row.fail(
                        f"{shown(row.id)} is already the id of row {ids[row.id]}: ids must be unique", "id"
                    )
                yield row
    except RecordingError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RecordingError(f"cannot be read as Parquet ({reason})", path=name) from None


def check_parquet_size(file: IO[bytes], limits: Limits, name: str) -> int:
    """Refuse a file that unpacks to too much; return the number of rows to read at a time.

    A column of a million equal values takes a few bytes in the file.
    """
    size, held = file.seek(0, 2), parquet_sizes(file, name)
    if held.values > limits.most_values(size):
        most = f"{limits.most_values(size):,}"
        raise RecordingError(f"holds {held.values:,} values, more than {most}: {LIFT}", path=name)
    if held.unpacked > limits.unpacked_bytes(size):
        most = f"{limits.unpacked_bytes(size):,} bytes"
        raise RecordingError(f"unpacks to {held.unpacked:,} bytes, more than {most}: {LIFT}", path=name)
    return max(1, min(ROWS_PER_GROUP, VALUES_PER_BATCH * held.rows // max(1, held.values)))


def text_columns(file: Any) -> list[str]:
    """The columns of texts, to be read as dictionaries: a text stored once and used a million times is one object."""
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


def _all_rows(file: Any, rows_per_batch: int, name: str) -> Iterator[dict[str, Any]]:
    place = 0
    for batch in file.iter_batches(batch_size=rows_per_batch, columns=[*ROW, "extra"]):
        try:
            for fields in _rows(batch):
                place += 1
                yield fields
        except RecordingError as error:
            where = f"{name}, after row {place}"
            raise RecordingError(error.message, path=where, field=error.field) from None


def _header(schema: pa.Schema, name: str) -> Header:
    held = (schema.metadata or {}).get(METADATA)
    if held is None:
        raise RecordingError(
            "has no recording header in its metadata: was it written by another program?", path=name
        )
    try:
        return Header(json.loads(held))
    except RecordingError as error:
        raise RecordingError(error.message, path=name, field=error.field) from None
    except (ValueError, TypeError, RecursionError):
        raise RecordingError("the header in its metadata is not JSON", path=name) from None


def _compare(found: pa.Schema, expected: pa.Schema, name: str) -> None:
    for field in expected:
        place = found.get_field_index(field.name)
        if place < 0:
            raise RecordingError("the column is missing", path=name, field=field.name)
        if found.field(place).type != field.type:
            kind = found.field(place).type
            raise RecordingError(f"the column is {kind}, expected {field.type}", path=name, field=field.name)


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Converting column by column is far faster than object by object."""
    names = [*ROW, "extra"]
    for values in zip(*(column_values(batch.column(name)) for name in names), strict=True):
        columns = dict(zip(names, values, strict=True))
        answer, samples = columns["answer"], columns["samples"]
        columns["answer"] = None if answer is None else unpack(answer, ANSWER)
        if samples is not None:
            columns["samples"] = [{} if each is None else unpack(each, SAMPLE) for each in samples]
        yield unpack(columns, ROW)


def column_values(array: Any) -> list[Any]:
    """The values of a column as Python objects; equal texts are one object."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        places = array.indices.to_pylist()
        used = sorted({place for place in places if place is not None})
        texts = dict(zip(used, array.dictionary.take(pa.array(used, pa.int32())).to_pylist(), strict=True))
        return [texts.get(place) for place in places]
    if pa.types.is_list(array.type):
        inner = iter(column_values(array.flatten()))
        return [
            None if size is None else list(islice(inner, size)) for size in array.value_lengths().to_pylist()
        ]
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        columns = [column_values(array.field(place)) for place in range(len(names))]
        objects = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
        known = array.is_valid().to_pylist()
        return [held if valid else None for held, valid in zip(objects, known, strict=True)]
    values: list[Any] = array.to_pylist()
    return values

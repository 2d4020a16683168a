"""Recordings as Parquet: the columns of the schema, one row per question, the header in the metadata.

pandas, polars, DuckDB and Hugging Face `datasets` can read these files. Reading one back gives exactly what was written
(see `columns`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from ..errors import MissingExtra, RecordingError
from ..output_files import replacing
from .columns import ANSWER, ROW, SAMPLE, Layout, pack, unpack
from .header import Header
from .jsonlines import cannot_write
from .limits import LIFT, Limits
from .parquet_footer import parquet_sizes
from .schema import Row
from .validate import find_unwritable, shown

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_parquet_size", "column_values", "read_parquet", "text_columns", "write_parquet"]

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
    text, number, whole, truth = pa.string(), pa.float64(), pa.int64(), pa.bool_()
    numbers = pa.list_(number)
    answer = {"text": text, "logprob": number, "token_logprobs": numbers, "correct": truth, "extra": text}
    sample = {
        "text": text,
        "logprob": number,
        "token_logprobs": numbers,
        "tokens": pa.list_(whole),
        "token_texts": pa.list_(text),
        "complete": truth,
        "meaning": whole,
        "extra": text,
    }
    columns = {
        "id": text,
        "question": text,
        "context": text,
        "references": pa.list_(text),
        "answer": pa.struct(list(answer.items())),
        "samples": pa.list_(pa.struct(list(sample.items()))),
        "p_true": number,
        "extra": text,
    }
    return pa.schema(list(columns.items()), metadata={METADATA: json.dumps(dict(header))})


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
                writer.write_table(pa.Table.from_arrays(_arrays(group, schema), schema=schema))
                written += len(group)
    except OSError as error:
        raise RecordingError(cannot_write(error), path=str(path)) from None
    return written


def _checked(rows: Iterable[Row | Mapping[str, Any]], header: Header, path: Path) -> Iterator[dict[str, Any]]:
    ids: set[str] = set()
    for place, row in enumerate(rows, start=1):
        checked = row if isinstance(row, Row) else Row(row, header=header, path=f"{path}, row {place}")
        if checked.id in ids:
            raise RecordingError(
                f"{shown(checked.id)} was already written: ids must be unique", path=str(path), field="id"
            )
        ids.add(checked.id)
        yield dict(_writable(checked, path, place))


def _writable(held: _Part, path: Path, row: int | None) -> _Part:
    found = find_unwritable(held.fields)
    if found:
        where = f"{path}, row {row}" if row else str(path)
        raise RecordingError(found[1], path=where, field=found[0])
    return held


def _arrays(rows: list[dict[str, Any]], schema: pa.Schema) -> list[Any]:
    import pyarrow as pa

    packed = [_shown(pack(row, ROW), row, "id", "question") for row in rows]
    answers = [
        None if row["answer"] is None else _shown(pack(row["answer"], ANSWER), row["answer"])
        for row in packed
    ]
    samples = [_shown(pack(sample, SAMPLE), sample) for row in packed for sample in row["samples"]]
    for sample in samples:
        spelled = sample["tokens"] is not None and any(isinstance(token, str) for token in sample["tokens"])
        sample["token_texts"] = sample["tokens"] if spelled else None
        sample["tokens"] = None if spelled else sample["tokens"]
    ends = [0]
    for row in packed:
        ends.append(ends[-1] + len(row["samples"]))
    inner = schema.field("samples").type.value_type
    columns = [pa.array([sample[field.name] for sample in samples], field.type) for field in inner]
    struct = pa.StructArray.from_arrays(columns, fields=list(inner))
    special = {
        "answer": pa.array(answers, schema.field("answer").type),
        "samples": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), struct),
    }
    return [
        special[field.name]
        if field.name in special
        else pa.array([row[field.name] for row in packed], field.type)
        for field in schema
    ]


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
    if held.values > limits.parquet_values(size):
        most = f"{limits.parquet_values(size):,}"
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
    lists = batch.column("samples")
    samples = _objects(lists.flatten(), SAMPLE)
    sizes = lists.value_lengths().to_pylist()
    plain = {name: column_values(batch.column(name)) for name in (*ROW, "extra") if name != "samples"}
    for place, size in enumerate(sizes):
        columns = {name: values[place] for name, values in plain.items()}
        if columns["answer"] is not None:
            columns["answer"] = unpack(columns["answer"], ANSWER)
        columns["samples"] = None if size is None else list(islice(samples, size))
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


def _objects(structs: pa.StructArray, layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the structs as dicts; converting column by column is far faster than struct by struct."""
    fields = {field.name: column_values(structs.field(place)) for place, field in enumerate(structs.type)}
    texts = fields.pop("token_texts")
    fields["tokens"] = [
        ids if text is None else text for ids, text in zip(fields["tokens"], texts, strict=True)
    ]
    names = list(fields)
    for values in zip(*fields.values(), strict=True):
        yield unpack(dict(zip(names, values, strict=True)), layout)

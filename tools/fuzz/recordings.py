"""Fuzzes everything that reads recordings: damaged and odd files end in a clear error, or read and write back."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semtropy.recording import Recording, read_recording, write_recording
from semtropy.recording.formats import summarise, verify
from semtropy.recording.importers import import_recording
from tools.fuzz import attack_all
from tools.fuzz.mutate import attempt, damaged, little_memory, with_odd_value

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CASES", "fuzz"]

CASES = 6_000

HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}
ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{k}",
        "question": "2 + 2?",
        "context": "Some sums." if k else None,
        "references": ["4", "four"],
        "answer": {
            "text": "4",
            "logprob": -0.1,
            "token_logprobs": [-0.1],
            "sampling_logprob": -0.2,
            "tokens": [19],
            "meaning": 0,
            "correct": True,
        },
        "samples": [
            {"text": "4", "logprob": -0.5, "token_logprobs": [-0.25, -0.25], "tokens": [19, 2], "meaning": 0},
            {
                "text": "four",
                "logprob": -2.5,
                "tokens": ["fo", "ur"],
                "complete": False,
                "meaning": 0,
                "own": {},
            },
            {"text": "5", "logprob": None, "meaning": 1},
        ],
        "p_true": 0.9,
        "note": {"by": "hand", "scores": [1, 2.5, None]},
    }
    for k in range(3)
]
UQLM = {
    "data": {
        "prompts": ["2 + 2?"],
        "responses": ["4"],
        "sampled_responses": [["4", "5"]],
        "sampled_logprob": [[[{"token": "4", "logprob": -0.5}], [{"token": "5", "logprob": -1.5}]]],
        "score": [0.5],
    },
    "metadata": {"parameters": {"sampling_temperature": 1.0}},
}


def fuzz(cases: int, seed: int) -> None:
    """Attack each reader in turn."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        _use(_write(folder, "warm.parquet", ROWS), folder)  # libraries are loaded before memory is limited
        with little_memory():
            attack_all(lambda rng: _attack(rng, folder), cases, seed)
    finally:
        shutil.rmtree(folder)


def _attack(rng: np.random.Generator, folder: Path) -> None:
    place = folder / "case"
    place.mkdir()
    try:
        make = MAKERS[int(rng.integers(len(MAKERS)))]
        make(rng, place)
        left = [path.name for path in place.rglob("*") if ".partial" in path.name or path.suffix == ".tmp"]
        assert not left, f"left behind: {left}"
    finally:
        shutil.rmtree(place)


def _use(path: Path, folder: Path) -> None:
    """Read a recording, look at all of it, and write it back."""
    attempt(verify, path)
    attempt(summarise, path)
    recording = attempt(_read, path)
    if recording is None:
        return
    for row in recording:
        attempt(lambda row=row: row.samples)
        attempt(row.evidence)
        attempt(row.arrays)
    for name in ("out.jsonl", "out.jsonl.gz", "out.parquet"):
        if attempt(write_recording, folder / name, recording.header, recording.rows) is not None:
            again = _read(folder / name)
            held, sent = ([_known(dict(row)) for row in rows] for rows in (again, recording))
            assert json.dumps(held, sort_keys=True) == json.dumps(sent, sort_keys=True)


def _read(path: Path) -> Recording:
    return read_recording(path, allow_empty=True)


def _known(value: Any) -> Any:
    """The value without what is unknown in it: Parquet has a missing key for it, or a null."""
    if isinstance(value, dict):
        return {key: _known(inner) for key, inner in value.items() if inner is not None}
    return [_known(each) for each in value] if isinstance(value, list) else value


def _lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    write_recording(folder / name, HEADER, rows)
    return folder / name


def _odd_json(rng: np.random.Generator, place: Path) -> None:
    rows: list[Any] = [HEADER, *ROWS]
    at = int(rng.integers(len(rows)))
    rows[at] = with_odd_value(rng, rows[at])
    data = _lines(rows)
    path = place / "run.jsonl"
    path.write_bytes(gzip.compress(data) if rng.random() < 0.3 else data)
    _use(path, place)


def _damaged_json(rng: np.random.Generator, place: Path) -> None:
    data = _lines([HEADER, *ROWS])
    path = place / "run.jsonl.gz"
    match int(rng.integers(3)):
        case 0:
            path.write_bytes(damaged(rng, data))
        case 1:
            path.write_bytes(gzip.compress(damaged(rng, data)))
        case _:
            path.write_bytes(damaged(rng, gzip.compress(data)))
    _use(path, place)


def _odd_parquet(rng: np.random.Generator, place: Path) -> None:
    """Values the schema of the file allows and that of recordings does not."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = _write(place, "run.parquet", ROWS)
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[1] = with_odd_value(rng, rows[1])
    try:
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError, AttributeError):
        try:
            pq.write_table(pa.Table.from_pylist(rows, metadata=table.schema.metadata), path)
        except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError, AttributeError):
            return
    _use(path, place)


def _damaged_parquet(rng: np.random.Generator, place: Path) -> None:
    path = _write(place, "run.parquet", ROWS)
    path.write_bytes(damaged(rng, path.read_bytes()))
    _use(path, place)


def _store(rng: np.random.Generator, place: Path) -> None:
    """A folder whose manifest or part was changed, the checksum in the part's name included."""
    folder = place / "run"
    folder.mkdir()
    manifest = json.dumps({"semtropy_store": 1, "identity": {}, "header": HEADER}).encode()
    rows = [{"id": row["id"], "index": k, **row} for k, row in enumerate(ROWS)]
    part = _lines([json.loads(json.dumps(row)) for row in rows])
    match int(rng.integers(4)):
        case 0:
            manifest = damaged(rng, manifest)
        case 1:
            part = damaged(rng, part)
        case 2:
            part = _lines([with_odd_value(rng, row) for row in rows])
        case _:
            manifest = json.dumps(with_odd_value(rng, json.loads(manifest))).encode()
    (folder / "manifest.json").write_bytes(manifest)
    (folder / f"part-00000000-{zlib.crc32(part):08x}.jsonl").write_bytes(part)
    _use(folder, place)


def _table(rng: np.random.Generator, place: Path) -> None:
    """CSV and uqlm's JSON, through the importers."""
    path = place / "run.csv"
    if rng.random() < 0.5:
        stream = io.StringIO()
        columns = [
            "question",
            "text",
            "logprob",
            "tokens",
            "meaning",
            "references",
            "correct",
            "answer",
            "p_true",
        ]
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerow(
            dict(zip(columns, ["2 + 2?", "4", "-0.5", "[1]", "a", '["4"]', "true", "4", "0.5"], strict=True))
        )
        path.write_bytes(damaged(rng, stream.getvalue().encode()))
        kind = "csv"
    else:
        path = place / "run.json"
        data = json.dumps(with_odd_value(rng, UQLM)).encode()
        path.write_bytes(damaged(rng, data) if rng.random() < 0.3 else data)
        kind = "uqlm"
    if attempt(import_recording, kind, path, place / "out.jsonl") is not None:
        read_recording(place / "out.jsonl")


MAKERS: tuple[Callable[[np.random.Generator, Path], None], ...] = (
    _odd_json,
    _odd_json,
    _damaged_json,
    _odd_parquet,
    _damaged_parquet,
    _store,
    _table,
)

"""Recordings as Parquet: exactly what JSON lines hold, and open to the usual tools."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recording_rows import HEADER, ROW, SHARED, bits, headers, rows
from semtropy.errors import MissingExtra, RecordingError
from semtropy.recording import open_recording, read_recording, write_recording

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

OTHER = {
    "id": "q2",
    "question": "2 + 2?",
    "context": None,
    "samples": [{"text": "4", "tokens": ["4", "</s>"]}],
    "note": {"by": "hand"},
}


def in_columns(row: Any) -> object:
    """A row as columns hold it: keys in any order, and null where `context` or the grade is missing."""
    held = {"context": None, **row}
    if isinstance(held.get("answer"), dict):
        held["answer"] = {"correct": None, **held["answer"]}
    return bits(json.loads(json.dumps(held, sort_keys=True)))


@given(header=headers, held=st.lists(rows, max_size=4, unique_by=lambda row: str(row["id"])))
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_bit_for_bit(
    header: dict[str, Any], held: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trip") / "run.parquet"
    assert write_recording(path, header, held) == len(held)
    back = read_recording(path, allow_empty=True)
    assert bits(dict(back.header)) == bits(header)
    assert [in_columns(dict(row)) for row in back] == [in_columns(row) for row in held]


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
def test_there_and_back_from_json_lines(tmp_path: Path) -> None:
    source = SHARED / "recordings" / "Llama-2-7b-chat--svamp.jsonl.gz"
    stream = open_recording(source)
    write_recording(tmp_path / "run.parquet", stream.header, stream.rows)
    stream = open_recording(tmp_path / "run.parquet")
    write_recording(tmp_path / "back.jsonl", stream.header, stream.rows)
    write_recording(tmp_path / "same.jsonl", open_recording(source).header, open_recording(source).rows)
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "same.jsonl").read_bytes()
    # Nothing was left over for `extra`: the columns say it all.
    table = pa.parquet.read_table(tmp_path / "run.parquet")
    assert table.column("extra").null_count == len(table)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "run.parquet"
    write_recording(path, HEADER, [ROW, OTHER])
    return path


def test_what_is_wrong_is_named(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(RecordingError, match=r"run\.parquet, row 1, samples\[0\]\.text: is missing"):
        write_recording(written, HEADER, [{**ROW, "samples": [{}]}])
    with pytest.raises(RecordingError, match=r"run\.parquet, row 2, note: nan is not a JSON number"):
        write_recording(written, HEADER, [ROW, {**OTHER, "note": float("nan")}])
    with pytest.raises(RecordingError, match="'q1' was already written"):
        write_recording(written, HEADER, [ROW, ROW])
    with pytest.raises(RecordingError, match=r"cannot be written"):
        write_recording(written.parent / "absent" / "run.parquet", HEADER, [ROW])
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_a_wrong_file_is_named(written: Path) -> None:
    table = pa.parquet.read_table(written)
    pa.parquet.write_table(table.drop_columns("samples"), written)
    with pytest.raises(RecordingError, match=r"run\.parquet, samples: the column is missing"):
        read_recording(written)
    pa.parquet.write_table(table.replace_schema_metadata({}), written)
    with pytest.raises(RecordingError, match="has no recording header in its metadata"):
        read_recording(written)
    pa.parquet.write_table(
        table.replace_schema_metadata({"semtropy_recording": '{"semtropy_recording": 2}'}), written
    )
    with pytest.raises(RecordingError, match=r"semtropy_recording: is 2: this semtropy reads version 1"):
        read_recording(written)
    pa.parquet.write_table(table.set_column(0, "id", pa.array([1, 2])), written)
    with pytest.raises(RecordingError, match=r"id: the column is int64, expected string"):
        read_recording(written)
    pa.parquet.write_table(pa.concat_tables([table, table]), written)
    with pytest.raises(RecordingError, match=r"row 3, id: 'q1' is already the id of row 1"):
        read_recording(written)
    pa.parquet.write_table(table, written)
    written.write_bytes(written.read_bytes()[:-100])
    with pytest.raises(RecordingError, match="cannot be read as Parquet"):
        read_recording(written)
    write_recording(written, HEADER, [])
    with pytest.raises(RecordingError, match="the recording holds no questions"):
        read_recording(written)


def test_without_pyarrow_the_extra_is_named(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'semtropy\[study\]'"):
        read_recording(written)


def test_pandas_reads_it(written: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.read_parquet(written)
    assert frame["question"].tolist() == [ROW["question"], OTHER["question"]]
    assert frame["samples"][0][1]["logprob"] == -2.0
    assert json.loads(frame["extra"][1]) == {"note": {"by": "hand"}}


def test_polars_reads_it(written: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    samples = polars.read_parquet(written).select("id", "samples").explode("samples").unnest("samples")
    assert samples["meaning"].to_list() == [0, 1, 0, None]
    assert samples["token_texts"].to_list()[3] == ["4", "</s>"]


def test_duckdb_reads_it(written: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    query = f"SELECT id, s.text, s.logprob FROM (SELECT id, unnest(samples) AS s FROM '{written}') WHERE s.logprob < -1"
    assert duckdb.sql(query).fetchall() == [("q1", "Rome", -2.0)]


def test_datasets_reads_it(written: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    loaded = datasets.Dataset.from_parquet(str(written), cache_dir=str(tmp_path / "cache"))
    assert loaded["question"][0] == ROW["question"]
    assert loaded[0]["answer"]["correct"] is True
    assert [sample["text"] for sample in loaded[0]["samples"]] == ["Paris", "Rome", "Paris"]


def test_a_thousand_questions_are_read_in_seconds(tmp_path: Path) -> None:
    held = [{"text": f"answer {n % 7}", "logprob": -0.5 * n, "meaning": n % 7} for n in range(100)]
    path = tmp_path / "run.parquet"
    write_recording(path, HEADER, ({**ROW, "id": str(n), "samples": held} for n in range(1000)))
    before = time.process_time()
    assert sum(len(row["samples"]) for row in open_recording(path).rows) == 100_000
    assert time.process_time() - before < 5

"""Files from others: small ones stay small in memory, and whatever is wrong is one line that names the place."""

from __future__ import annotations

import contextlib
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limited import limited
from recording_rows import known
from semtropy.errors import InputError, RecordingError, SemtropyError, StoreError
from semtropy.recording import Limits, Row, open_recording, read_recording, write_recording
from semtropy.recording.formats import verify

HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}
ROW: dict[str, Any] = {"id": "q1", "question": "2 + 2?", "samples": [{"text": "4", "logprob": -0.5}]}
needs_limits = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the memory of a process as Linux tells it"
)


def one_line(error: BaseException) -> bool:
    return len(str(error).splitlines()) == 1 and len(str(error)) < 500


# --- numbers that are none -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "field"),
    [
        ({"logprob": -(10**400)}, "logprob"),
        ({"logprob": 10**400}, "logprob"),
        ({"token_logprobs": [-(10**400)]}, r"token_logprobs\[0\]"),
        ({"token_logprobs": [-0.5, -(10**400)]}, r"token_logprobs\[1\]"),
        ({"token_logprobs": [-1e308, -1e308]}, "token_logprobs"),
        ({"logprob": 0.5}, "logprob"),
        ({"token_logprobs": [-0.5, 2.3]}, r"token_logprobs\[1\]"),
        ({"logprob": True}, "logprob"),
    ],
)
@pytest.mark.parametrize("owner", ["answer", "samples[0]"])
def test_a_log_probability_is_a_finite_number_at_most_0(
    sample: dict[str, Any], field: str, owner: str, tmp_path: Path
) -> None:
    held = {"text": "4", **sample}
    row = {**ROW, **({"answer": held} if owner == "answer" else {"samples": [held]})}
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(HEADER) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(RecordingError, match=rf"run\.jsonl, line 2, .*{field}: ") as caught:
        read_recording(path)
    assert one_line(caught.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"sampling_logprob": float("nan")}, r"answer.sampling_logprob: "),
        ({"sampling_logprob": 2.5}, r"answer.sampling_logprob: is 2.5: a log-probability is at most 0"),
        ({"sampling_token_logprobs": [0.0, "a"]}, r"answer.sampling_token_logprobs\[1\]: expected a number"),
        ({"token_entropies": [0.0, None]}, r"answer.token_entropies: expected a list of numbers"),
        ({"tokens": [1.5]}, r"answer.tokens: expected a list of token ids"),
        ({"token_texts": ["a", 1]}, r"answer.token_texts: expected a list of token texts"),
        ({"meaning": "a"}, r"answer.meaning: expected a whole number"),
        ({"complete": 1}, r"answer.complete: expected true, false or null"),
    ],
)
def test_what_an_answer_carries_is_checked(answer: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordingError, match=message):
        Row({**ROW, "answer": {"text": "4", **answer}})


def test_a_certain_sample_is_the_likeliest() -> None:
    """A log-probability of 0 is not a missing one."""
    samples = [{"text": "4", "logprob": value, "meaning": 0} for value in (-0.5, 0.0)]
    judged = Row({**ROW, "samples": samples, "answer": {"text": "4"}}).judged_sample()
    assert judged.sampling_logprob == 0.0


@pytest.mark.parametrize("field", ["temperature"])
def test_a_header_number_is_one_a_float_can_hold(field: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({**HEADER, field: 10**400}) + "\n")
    with pytest.raises(RecordingError, match=r"temperature: expected a number or null, found .*10\*\*400"):
        read_recording(path)


def test_rounding_above_0_is_no_probability_above_1() -> None:
    held = {"text": "4", "logprob": 1e-3, "token_logprobs": [1e-3, -0.5], "meaning": 0}
    row = Row({**ROW, "answer": dict(held), "samples": [held]})
    assert row.samples[0].logprob == 0.0
    assert row.samples[0].token_logprobs == (0.0, -0.5)
    assert row.answer is not None
    assert row.answer.logprob == 0.0
    assert row["samples"][0]["logprob"] == 1e-3


# --- sizes -----------------------------------------------------------------------------------------------------


def test_a_long_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_recording(path, HEADER, [ROW, {**ROW, "id": "q2", "note": "x" * 5000}])
    small = Limits(line=4000)
    assert next(open_recording(path, limits=small).rows).id == "q1"
    with pytest.raises(
        RecordingError, match=r"line 3: the line is longer than 4,000 bytes: set SEMTROPY_LIMITS"
    ):
        read_recording(path, limits=small)
    assert len(read_recording(path, limits=Limits.off())) == 2


def test_a_gzip_that_unpacks_to_too_much_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl.gz"
    write_recording(path, HEADER, ({**ROW, "id": str(k), "note": "x" * 1000} for k in range(1000)))
    small = Limits(unpacked=500_000, ratio=10)
    with pytest.raises(RecordingError, match=r"line 4\d\d: the file unpacks to more than 500,000 bytes"):
        read_recording(path, limits=small)
    assert len(read_recording(path)) == 1000
    monkeypatch.setenv("SEMTROPY_LIMITS", "off")
    assert Limits.default() == Limits.off()
    monkeypatch.setenv("SEMTROPY_LIMITS", "some")
    with pytest.raises(InputError, match="SEMTROPY_LIMITS is 'some': write on or off"):
        read_recording(path)


def test_a_plain_file_may_be_of_any_size(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_recording(path, HEADER, ({**ROW, "id": str(k), "note": "x" * 1000} for k in range(1000)))
    assert len(read_recording(path, limits=Limits(unpacked=1000, ratio=1))) == 1000


def test_a_study_with_token_log_probabilities_is_far_below_the_limits(tmp_path: Path) -> None:
    """1,000 questions of 100 samples, here a tenth of them: no limit is near, in any format."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(100):
        scores = (-rng.exponential(1.0, (100, 12))).tolist()
        tokens = rng.integers(0, 50_000, (100, 12)).tolist()
        pairs = zip(scores, tokens, strict=True)
        samples = [{"text": "four", "token_logprobs": s, "tokens": t, "meaning": 0} for s, t in pairs]
        rows.append({"id": str(k), "question": f"Question {k}?", "samples": samples})
    tight = Limits(line=1 << 20, unpacked=1 << 20, ratio=16, values=100_000)
    for name in ("run.jsonl", "run.jsonl.gz", "run.parquet"):
        write_recording(tmp_path / name, HEADER, rows)
        assert len(read_recording(tmp_path / name, limits=tight)) == 100


def gzip_of_one_line() -> bytes:
    return gzip.compress(json.dumps(HEADER).encode() + b'\n{"id": "' + b"x" * 80_000_000)


def gzip_of_many_rows() -> bytes:
    line = b'{"id": "%d", "question": "", "samples": [' + b", ".join([b'{"text": ""}'] * 2000) + b"]}\n"
    return gzip.compress(
        json.dumps(HEADER).encode() + b"\n" + b"".join(line % k for k in range(2_500)), compresslevel=6
    )


def gzip_of_empty_lists() -> bytes:
    line = b'{"id": "1", "question": "", "samples": [], "note": [' + b"[]," * 5_000_000 + b"0]}\n"
    return gzip.compress(json.dumps(HEADER).encode() + b"\n" + line)


def gzip_of_blank_lines() -> bytes:
    return gzip.compress(json.dumps(HEADER).encode() + b"\n" * 80_000_000, compresslevel=6)


def parquet(row: dict[str, Any], times: int) -> Callable[[Path], None]:
    """A Parquet file of one row many times: almost nothing on disk."""

    def write(path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        write_recording(path, HEADER, [row])
        table = pq.read_table(path)
        with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
            block = table.take(pa.array([0] * 1000))
            for _ in range(times // 1000):
                writer.write_table(block)

    return write


def data(make: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(make()) and None


BOMBS: dict[str, Callable[[Path], None]] = {
    "one line": data(gzip_of_one_line),
    "many rows": data(gzip_of_many_rows),
    "empty lists": data(gzip_of_empty_lists),
    "blank lines": data(gzip_of_blank_lines),
    "a Parquet file of many rows": parquet({**ROW, "samples": [{"text": "t"}] * 100}, 20_000),
    "a Parquet file of more rows": parquet({**ROW, "samples": []}, 1_000_000),
    "a Parquet file of long texts": parquet({**ROW, "question": "x" * 100_000, "samples": []}, 20_000),
}
READ = """
from semtropy.errors import SemtropyError
from semtropy.recording import read_recording
try:
    print(len(read_recording(sys.argv[1])))
except SemtropyError as error:
    print(error)
print("end", peak())
"""


@needs_limits
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_stays_small_in_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / ("run.parquet" if "Parquet" in name else "run.jsonl.gz")
    BOMBS[name](path)
    assert path.stat().st_size < 5_000_000
    done = limited(READ, path, limit=2.5e9)
    assert done.returncode == 0, done.stderr[-500:]
    said, end = done.stdout.splitlines()
    assert "MemoryError" not in said
    assert str(path) in said or name == "empty lists"
    assert int(end.split()[1]) < 1_000_000, f"kilobytes, after {said}"


def test_a_pack_that_unpacks_to_too_much_is_named(tmp_path: Path) -> None:
    import zlib

    rows = b'{"id":"1","index":0,"note":"%s"}\n' % (b"x" * 1000) * 70_000
    (tmp_path / "manifest.json").write_text(
        json.dumps({"semtropy_store": 1, "identity": {}, "header": HEADER})
    )
    pack = tmp_path / f"pack-00000000-00000001-{zlib.crc32(rows):08x}.jsonl.gz"
    pack.write_bytes(gzip.compress(rows))
    with pytest.raises(RecordingError, match=r"unpacks to more than 67,108,864 bytes: set SEMTROPY_LIMITS"):
        read_recording(tmp_path)
    with pytest.raises(RecordingError, match="question"):
        read_recording(tmp_path, limits=Limits.off())


# --- files that are none ---------------------------------------------------------------------------------------


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    folder = tmp_path / "run.jsonl"
    folder.mkdir()
    with pytest.raises(StoreError, match=r"run\.jsonl has no manifest\.json"):
        read_recording(folder)
    for name in ("run.jsonl", "run.jsonl.gz", "run.parquet"):
        (tmp_path / name).mkdir(exist_ok=True)
        with pytest.raises(RecordingError, match=rf"{name}: cannot be written: it is a folder") as caught:
            write_recording(tmp_path / name, HEADER, [ROW])
        assert one_line(caught.value)
    assert not list(tmp_path.glob(".*"))


def test_a_folder_where_a_part_or_a_manifest_should_be(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(
        json.dumps({"semtropy_store": 1, "identity": {}, "header": HEADER})
    )
    (tmp_path / "part-00000000-00000000.jsonl").mkdir()
    with pytest.raises(RecordingError, match=r"part-00000000-00000000\.jsonl: cannot be read"):
        read_recording(tmp_path)
    assert any("cannot be read" in fault for fault in verify(tmp_path))
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(RecordingError, match=r"manifest\.json: not JSON"):
        read_recording(tmp_path)
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(RecordingError, match=r"manifest\.json: not JSON"):
        read_recording(tmp_path)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_a_header_that_cannot_be_written_leaves_nothing(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="run: a set cannot be written as JSON"):
        write_recording(tmp_path / f"run{suffix}", {**HEADER, "run": {1}}, [ROW])
    assert not list(tmp_path.iterdir())


WRITE_ON_A_FULL_DISK = """
import signal
from semtropy.errors import SemtropyError
from semtropy.recording import write_recording
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, size, header = sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])
rows = ({"id": str(k), "question": str(k * 7919 % 10007) * 20, "samples": []} for k in range(2000))
if path.endswith(".parquet"):
    import pyarrow.parquet
sys.dont_write_bytecode = True  # a module compiled under the limit would be stored cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    write_recording(path, header, rows)
except SemtropyError as error:
    print(error)
"""


@needs_limits
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
@pytest.mark.parametrize("size", [0, 5000])
def test_a_full_disk_leaves_nothing(suffix: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    done = limited(WRITE_ON_A_FULL_DISK, path, size, HEADER, limit=4e9)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.startswith(f"{path}: cannot be written: ")
    assert len(done.stdout.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\n",
        json.dumps(HEADER).encode() + b'\n{"id": "\xff"}\n',
        json.dumps(HEADER).encode() + b"\n" + b"[" * 100_000 + b"\n",
        json.dumps(HEADER).encode() + b'\n{"id": ' + b"9" * 5000 + b"}\n",
        json.dumps(HEADER).encode() + b'\n{"id": "' + b"x" * 100_000 + b'", "question": 1}\n',
        b"\x1f\x8b\xff\xff",
        b"PAR1",
        b"PAR1" + b"\xff" * 50 + b"PAR1",
    ],
    ids=lambda text: text[-30:],
)
def test_a_damaged_file_is_one_line(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(text)
    with pytest.raises(SemtropyError, match=r"run\.jsonl") as caught:
        write_recording(tmp_path / "out.jsonl", HEADER, read_recording(path).rows)
    assert one_line(caught.value)
    assert not (tmp_path / "out.jsonl").exists()


# --- odd Parquet columns ---------------------------------------------------------------------------------------


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A Parquet recording in which one row was changed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_recording(path, HEADER, [ROW, {**ROW, "id": "q2", "answer": {"text": "4", "correct": None}}])
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows[1])
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.update(extra="not JSON"), "row 1, extra: is not what semtropy writes there"),
        (lambda row: row.update(extra="5"), "extra: is not what semtropy writes there"),
        (lambda row: row.update(extra="[{}, 5]"), "extra: is not what semtropy writes there"),
        (lambda row: row.update(extra="[" * 50_000), "extra: is not what semtropy writes there"),
        (lambda row: row.update(extra="[[], [[]]]"), "extra: is not what semtropy writes there"),
        (lambda row: row["samples"][0].update(extra="[1]"), "extra: is not what semtropy writes there"),
        (lambda row: row["answer"].update(extra="nul"), "extra: is not what semtropy writes there"),
        (lambda row: row.update(samples=None), "row 2, samples: is missing: expected a list of samples"),
        (lambda row: row.update(samples=[None]), r"row 2, samples\[0\].text: is missing"),
        (lambda row: row.update(id=None), "row 2, id: is missing: expected text"),
        (lambda row: row["samples"][0].update(text=None), r"samples\[0\].text: is missing"),
        (lambda row: row["samples"][0].update(logprob=float("nan")), r"samples\[0\].logprob: expected"),
        (lambda row: row["samples"][0].update(token_logprobs=[None]), r"token_logprobs\[0\]: expected"),
        (lambda row: row["samples"][0].update(meaning=-1), r"samples\[0\].meaning: expected"),
    ],
)
def test_odd_values_in_parquet_are_named(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    path = changed(tmp_path / "run.parquet", change)
    with pytest.raises(RecordingError, match=message) as caught:
        read_recording(path)
    assert one_line(caught.value)
    assert "run.parquet" in str(caught.value)


def test_bytes_that_are_no_text_in_parquet_are_named(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "run.parquet"
    write_recording(path, HEADER, [ROW])
    table = pq.read_table(path)
    broken = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    pq.write_table(table.set_column(table.schema.get_field_index("question"), "question", broken), path)
    with pytest.raises(RecordingError, match=r"run\.parquet: cannot be read as Parquet .*utf-8") as caught:
        read_recording(path)
    assert one_line(caught.value)


def test_columns_of_others_are_not_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "run.parquet"
    write_recording(path, HEADER, [ROW])
    table = pq.read_table(path)
    for k in range(50):
        table = table.append_column(f"own {k}", pa.array([[k]]))
    pq.write_table(table, path)
    assert known(read_recording(path).rows[0]) == known(ROW)


def test_texts_and_nulls_survive_parquet(tmp_path: Path) -> None:
    samples = [
        {"text": "a", "tokens": ["x", "x", "y"], "extra": "e"},
        {"text": "a", "tokens": []},
        {"text": "", "tokens": None, "note": None},
    ]
    answer = {"text": "a", "token_logprobs": [-0.5], "correct": None, "meaning": 3}
    rows = [
        {**ROW, "id": str(k), "references": ["a", "a"] * k, "samples": samples[:k], "answer": answer}
        for k in range(4)
    ]
    write_recording(tmp_path / "run.parquet", HEADER, rows)
    assert [known(row) for row in read_recording(tmp_path / "run.parquet")] == known(rows)


def test_lists_may_be_spelled_in_the_older_way(tmp_path: Path) -> None:
    """Other programs call the elements of a list `item`."""
    import pyarrow.parquet as pq

    path = tmp_path / "run.parquet"
    row = {**ROW, "references": ["4"], "samples": [{"text": "4", "tokens": ["a", "b"]}]}
    write_recording(path, HEADER, [row])
    pq.write_table(pq.read_table(path), path, use_compliant_nested_type=False)
    assert known(read_recording(path).rows[0]) == known(row)


def test_a_footer_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    write_recording(path, HEADER, [ROW])
    whole = path.read_bytes()
    for at in range(len(whole) - 600, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(RecordingError):  # some bytes do not matter
            assert len(read_recording(path)) == 1

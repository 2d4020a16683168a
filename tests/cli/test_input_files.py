"""Files that options name: every odd one is one line that names it, and no command replaces its own input."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limited import limited
from recordings_made import graded_recording
from semtropy import Prior
from semtropy.calibration import Calibration, Logistic
from semtropy.cli import main
from semtropy.errors import InputError, RecordingError
from semtropy.recording import open_recording, write_recording
from semtropy.study.generate.datasets import read_records

COMMAND = (sys.executable, "-c", "import sys; from semtropy.cli import main; sys.exit(main())")
OPTIONS = {
    "check --file": "check --model scripted:SCRIPT --judge exact --file ODD",
    "check --messages": "check --model scripted:SCRIPT --judge exact --messages ODD",
    "check --schema": "check Who? --model scripted:SCRIPT --schema ODD",
    "check --tools": "check Who? --model scripted:SCRIPT --tools ODD",
    "check --prior": "check Who? --model scripted:SCRIPT --prior ODD",
    "check --calibration": "check Who? --model scripted:SCRIPT --calibration ODD",
    "check --model": "check Who? --model scripted:ODD",
    "score": "score ODD",
    "score --prior": "score RECORDING --prior ODD",
    "score --calibration": "score RECORDING --calibration ODD",
    "serve": "serve --config ODD",
    "generate": "generate --dataset ODD --model scripted:SCRIPT --out RUN",
    "import csv": "import csv ODD OUT",
    "import uqlm": "import uqlm ODD OUT",
    "import paper": "import paper ODD OUT",
    "import nature": "import nature ODD OUT",
}
ODD = {
    "deep": b"[" * 100_000,
    "latin-1": b'{"a": "\xe9"}',
    "UTF-16": '[{"a": 1}]'.encode("utf-16"),
    "empty": b"",
    "NUL": b"\0",
    "number": b"-1" + b"0" * 5000,
    "truncated": b'{"semtropy_prior": 2, "samples": [',
}
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads the memory of a process as Linux tells it"
)
ONE_PROMPT = {"deep", "NUL", "number", "truncated"}  # a text file of prompts may hold anything


@pytest.fixture
def words(tmp_path: Path) -> dict[str, str]:
    script = tmp_path / "script.json"
    script.write_text('{"*": {"A": 1.0}}')
    places = {
        "SCRIPT": script,
        "RUN": tmp_path / "run",
        "OUT": tmp_path / "out.jsonl",
        "ODD": tmp_path / "odd.json",
        "TEXT": tmp_path / "odd.txt",
    }
    places["RECORDING"] = Path(graded_recording(tmp_path / "g.jsonl"))
    return {name: str(path) for name, path in places.items()}


def filled(command: str, words: dict[str, str]) -> list[str]:
    for name, path in words.items():
        command = command.replace(name, path)
    return command.split()


def one_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) in (1, 2)
    said = capsys.readouterr()
    assert said.out == ""
    [line] = said.err.splitlines()
    assert len(line) < 700
    return line


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_odd_file_is_one_line(
    option: str, odd: str, words: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    if option == "serve" and odd == "empty":
        return  # no settings
    Path(words["ODD"]).write_bytes(ODD[odd])
    assert "odd.json" in one_line(filled(OPTIONS[option], words), capsys)
    assert not Path(words["OUT"]).exists()


@pytest.mark.parametrize("odd", ODD)
def test_a_text_file_of_prompts_may_hold_anything_that_is_text(
    odd: str, words: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(words["TEXT"]).write_bytes(ODD[odd])
    command = filled("check --model scripted:SCRIPT --judge exact --file TEXT", words)
    if odd in ONE_PROMPT:
        assert main(command) == 0
    else:
        assert "odd.txt" in one_line(command, capsys)


@pytest.mark.parametrize("place", ["FOLDER", "LOOP", "LONG"])
@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_a_place_that_is_no_file_is_one_line(
    option: str, place: str, words: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, loop = tmp_path / "folder", tmp_path / "loop"
    folder.mkdir()
    if place == "LOOP":
        if os.name != "posix":
            return  # links need a permission there
        loop.symlink_to(loop)
    words["ODD"] = str({"FOLDER": folder, "LOOP": loop, "LONG": tmp_path / ("x" * 300)}[place])
    one_line(filled(OPTIONS[option], words), capsys)


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_a_byte_order_mark_is_no_part_of_a_prompt(
    how: str, words: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = "\ufeffWho?\r\nWhere?\r\n".encode()
    Path(words["TEXT"]).write_bytes(marked)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(marked)))
    command = filled("check --model scripted:SCRIPT --judge exact --json --file", words)
    assert main([*command, words["TEXT"] if how == "file" else "-"]) == 0
    asked = [json.loads(line)["question"] for line in capsys.readouterr().out.splitlines()]
    assert asked == ["Who?", "Where?"]


def test_a_prompt_ends_at_a_line_break_only(
    words: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(words["TEXT"]).write_bytes("Who\u2028is it?\rWhere\x0c?\r\n\nWhen\x85?".encode())
    assert main(filled("check --model scripted:SCRIPT --judge exact --json --file TEXT", words)) == 0
    asked = [json.loads(line)["question"] for line in capsys.readouterr().out.strip().split("\n")]
    assert asked == ["Who\u2028is it?", "Where\x0c?", "When\x85?"]


def test_bytes_that_are_no_text_on_standard_input(
    words: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8", errors="surrogateescape")
    )
    command = filled("check --model scripted:SCRIPT --judge exact --file -", words)
    assert "--file -, line 1: is not UTF-8 text" in one_line(command, capsys)


@linux
def test_an_endless_device_takes_little_memory(words: dict[str, str]) -> None:
    """One process runs all commands: the most memory it ever had is that of the worst."""
    named = ("check --file", "check --schema", "score --prior", "import csv", "generate")
    commands = [filled(OPTIONS[option], {**words, "ODD": "/dev/zero"}) for option in named]
    code = (
        "import json\n"
        "from semtropy.cli import main\n"
        "for command in json.loads(sys.argv[1]): main(command)\n"
        "print(peak())"
    )
    done = limited(code, json.dumps(commands), limit=2e9)
    said = done.stderr.splitlines()
    assert len(said) == len(commands), done.stderr[-500:]
    assert all("/dev/zero" in line for line in said), said
    assert int(done.stdout) < 400_000


@pytest.mark.skipif(os.name != "posix", reason="files are locked and linked as on POSIX systems")
def test_a_pipe_is_no_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="is a pipe, and a recording is read more than once"):
        open_recording(tmp_path / "pipe")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is there on Linux only")
@pytest.mark.parametrize(
    "command",
    ["score RECORDING", "recording info RECORDING", "datasets", "check Who? --model scripted:SCRIPT"],
)
def test_a_full_disk_for_standard_output_is_one_line(command: str, words: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *filled(command, words)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "semtropy: the output: No space left on device"
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_characters_that_the_output_lacks_are_escaped(tmp_path: Path) -> None:
    row = {"id": "1", "question": "Où?", "samples": [{"text": "là", "meaning": 0}]}
    write_recording(tmp_path / "run.jsonl", {"semtropy_recording": 1, "model": "m"}, [row])
    done = subprocess.run(
        [*COMMAND, "meanings", str(tmp_path / "run.jsonl")],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert r"O\xf9?" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        "calibrate RECORDING --out RECORDING --estimator histogram",
        "calibrate RECORDING --out new.json --figure RECORDING --estimator histogram",
        "calibrate RECORDING --out new.png --estimator histogram",
        "prior fit RECORDING --out RECORDING",
        "evaluate RECORDING --folds 2 --json RECORDING",
        "import csv RECORDING RECORDING",
        "cluster RECORDING RECORDING --judge exact",
    ],
)
def test_no_command_replaces_its_own_files(
    command: str, words: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(words["RECORDING"]).read_bytes()
    command = command.replace("new.", f"{tmp_path}/new.")
    line = one_line(filled(command, words), capsys)
    assert "would be replaced" in line or "the output is the input" in line
    assert Path(words["RECORDING"]).read_bytes() == before
    assert not list(tmp_path.glob("new.*"))


CURVE: dict[str, Any] = {
    **Calibration(Logistic(1.0, -1.0), "bayes", 0.5, 0.1).to_dict(),
    "semtropy_calibration": 1,
}


@pytest.mark.parametrize(
    "changed",
    [
        {"slope": float("nan")},
        {"intercept": float("inf")},
        {"slope": 10**400},
        {"threshold": float("nan")},
        {"threshold": 7},
        {"kind": "isotonic", "knots": [0, float("nan")], "values": [0.1, 0.2]},
        {"kind": "isotonic", "knots": [0, 1], "values": [0.1, 7]},
    ],
)
def test_a_calibration_with_odd_numbers_is_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    path.write_text(json.dumps(CURVE))
    assert Calibration.load(path).threshold == 0.5
    path.write_text(json.dumps({**CURVE, **changed}))
    with pytest.raises(InputError, match=r"curve\.json"):
        Calibration.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ends", [10**400]), ("token_entropy", float("nan")), ("token_entropy", -(10**400))],
)
def test_a_prior_with_odd_numbers_is_refused(name: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "prior.json"
    Prior.default().save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(InputError, match=r"prior\.json: not a prior"):
        Prior.load(path)


def gzip_bomb(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(b" " * (1 << 20))


def wheel_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("q.jsonl", "w") as file:
        for _ in range(200):
            file.write(b" " * (1 << 20))


def parquet_bomb(path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"question": pa.array([None] * 5_000_000, pa.string())}), path)


def arrow_bomb(path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
    batch = pa.record_batch({"question": pa.array(["x" * 1000] * 1000)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        for _ in range(200):
            writer.write_batch(batch)


@pytest.mark.parametrize(
    ("name", "make", "inside"),
    [
        ("q.jsonl.gz", gzip_bomb, None),
        ("q.whl", wheel_bomb, "q.jsonl"),
        ("q.parquet", parquet_bomb, None),
        ("q.arrow", arrow_bomb, None),
    ],
)
def test_a_small_file_of_questions_does_not_unpack_to_much(
    name: str, make: Any, inside: str | None, tmp_path: Path
) -> None:
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 1_000_000
    with pytest.raises(RecordingError, match=r"more than .* SEMTROPY_LIMITS=off"):
        list(read_records(tmp_path / name, inside=inside))


@pytest.mark.parametrize("offsets", [(0, 9, 4), (0, 4, 14), (0, 4, 60_000), (-1, 4, 9)])
def test_offsets_in_an_arrow_file_are_checked(offsets: tuple[int, ...], tmp_path: Path) -> None:
    """An offset beyond the texts would read other memory of the process into a question."""
    pa = pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
    path = tmp_path / "q.arrow"
    batch = pa.record_batch({"question": ["Who?", "When?"]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    assert [record.fields["question"] for record in read_records(path)] == ["Who?", "When?"]
    true, false = (np.array(each, dtype="<i4").tobytes() for each in ((0, 4, 9), offsets))
    assert path.read_bytes().count(true) == 1
    path.write_bytes(path.read_bytes().replace(true, false))
    with pytest.raises(RecordingError, match=r"q\.arrow: cannot be read as \.arrow"):
        list(read_records(path))


@linux
def test_a_long_text_stored_once_stays_one_object(tmp_path: Path) -> None:
    """A Parquet file of 40 kB whose column would take gigabytes as separate texts."""
    pa = pytest.importorskip("pyarrow", reason="the extra `study` is not installed")
    import pyarrow.parquet as pq

    once = pa.DictionaryArray.from_arrays(pa.array([0] * 12_000, pa.int32()), ["x" * 100_000])
    table = pa.table({"question": once})
    pq.write_table(
        table, tmp_path / "q.parquet", compression="zstd", store_schema=False
    )  # plain text to readers
    code = (
        "import pathlib, pyarrow.parquet\n"
        "from semtropy.study.generate.datasets import read_records\n"
        "print(len([row for row in read_records(pathlib.Path(sys.argv[1]))]), peak())"
    )
    done = limited(code, tmp_path / "q.parquet", limit=4e9)
    assert done.returncode == 0, done.stderr[-500:]
    rows, peak = map(int, done.stdout.split())
    assert rows == 12_000
    assert peak < 700_000

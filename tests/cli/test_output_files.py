"""Output files: complete or as before, whoever else writes there, whatever is there already."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from semtropy.files import replacing
from semtropy.recording import write_recording

HEADER = {"semtropy_recording": 1, "model": "m"}
ROW = {"id": "1", "question": "?", "samples": [{"text": "a"}]}
posix = pytest.mark.skipif(os.name != "posix", reason="files are locked and linked as on POSIX systems")

KILLED = """
import os, sys
from semtropy.recording import write_recording

def rows():
    yield {"id": "1", "question": "?", "samples": []}
    os.kill(os.getpid(), 9)

write_recording(sys.argv[1], {"semtropy_recording": 1, "model": "m"}, rows())
"""


@posix
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_what_a_killed_process_left_is_removed(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / f"out{suffix}"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    [left] = tmp_path.iterdir()
    assert left.name.endswith(".partial")
    (tmp_path / f".other{suffix}.1.partial").write_text("of another file")
    write_recording(path, HEADER, [ROW])
    assert {file.name for file in tmp_path.iterdir()} == {path.name, f".other{suffix}.1.partial"}


@posix
def test_what_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    code = "import sys; from semtropy.files import replacing\n" + (
        "with replacing(sys.argv[1]) as partial:\n"
        "    partial.write_text('theirs'); print('begun', flush=True); sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        with replacing(path) as partial:
            partial.write_text("ours")
        assert path.read_text() == "ours"
        other.communicate("go on\n", timeout=60)
    assert other.returncode == 0
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    path, file = tmp_path / "out.jsonl", tmp_path / "store" / "run.jsonl"
    path.symlink_to(file)
    write_recording(path, HEADER, [ROW])
    assert path.is_symlink()
    assert file.read_text().count("\n") == 2
    assert [each.name for each in file.parent.iterdir()] == ["run.jsonl"]


@posix
def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = "import sys; from semtropy.files import replacing\n" + (
        "with replacing(sys.argv[1]) as partial:\n    partial.write_text('through')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(pipe)]) as writer:
        assert pipe.read_text() == "through"
    assert writer.returncode == 0
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]

"""Output files of the study: complete or absent, and one line where they cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recordings_made import graded_recording
from semtropy.cli import main
from semtropy.errors import InputError, StoreError
from semtropy.files import check_output_file, replacing, write_file
from semtropy.study.evaluate import evaluate, write_study

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def recording(tmp_path: Path) -> str:
    return str(graded_recording(tmp_path / "graded.jsonl"))


def run(capsys: pytest.CaptureFixture[str], *command: object) -> str:
    """The one line that a command which fails prints."""
    assert main(list(map(str, command))) == 2
    said = capsys.readouterr()
    assert said.out == ""
    [line] = said.err.splitlines()
    return line


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where a recording is read: outputs are checked first."""

    def read(*arguments: object) -> None:
        raise AssertionError("the recording was read")

    monkeypatch.setattr("semtropy.study.evaluate.prepare.read_recording", read)
    monkeypatch.setattr("semtropy.study.calibrate.read_recording", read)


@pytest.mark.usefixtures("no_work")
def test_outputs_are_checked_before_the_work(
    tmp_path: Path, recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, missing = tmp_path / "folder", tmp_path / "missing" / "out.json"
    folder.mkdir()
    name = "give the name of a file"
    assert run(capsys, "evaluate", recording, "--json", folder) == f"semtropy: {folder} is a folder: {name}"
    assert run(capsys, "calibrate", recording, "--out", folder) == f"semtropy: {folder} is a folder: {name}"
    line = f"semtropy: {missing.parent} is not a folder: create it, or write out.json elsewhere"
    assert run(capsys, "evaluate", recording, "--json", missing) == line
    assert run(capsys, "calibrate", recording, "--out", missing) == line
    line = f"semtropy: {recording} is a file: give the name of a folder"
    assert run(capsys, "evaluate", recording, "--out", recording) == line
    figure = ["--out", tmp_path / "c.json", "--figure", folder]
    assert run(capsys, "calibrate", recording, *figure) == f"semtropy: {folder} is a folder: {name}"


def test_a_file_is_complete_or_as_before(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_file(path, "old")

    def fail_half_way() -> None:
        with replacing(path) as partial:
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.json", "old")]
    write_file(path, b"new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.json", "new")]


def test_a_folder_that_appears_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    check_output_file(path)
    path.mkdir()
    with pytest.raises(StoreError, match=r"out\.json: cannot be written: it is a folder"):
        write_file(path, "text")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="is a folder"):
        check_output_file(path)


def test_a_full_disk(
    mount: Callable[[str], Path], recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = mount("size=64k")
    command = ["evaluate", recording, "--folds", "2", "--seeds", "1", "--budgets", "1-2", "--processes", "1"]
    line = f"semtropy: {place / 'big'}: cannot be written: the disk is full."
    (place / "filler").write_bytes(b"x" * (60 << 10))
    assert main([*map(str, command), "--json", str(place / "big")]) == 1
    assert line in capsys.readouterr().err
    assert [file.name for file in place.iterdir()] == ["filler"]


def test_a_read_only_disk(mount: Callable[[str], Path], recording: str) -> None:
    results = evaluate([recording], folds=2, seeds=1, budgets=[1], estimators=["histogram"], bootstrap=0)
    with pytest.raises(StoreError, match="read-only, or there is no permission"):
        write_study(results, mount("ro") / "study")

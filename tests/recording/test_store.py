"""The store: rows whole or not at all, one writer, another run refused, and clear words when a disk fails."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.errors import RecordingError, StoreError
from semtropy.recording import open_recording, read_recording
from semtropy.recording import store as store_module
from semtropy.recording.formats import export, summarise, verify
from semtropy.recording.store import (
    Part,
    RecordingStore,
    checksum,
    encode_row,
    merge,
    read_manifest,
    row_lines,
    store_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NEWLINE = b"\n"
IDENTITY = {"model": "m", "prompt": "p", "dataset": "d", "temperature": 1.0}
HEADER = {"semtropy_recording": 1, "model": "m", "dataset": "d", "temperature": 1.0, "eos_included": True}


def row(number: int, text: str = "Paris") -> dict[str, Any]:
    samples = [{"text": text, "logprob": -0.5, "tokens": [7, 2]}]
    return {"id": f"q{number}", "index": number, "question": "Who?", "samples": samples}


def open_store(folder: Path, **changes: Any) -> RecordingStore:
    return RecordingStore(folder, identity={**IDENTITY, **changes}, header=HEADER)


def test_rows_come_back_in_the_order_of_the_questions(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.commit([row(2)])
        store.commit([row(0), row(1)])
        assert store.done == {"q0", "q1", "q2"}
    assert [held.id for held in read_recording(tmp_path)] == ["q0", "q1", "q2"]
    assert verify(tmp_path) == []


def test_a_row_is_written_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.commit([row(0)])
        store.commit([row(0, "another"), row(1)])
    with open_store(tmp_path) as store:
        store.commit([row(1, "another")])
    assert [json.loads(line)["samples"][0]["text"] for line in row_lines(tmp_path)] == ["Paris", "Paris"]


@pytest.mark.parametrize("key", sorted(IDENTITY))
def test_another_run_is_refused(tmp_path: Path, key: str) -> None:
    open_store(tmp_path).close()
    with pytest.raises(StoreError, match=f'another run: {key} was .*, is "other"'):
        open_store(tmp_path, **{key: "other"})
    open_store(tmp_path).close()  # the refusal let go of the lock


def test_two_writers_cannot_share_a_folder(tmp_path: Path) -> None:
    with open_store(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()} on .*one writer"):
        open_store(tmp_path)
    open_store(tmp_path).close()


def test_a_writer_in_another_process_is_seen_and_forgotten_when_it_dies(tmp_path: Path) -> None:
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[2]); import test_store as t; from pathlib import Path\n"
        "store = t.open_store(Path(sys.argv[1])); print('open', flush=True); time.sleep(60)"
    )
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", code, str(tmp_path), here]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=f"process {other.pid}"):
            open_store(tmp_path)
        other.kill()
        other.wait()
    open_store(tmp_path).close()


def test_packing_keeps_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "PACK_AFTER", 4)
    with open_store(tmp_path) as store:
        for number in range(11):
            store.commit([row(number)])
    assert [part.path.name[:4] for part in store_parts(tmp_path)] == ["pack", "pack", "part", "part", "part"]
    assert list(row_lines(tmp_path)) == [encode_row(row(number))[:-1] for number in range(11)]
    with open_store(tmp_path) as store:
        assert len(store.done) == 11


def test_a_kill_between_pack_and_removal_shows_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    for number in range(3):
        store.commit([row(number)])
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
    store.pack()
    monkeypatch.undo()
    store.close()
    assert len(list(tmp_path.glob("part-*"))) == 3
    assert len(list(row_lines(tmp_path))) == 3
    assert verify(tmp_path) == []
    with open_store(tmp_path) as again:
        again.commit([row(3)])
    assert len(list(tmp_path.glob("part-*"))) == 1
    assert len(list(row_lines(tmp_path))) == 4


def test_a_half_written_part_is_not_there(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.commit([row(0)])
    (tmp_path / "part-00000001-00000000.jsonl.tmp").write_bytes(b'{"id": "q1", "ques')
    assert len(list(row_lines(tmp_path))) == 1
    with open_store(tmp_path) as store:
        assert store.done == {"q0"}
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "cannot be written"),
        (errno.EIO, "nput/output error"),
    ],
)
def test_a_failing_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    store = open_store(tmp_path)
    store.commit([row(0)])

    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=words):
        store.commit([row(1)])
    monkeypatch.undo()
    assert not list(tmp_path.glob("*.tmp"))
    assert store.done == {"q0"}
    store.commit([row(1)])  # space was freed
    store.close()
    assert len(list(row_lines(tmp_path))) == 2
    assert verify(tmp_path) == []


def test_a_really_full_disk(mount: Callable[[str], Path]) -> None:
    folder = mount("size=256k") / "run"
    with open_store(folder) as store:
        fill = (store.commit([row(number, "x" * 20_000)]) for number in range(100))
        with pytest.raises(StoreError, match="the disk is full"):
            all(done is None for done in fill)
    kept = len(list(row_lines(folder)))
    assert kept > 3
    assert verify(folder) == []
    for part in store_parts(folder)[:2]:
        part.path.unlink()  # somebody frees space
    with open_store(folder) as store:
        assert len(store.done) == kept - 2
        store.commit([row(0, "x" * 20_000)])


def test_a_really_read_only_file_system(mount: Callable[[str], Path]) -> None:
    place = mount("size=256k")
    with open_store(place / "run") as store:
        store.commit([row(0)])
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    for folder in (place / "run", place / "new"):
        with pytest.raises(StoreError, match="read-only, or there is no permission"):
            open_store(folder)
    assert len(read_recording(place / "run")) == 1  # reading needs no writing
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    with open_store(place / "run") as store:
        store.commit([row(1)])
    assert verify(place / "run") == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(StoreError, match="it is a file, not a folder"):
        open_store(file)
    with pytest.raises(StoreError, match="it is a file, not a folder"):
        open_store(file / "below")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="read-only, or there is no permission"):
        open_store(locked / "run")


def test_a_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *arguments: Any, **options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match="choose another place"):
        open_store(tmp_path / "run")


def test_verify_names_a_changed_byte_a_twin_and_too_much_probability(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(3):
            store.commit([row(number)])
    first, second, third = (part.path for part in store_parts(tmp_path))
    first.write_bytes(first.read_bytes().replace(b"Paris", b"Parma"))
    twin = {**row(2), "samples": [{"text": t, "logprob": -0.1, "tokens": [k]} for k, t in enumerate("ab")]}
    data = encode_row(twin)
    third.with_name(f"part-00000003-{checksum(data)}.jsonl").write_bytes(data)
    faults = verify(tmp_path)
    assert len(faults) == 3
    assert "the file has changed" in faults[0]
    assert first.name in faults[0]
    assert "'q2' is already used in" in faults[1]
    assert "sum to 1.8097" in faults[2]
    with pytest.raises(RecordingError, match="the file has changed"):
        list(row_lines(tmp_path))
    assert second.exists()


def test_verify_names_a_part_that_is_missing(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in (0, 1, 2, 3):
            store.commit([row(number)])
    assert verify(tmp_path) == []
    parts = store_parts(tmp_path)
    for part in parts[1:3]:
        part.path.unlink()
    [fault] = verify(tmp_path)
    assert "part 00000001 to 00000002 is missing: run `semtropy generate` again" in fault
    with open_store(tmp_path) as store:  # asked again
        store.commit([row(1)])
        store.commit([row(2)])
    assert verify(tmp_path) == []
    parts[0].path.unlink()
    [fault] = verify(tmp_path)
    assert "part 00000000 to 00000002 is missing" in fault


@pytest.mark.skipif(os.name != "posix", reason="files are locked and linked as on POSIX systems")
@pytest.mark.parametrize("name", ["part", "manifest.json", "notes.json"])
def test_a_pipe_or_a_device_in_a_folder_is_named(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path) as store:
        store.commit([row(0)])
        store.remember("notes.json", {})
        path = store_parts(tmp_path)[0].path if name == "part" else tmp_path / name
        for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
            path.unlink()
            make(path)
            with pytest.raises((RecordingError, OSError), match="it is not a file"):
                store.recall(name) if name == "notes.json" else list(open_recording(tmp_path).rows)


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no manifest\.json"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(RecordingError, match=r"manifest\.json: not JSON"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text('{"semtropy_store": 99}')
    with pytest.raises(RecordingError, match="expected semtropy_store 1"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "part-00000000-00000000.jsonl").touch()
    with pytest.raises(StoreError, match="holds parts but no"):
        open_store(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (b"\xff\xfe\x00", "not JSON"),
        (b"[1, 2]", "expected semtropy_store 1"),
        (b'{"semtropy_store": 1, "identity": {}}', "header: expected an object"),
        (b'{"semtropy_store": 1, "header": []}', "header: expected an object"),
        (b'{"semtropy_store": 1, "header": {"semtropy_recording": 1}}', "identity: expected an object"),
        (
            b'{"semtropy_store": 1, "header": {"model": "m"}, "identity": {}}',
            "semtropy_recording: is missing",
        ),
        (
            b'{"semtropy_store": 1, "header": {"semtropy_recording": 1, "model": 3}, "identity": {}}',
            "model: expected text or null",
        ),
    ],
)
def test_a_wrong_manifest_is_named_by_every_reader(tmp_path: Path, manifest: bytes, words: str) -> None:
    (tmp_path / "manifest.json").write_bytes(manifest)
    for use in (
        read_manifest,
        read_recording,
        open_store,
        verify,
        summarise,
        lambda path: merge([path], "x"),
    ):
        with pytest.raises(RecordingError, match=rf"manifest\.json.*{words}"):
            use(tmp_path)


def test_keys_a_manifest_has_beyond_ours_are_kept(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "note": "ran on a Tuesday"}))
    with open_store(tmp_path) as store:
        store.commit([row(0)])
    assert read_manifest(tmp_path)["note"] == "ran on a Tuesday"
    assert read_recording(tmp_path).header.model == "m"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"[1]", "expected an object"),
        (b'{"id": "q', "is not JSON"),
        (b'{"question": "Who?", "samples": []}', "id: "),
        (b'{"id": "q", "question": "Who?", "samples": [{"text": 1}]}', r"samples\[0\]\.text"),
    ],
)
def test_a_part_with_a_wrong_row_is_named(tmp_path: Path, line: bytes, words: str) -> None:
    """Bytes that match their checksum, written by something else."""
    open_store(tmp_path).close()
    name = f"part-00000000-{checksum(line + NEWLINE)}.jsonl"
    (tmp_path / name).write_bytes(line + NEWLINE)
    with pytest.raises(RecordingError, match=rf"{name}, line 1.*{words}"):
        read_recording(tmp_path)
    [fault] = verify(tmp_path)
    assert name in fault
    if b'"id"' not in line or not line.endswith(b"}"):
        for use in (open_store, lambda path: merge([path], tmp_path / "all")):
            with pytest.raises(RecordingError, match="not a row"):
                use(tmp_path)


def test_a_reader_beside_a_packing_writer_sees_every_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "PACK_AFTER", 3)
    read = Part.read
    with open_store(tmp_path) as store:
        store.commit([row(0)])
        store.commit([row(1)])

        def pack_first(part: Part, *_: object) -> bytes:
            monkeypatch.setattr(Part, "read", read)
            store.commit([row(2)])  # the third: all are packed, the loose parts removed
            return read(part)

        monkeypatch.setattr(Part, "read", pack_first)
        assert [json.loads(line)["index"] for line in row_lines(tmp_path)] == [0, 1, 2]
        store.commit([row(3)])
        lines = row_lines(tmp_path)
        assert json.loads(next(lines))["index"] == 0
        store.commit([row(4)])
        store.commit([row(5)])  # packed again, while the reader is half way
        assert [json.loads(line)["index"] for line in lines] == [1, 2, 3]


def test_merging_shards(tmp_path: Path) -> None:
    for shard in range(3):
        with open_store(tmp_path / str(shard)) as store:
            store.commit([row(number) for number in range(9) if number % 3 >= shard])
    shards = [tmp_path / str(shard) for shard in range(3)]
    assert merge(shards, tmp_path / "all") == 9
    assert list(row_lines(tmp_path / "all")) == [encode_row(row(number))[:-1] for number in range(9)]
    assert merge(shards, tmp_path / "all") == 9  # again: nothing new

    with open_store(tmp_path / "stranger", model="other") as store:
        store.commit([row(0)])
    with pytest.raises(StoreError, match=r"another run than .*: they differ in model"):
        merge([shards[0], tmp_path / "stranger"], tmp_path / "new")
    with open_store(tmp_path / "liar") as store:
        store.commit([row(0, "Rome")])
    with pytest.raises(StoreError, match="the row 'q0' differs"):
        merge([shards[0], tmp_path / "liar"], tmp_path / "newer")
    with pytest.raises(StoreError, match="both a source and the target"):
        merge([shards[0]], shards[0])


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_export_and_summary(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / "run") as store:
        for number in (3, 1, 2, 0):
            store.commit([{**row(number), "answer": {"text": "x", "correct": number > 1}, "p_true": 0.5}])
    assert export(tmp_path / "run", tmp_path / name) == 4
    assert [held.id for held in read_recording(tmp_path / name)] == ["q0", "q1", "q2", "q3"]
    for place in (tmp_path / "run", tmp_path / name):
        summary = summarise(place)
        assert (summary.questions, summary.samples, summary.tokens) == (4, 4, 8)
        assert (summary.graded, summary.correct, summary.clustered, summary.p_true) == (4, 2, 0, 4)
        assert verify(place) == []
    assert summarise(tmp_path / "run").parts == 4


@given(text=st.text(), number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_row_comes_back_as_it_was(text: str, number: float) -> None:
    held = {"id": text, "index": 3, "question": text, "samples": [{"text": text, "logprob": number}]}
    line = encode_row(held)
    assert line.count(b"\n") == 1
    assert json.loads(line) == held
    assert store_module._index(line) == 3


def test_half_a_character_and_numbers_json_has_no_form_for() -> None:
    assert json.loads(encode_row({"id": "\ud800"})) == {"id": "\ud800"}
    with pytest.raises(RecordingError, match="'q' holds a number"):
        encode_row({"id": "q", "p_true": float("nan")})


# Writes rows until the n-th call that changes the disk, for every n in turn, and is killed there.
KILLED_AT_EVERY_CALL = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_store as t

t.store_module.PACK_AFTER = 5
text = lambda number: "x" * (number * 997 % 5000)

def write(kill_at):
    calls = 0
    def counted(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)
        return call
    os.fsync, Path.replace, Path.unlink = map(counted, (os.fsync, Path.replace, Path.unlink))
    with t.open_store(Path(sys.argv[1])) as store:
        for number in range(len(store.done), 100_000):
            store.commit([t.row(number, text(number))])

before = []
for kill_at in range(1, 45):
    child = os.fork()
    if child == 0:
        write(kill_at)
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    lines = list(t.row_lines(Path(sys.argv[1]))) if (Path(sys.argv[1]) / "manifest.json").exists() else []
    assert lines[: len(before)] == before, "rows finished before are the same, byte for byte"
    assert lines == [t.encode_row(t.row(n, text(n)))[:-1] for n in range(len(lines))], "no row is torn"
    before = lines
print(len(before))
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_killed_at_every_call_no_row_is_torn(tmp_path: Path) -> None:
    """SIGKILL before each sync, rename and removal of commits and packs."""
    command = [sys.executable, "-c", KILLED_AT_EVERY_CALL, str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100  # rows that were written between the kills
    assert verify(tmp_path) == []

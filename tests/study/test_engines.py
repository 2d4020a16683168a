"""`--engine` of the commands that judge and measure recordings, where there is no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.study import example_recording
from semtropy.study.engines import load_work_engine

COMMANDS = {
    "cluster": ["cluster", "IN", "OUT", "--judge", "exact"],
    "relate": ["relate", "IN", "OUT", "--judge", "exact"],
    "score": ["score", "IN"],
    "evaluate": ["evaluate", "IN", "--json", "OUT"],
}


def words(command: str, out: Path) -> list[str]:
    return [{"IN": str(example_recording()), "OUT": str(out)}.get(word, word) for word in COMMANDS[command]]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_ray_one_sentence_names_the_extra(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main([*words(command, tmp_path / "out.jsonl"), "--engine", "ray"]) == 1
    said = capsys.readouterr()
    assert said.err == "semtropy: this needs the extra ray (package ray): pip install 'semtropy[ray]'\n"
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["cluster", "relate"])
def test_a_cache_is_of_one_machine(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = ["--cache", str(tmp_path / "judgements.sqlite")]
    assert main([*words(command, tmp_path / "out.jsonl"), *cache, "--engine", "ray"]) == 2
    assert "--cache is a file of one machine" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(InputError, match="choose one of local, ray"):
        load_work_engine("slurm")


KILLED = """
import os
from semtropy.study.evaluate.run import parallel_map

def work(number):
    return number

if __name__ == "__main__":
    with parallel_map(2, None) as run:
        print(*run("step", work, range(4)), flush=True)
        os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pickle.py").write_text("print('a file of the working directory ran', flush=True)")
    # Workers hold the other end of the pipe: this returns once the last of them has ended.
    command = [sys.executable, script]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (-9, "0 1 2 3\n"), done.stderr

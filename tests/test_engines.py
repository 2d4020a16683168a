"""`--engine` of the commands that judge and measure recordings, where there is no cluster."""

from __future__ import annotations

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
    assert said.err == "semtropy: this needs the package ray: pip install 'semtropy[ray]'\n"
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["cluster", "relate"])
def test_a_cache_is_of_one_machine(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = ["--cache", str(tmp_path / "judgements.sqlite")]
    assert main([*words(command, tmp_path / "out.jsonl"), *cache, "--engine", "ray"]) == 1
    assert "--cache is a file of one machine" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(InputError, match="choose one of local, ray"):
        load_work_engine("slurm")

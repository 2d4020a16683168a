"""The scorer in `inspect eval` on a mock model, and logs with epochs as recordings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs inspect_ai: pip install 'semtropy[inspect]'")

from inspect_ai.log import list_eval_logs, read_eval_log
from tools.markdown import blocks

from semtropy import read_recording
from semtropy.cli import main

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.filterwarnings("ignore")


def page(language: str) -> str:
    text = (ROOT / "docs" / "integrations" / "inspect.md").read_text()
    return next(block.code for block in blocks(text) if block.language == language)


def inspect(folder: Path, *arguments: str) -> tuple[Any, str]:
    """Run the real command; the last log it wrote, and what it printed."""
    (folder / "capitals.py").write_text(page("python"))
    environment = {**os.environ, "INSPECT_LOG_DIR": str(folder / "logs")}
    command = [sys.executable, "-m", "inspect_ai", *arguments, "--display", "plain"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return list_eval_logs(str(folder / "logs"))[0], done.stdout


def test_the_scorer_is_found_by_its_entry_point() -> None:
    if not [each for each in entry_points(group="inspect_ai") if each.name == "semtropy"]:
        pytest.skip("needs semtropy installed as a package: `make integrations` does that")


def test_a_task_scored_by_name(tmp_path: Path) -> None:
    test_the_scorer_is_found_by_its_entry_point()
    path, printed = inspect(tmp_path, "eval", "capitals.py")
    log = read_eval_log(path)
    assert log.status == "success", log.error
    scores = {sample.id: sample.scores["semantic_entropy"] for sample in log.samples or []}
    assert scores["known"].value > 0.5
    assert scores["made up"].value < 0.5
    assert scores["known"].metadata["outcome"] == "steady"
    assert scores["known"].explanation.startswith("Looks steady.")
    assert str(scores["silent"].value) == "nan", "unscored, and left out of the mean"
    (result,) = (each for each in log.results.scores if each.name == "semantic_entropy")
    assert result.metrics["mean"].value == pytest.approx(
        (scores["known"].value + scores["made up"].value) / 2
    )
    assert " ".join(page("text").split()) in " ".join(printed.split())


def test_epochs_become_a_recording(tmp_path: Path) -> None:
    test_the_scorer_is_found_by_its_entry_point()
    log, _ = inspect(tmp_path, "eval", "capitals.py", "--epochs", "4", "--no-score")
    path = tmp_path / "run.jsonl"
    assert main(["import", "inspect", str(log.name).removeprefix("file://"), str(path)]) == 0
    recording = read_recording(path)
    rows = {row.id: row for row in recording.rows}
    assert recording.header.dataset == "capitals"
    assert len(rows["known"].samples) == 3
    assert rows["known"].answer is not None
    assert rows["known"].answer.text == "Paris"
    assert json.loads(json.dumps(rows["known"]["references"])) == ["Paris"]


def test_a_file_that_is_no_log_is_named(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert main(["import", "inspect", str(tmp_path / "x.json"), str(tmp_path / "out.jsonl")]) == 1
    assert "x.json" in capsys.readouterr().err

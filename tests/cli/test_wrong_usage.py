"""Options that contradict each other, numbers out of range and files of the wrong kind: one line, before any work."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from semtropy.cli import main
from semtropy.study import example_recording


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a file of each kind."""
    monkeypatch.chdir(tmp_path)
    Path("paris.json").write_text(json.dumps({"*": {"Paris": 1.0}}))
    Path("year.json").write_text(json.dumps({"*": {'{"year": "1912"}': 1.0}}))
    Path("schema.json").write_text(json.dumps({"type": "object", "properties": {"year": {"type": "string"}}}))
    Path("role.json").write_text(json.dumps([{"role": "usr", "content": "Who?"}]))
    Path("questions.txt").write_text("Who?\nWhen?\n")
    Path("empty.jsonl").touch()
    Path("binary").write_bytes(b"\xff\xfe\x00\x80")
    shutil.copy(example_recording(), "run.jsonl.gz")
    return tmp_path


CHECK = ["check", "Who?", "--model", "scripted:paris.json"]
GENERATE = ["generate", "--dataset", "questions.txt", "--model", "scripted:paris.json", "--out", "out"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "--model"], "--model needs a value after it"),
        ([*CHECK, "--json=yes"], "--json takes no value, and 'yes' was given"),
        ([*CHECK, "--max", "3"], "--max may be one of --max-tokens, --max-samples"),
        ([*CHECK, "--file", "questions.txt"], "--file does not go with PROMPT: give one of them"),
        ([*CHECK, "--variance", "1", "--confidence", ".9"], "--confidence does not go with --variance"),
        (
            [*CHECK, "--second-base-url", "http://x/v1"],
            "--second-base-url and --second-when go with --second",
        ),
        ([*CHECK, "--second-when", "always"], "--second-base-url and --second-when go with --second"),
        ([*CHECK, "--max-seconds", "0"], "--max-seconds is 0.0: a limit must be positive"),
        ([*CHECK, "--seed", "-1"], "--seed is -1: give a whole number, 0 or more"),
        ([*CHECK, "--learned", "no/learned.json"], "no is not a folder"),
        ([*CHECK, "--config", "binary"], "binary, line 1: is not UTF-8 text"),
        (["check", "--messages", "role.json", "--model", "scripted:paris.json"], "give it the role user"),
        (["check", "Who?", "--schema", "schema.json", "--required", "yeer"], "did you mean year?"),
        (["demo", "--seed", "-1"], "--seed is -1"),
        ([*GENERATE, "--temperature", "-1"], "--temperature is -1.0: a number, 0 or more"),
        ([*GENERATE, "--temperature", "nan"], "--temperature is nan"),
        ([*GENERATE, "--grader", "exakt"], "no grader is called 'exakt': did you mean exact?"),
        ([*GENERATE, "--concurrency", "0"], "concurrency is 0"),
        ([*GENERATE, "--workers", "2"], "--workers goes with --engine ray"),
        ([*GENERATE, "--data", "questions.txt"], "--data goes with a dataset known by name"),
        (["generate", "--dataset", "empty.jsonl", *GENERATE[3:]], "empty.jsonl holds no question\n"),
        (["score", "run.jsonl.gz", "--gpus", "1"], "--gpus goes with --engine ray"),
        (["meanings", "run.jsonl.gz", "--limit", "-2"], "--limit is -2: at least 1"),
        (["meanings", "run.jsonl.gz", "--id", "x"], "it has no question with the id x"),
        (["label", "run.jsonl.gz", "--page", "--port", "99999"], "--port 99999: cannot listen there"),
        (["evaluate", "run.jsonl.gz", "--budgets", "5-2"], "--budgets is '5-2': a range goes up"),
        (["recording", "export", "run.jsonl.gz", "run.jsonl.gz"], "the output is the input"),
        (["cluster", "run.jsonl.gz", "out.txt"], "must end in .jsonl, .jsonl.gz or .parquet"),
    ],
)
def test_one_line_before_any_work(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name for path in folder.iterdir()}
    try:
        code = main(words)
    except SystemExit as stopped:  # of the parser
        code = stopped.code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert code == 2
    assert {path.name for path in folder.iterdir()} == before


def test_a_folder_without_answers_can_be_deleted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GENERATE, "--model-option", "colour=blue"]) == 2
    assert "has no option colour" in capsys.readouterr().err
    assert main(GENERATE) == 1
    assert "It has no answers yet: delete it, or choose another folder" in capsys.readouterr().err


def test_a_damaged_recording_is_no_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "empty.jsonl"]) == 1
    assert main(["recording", "verify", "empty.jsonl"]) == 1
    assert "empty.jsonl: 1 fault\n" in capsys.readouterr().out


def test_a_question_is_read_as_utf_8_whatever_the_locale(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = "Où?".encode().decode("ascii", "surrogateescape")
    assert main(["check", typed, *CHECK[2:], "--judge", "exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == "Où?"
    assert main(["check", "\udcff?", *CHECK[2:]]) == 2
    assert "the prompt is not UTF-8 text" in capsys.readouterr().err

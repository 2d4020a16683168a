"""Long answers in a terminal: the claims marked, the flagged ones listed, exit codes, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from semtropy.checking import Checker
from semtropy.cli import main
from semtropy.cli._terminal import draw_steps, draw_verdict, mark_claims

QUESTION = "Tell me about Ada."
GOOD = "Ada was born in 1815. Ada wrote a program. Ada died in 1852."


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.json"
    years = {f"Ada was born in {1700 + k}. Ada wrote book {k}. Ada had {k} cats.": 0.1 for k in range(10)}
    path.write_text(json.dumps({QUESTION: {GOOD: 1.0}, "Tell me about Bob.": years}))
    return f"scripted:{path}"


def run(script: str, *arguments: str) -> int:
    return main(["check", "--model", script, "--judge", "exact", "--seed", "1", *arguments])


def test_a_steady_paragraph(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(script, QUESTION) == 0
    assert "Looks steady: all 3 claims." in capsys.readouterr().out


def test_a_made_up_paragraph_is_flagged(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(script, "Tell me about Bob.", "--json") == 3
    data = json.loads(capsys.readouterr().out)
    assert data["flagged"]
    assert {claim["outcome"] for claim in data["claims"]} == {"flagged"}
    assert run(script, "Tell me about Bob.") == 3
    out = capsys.readouterr().out
    assert out.startswith("Do not trust any of the 3 claims.")
    assert 'flagged: "Ada wrote book' in out
    assert "not that it is wrong" in out


def test_claims_none_takes_the_answer_as_a_whole(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(script, QUESTION, "--claims", "none", "--json")
    data = json.loads(capsys.readouterr().out)
    assert data["claims"] == []
    assert data["meanings"]


def test_many_prompts_get_a_line_each(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text(f"{QUESTION}\nTell me about Bob.\n")
    assert run(script, "--file", str(prompts)) == 3
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("steady")
    assert "all 3 claims" in first
    assert "Do not trust any of the 3 claims" in second


def test_the_terminal_marks_the_claims(script: str) -> None:
    checker = Checker.load(model=script, judge="exact")
    steps = list(checker.stream("Tell me about Bob.", rng=1))
    console = Console(width=100, record=True, force_terminal=True, color_system="standard", file=None)
    with console.capture() as shown:
        console.print(draw_steps("Tell me about Bob.", steps, checker.terms))
        console.print(draw_verdict(checker.conclude(steps[-1])))
    assert "\x1b[4;31mAda was born in" in shown.get()
    assert "of the whole answer" in shown.get()
    assert mark_claims(steps[-1]).plain == steps[-1].answer.text


def test_show_groups_lists_all_claims(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(script, QUESTION, "--show-groups")
    assert 'steady: "Ada died in 1852." All 3 samples support it' in capsys.readouterr().out
    run(script, "Tell me about Bob.", "--show-groups")
    listed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("  | ")]
    assert "\n".join(listed).count("Ada wrote book") == 1  # each claim is listed once


def test_what_is_piped_has_the_answer_whose_claims_follow(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(script, "Tell me about Bob.")
    headline, answer, *_ = capsys.readouterr().out.splitlines()
    assert headline.startswith("Do not trust")
    assert answer.startswith("  | Ada was born in")

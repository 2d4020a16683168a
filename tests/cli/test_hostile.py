"""What an answer, a field, a name or an argument may contain: shown as it is, and it forges and breaks nothing."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from semtropy import Budget, Sample, check, stream
from semtropy.checking import Checker
from semtropy.cli import main
from semtropy.cli._terminal import LivePicture, draw_steps, draw_verdict
from semtropy.cli.progress import still_asking
from semtropy.models import ScriptedModel

ESCAPES = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202etxt\x7f\r"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MARKUP = ["[/b]", "[bold]x", "[link=http://evil.invalid]click[/link]", "[red", "a[0]", "\\[/b]", ":smile:"]
FORGED = "Paris\nsteady     99% again  0.00 nats   3 samples  Who? -> Forged"


def drawn(picture: Any) -> str:
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=200, color_system=None).print(picture)
    return out.getvalue()


@pytest.mark.parametrize("text", MARKUP)
def test_brackets_in_a_field_are_no_markup(text: str) -> None:
    answer = json.dumps({text: text})
    schema = {"type": "object", "properties": {text: {"type": "string"}}, "required": [text]}
    options: dict[str, Any] = {"judge": "exact", "schema": schema, "budget": Budget(samples=2)}
    model = ScriptedModel(default={answer: 1.0})
    terms = Checker.load(model=model, **options).terms
    steps = list(stream("Who?", model=model, **options))
    shown = drawn(draw_steps("Who?", steps, terms)) + drawn(draw_steps("Who?", steps[:1], terms))
    assert shown.count(text) >= 4
    assert "\x1b" not in shown


@pytest.mark.parametrize("text", MARKUP)
def test_brackets_in_an_answer_are_no_markup(text: str) -> None:
    model = ScriptedModel(default={text: 1.0})
    steps = list(stream(text, model=model, judge="exact"))
    verdict = check(text, model=model, judge="exact")
    terms = Checker.load(model=model, judge="exact").terms
    shown = drawn(draw_steps(text, steps, terms)) + drawn(draw_verdict(verdict))
    assert shown.count(text) >= 3
    assert "\x1b" not in shown


def test_an_answer_of_several_lines_forges_no_line_of_a_file_of_prompts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"*": {FORGED: 1.0}}))
    (tmp_path / "prompts.txt").write_text("What?\nWhen?\n")
    main(["check", "--file", f"{tmp_path}/prompts.txt", "--model", f"scripted:{tmp_path}/script.json"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all("Forged" in line for line in lines)


def test_an_answer_of_several_lines_forges_no_sentence_of_a_verdict() -> None:
    text = 'Paris".\nStopped: it is true.\n"'
    verdict = check("?", model=ScriptedModel(default={text: 1.0}), judge="exact", claims=None)
    assert "Stopped: it is true." in verdict.explain()
    assert sum(line.startswith("Stopped") for line in verdict.explain().splitlines()) == 1


def test_lines_in_a_field_do_not_hide_the_verdict() -> None:
    answer = json.dumps({"text": "a\nb\nc\nd"})
    model = ScriptedModel(default={answer: 1.0})
    verdict = check("?", model=model, judge="exact", schema={"type": "object"}, budget=Budget(samples=2))
    shown = drawn(draw_verdict(verdict))
    assert str(verdict.reason) in shown
    assert "text: a" not in shown


def test_no_escape_sequence_of_an_argument_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["check", "?", f"--{ESCAPES}"], [ESCAPES], ["check", "?", f"more{ESCAPES}"]):
        with pytest.raises(SystemExit):
            main(words)
    said = capsys.readouterr().err
    assert "owned" in said
    assert not CONTROL.search(said)


def test_no_escape_sequence_of_a_model_name_reaches_the_terminal() -> None:
    class Told(io.StringIO):
        def flush(self) -> None:
            done.append(self.getvalue())

    done: list[str] = []
    out = Told()
    with still_asking(f"openai:{ESCAPES}", [], out, first=0.0):
        while not done:
            pass
    assert "owned" in done[0]
    assert not CONTROL.search(done[0])
    picture = LivePicture(f"openai:{ESCAPES}[/b]", lambda: "")
    picture._since = float("-inf")
    shown = drawn(picture())
    assert "[/b]" in shown
    assert not CONTROL.search(shown)


def test_a_large_limit_on_samples_is_not_drawn_in_full() -> None:
    options: dict[str, Any] = {"judge": "exact", "budget": Budget(samples=10**9)}

    def ask(messages: Any, n: int, temperature: float) -> list[Sample]:
        return [Sample("a")] * n

    steps = list(stream("Who?", model=ask, **options))
    shown = drawn(draw_steps("Who?", steps, Checker.load(model=ask, **options).terms))
    assert len(shown) < 10_000
    assert "of at most 1000000000" in shown

"""`semtropy check` with a schema, tools or choices: output, exit codes, and what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from semtropy.checking import Checker
from semtropy.cli import main
from semtropy.cli._terminal import draw_steps, draw_verdict
from semtropy.models.scripted import ScriptedModel
from semtropy.verdict import Verdict

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["city", "year"],
}
ANSWERS = {json.dumps({"city": "Oslo", "year": year, "note": "\x1b[31m"}): 0.1 for year in range(1000, 1010)}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    tools = [{"name": "weather", "parameters": {"type": "object", "required": ["city"]}}]
    call = json.dumps({"tool_calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]})
    script = {"*": ANSWERS, "rain?": {call: 1.0}, "yes or no?": {"Yes.": 0.6, "yes": 0.4}}
    held = {"schema": SCHEMA, "tools": tools, "script": script, "list": [1], "prompts": None}
    paths = {name: tmp_path / f"{name}.json" for name in held}
    for name, path in paths.items():
        path.write_text("{" if held[name] is None else json.dumps(held[name]))
    return {name: str(path) for name, path in paths.items()}


def run(files: dict[str, str], *arguments: str) -> int:
    return main(
        ["check", "--model", f"scripted:{files['script']}", "--judge", "exact", "--seed", "1", *arguments]
    )


def test_the_fields_are_named_and_the_exit_code_is_that_of_a_flag(files: Any, capsys: Any) -> None:
    assert run(files, "When was Oslo founded?", "--schema", files["schema"]) == 3
    out = capsys.readouterr().out
    assert out.startswith("Do not trust: year.\n  city: Oslo (steady;")
    assert "\x1b" not in out


def test_json_has_the_fields(files: Any, capsys: Any) -> None:
    assert run(files, "Oslo?", "--schema", files["schema"], "--json") == 3
    verdict = Verdict.from_json(capsys.readouterr().out)
    assert verdict.untrusted == ("year",)


def test_required_decides_what_counts(files: Any, capsys: Any) -> None:
    assert run(files, "Oslo?", "--schema", files["schema"], "--required", "city, note") == 0
    assert capsys.readouterr().out.startswith(
        "Looks steady: city, note. Not required, and not to be trusted: year."
    )


def test_tools_and_choices(files: Any, capsys: Any) -> None:
    assert run(files, "rain?", "--tools", files["tools"]) == 0
    assert "weather.city: Oslo (steady" in capsys.readouterr().out
    assert run(files, "yes or no?", "--choices", "yes, no") == 0
    assert "0 judge calls" in capsys.readouterr().out


def test_a_file_of_prompts_names_the_fields_of_each(files: Any, capsys: Any, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Oslo?\nBergen?\n")
    assert run(files, "--file", str(prompts), "--schema", files["schema"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("flagged   Do not trust: year  ") for line in lines)


def test_groups_are_listed_by_field(files: Any, capsys: Any) -> None:
    run(files, "Oslo?", "--schema", files["schema"], "--show-groups")
    out = capsys.readouterr().out
    assert "\ncity:\n  " in out
    assert "\nyear:\n  " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schema", "nowhere.json"], "--schema nowhere.json: cannot be read: No such file or directory"),
        (["--schema", "{prompts}"], "prompts.json: is not JSON (expecting"),
        (["--schema", "{list}"], "list.json: expected a JSON schema, which is an object"),
        (["--tools", "{schema}"], "schema.json: expected a list of tools"),
        (["--choices", "yes"], "choices are yes: give at least two, all different"),
        (["--choices", "yes,,no"], "none of them empty"),
        (["--required", "city"], "it goes with schema or tools"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_place(
    files: Any, capsys: Any, arguments: Any, message: str
) -> None:
    assert run(files, "Oslo?", *(each.format(**files) for each in arguments)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("semtropy check: ")
    assert error.count("\n") == 1


def test_the_terminal_shows_a_table_of_fields() -> None:
    checker = Checker.load(model=ScriptedModel(default=ANSWERS), judge="exact", schema=SCHEMA)
    steps = list(checker.stream("Oslo?", rng=1))
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(draw_steps("Oslo?", steps, checker.terms))
    drawn = console.export_text()
    rows = [line.split() for line in drawn.splitlines()]
    assert ["city", "Oslo"] in [row[:2] for row in rows]
    assert [row[-1] for row in rows if row[:1] in (["city"], ["year"], ["(note)"])] == [
        "steady",
        "flagged",
        "steady",
    ]
    console.print(draw_verdict(checker.conclude(steps[-1])))
    assert "city: Oslo" not in console.export_text(), "the table has said it"
    early = Console(width=100, record=True, file=io.StringIO())
    early.print(draw_steps("Oslo?", steps[:1], checker.terms))
    assert "…" in early.export_text(), "a field that is not decided yet"

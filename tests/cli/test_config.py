"""Defaults from a file, the cost before and after a check, and names and addresses that are nearly right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import check, load_estimator, score
from semtropy.cli import main
from semtropy.errors import BadReply, InputError, SemtropyError
from semtropy.models import load_model


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"*": {"Paris": 1.0}}))
    return f"scripted:{path}"


def write(folder: Path, text: str) -> str:
    path = folder / "semtropy.toml"
    path.write_text(text)
    return str(path)


def test_the_file_sets_what_the_command_line_does_not(
    tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write(tmp_path, f'model = "{script}"\njudge = "exact"\nmax_samples = 3\n')
    arguments = ["check", "Capital?", "--config", config, "--estimator", "histogram", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 3
    assert main([*arguments, "--max-sa", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle = 'x'", "there is no option 'modle': did you mean model?"),
        ("zzz = 'x'", "there is no option 'zzz': choose from model"),
        ("model = 3", "model: expected text"),
        ("model = ", "is not TOML"),
    ],
)
def test_a_wrong_file_is_one_line(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "Capital?", "--config", write(tmp_path, text)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_file_of_the_working_directory_is_not_read_unasked(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    write(tmp_path, "modle = 'x'")
    assert main(["check", "Capital?", "--model", script, "--judge", "exact"]) == 0


def test_the_cost_before_and_after(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "Capital?", "--model", script, "--judge", "exact", "--price-per-token", "0.01"]
    assert main([*arguments, "--dry-run"]) == 0
    assert "at most 704 tokens" in capsys.readouterr().out
    main([*arguments, "--variance", "0", "--one-by-one", "--max-cost", "0.03"])
    said = capsys.readouterr().out
    assert "the limit on cost was reached" in said
    assert "Its 3 generated tokens cost 0.03" in said
    assert main([*arguments[:-2], "--max-cost", "0.03"]) == 2
    assert "--price-per-token" in capsys.readouterr().err


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(InputError, match="did you mean openai:gpt-4o-mini"):
        load_model("gpt-4o-mini")
    with pytest.raises(InputError, match="did you mean openai:gpt-4o"):
        load_model("opneai:gpt-4o")
    with pytest.raises(
        InputError, match="did you mean openai:qwen3:4b, with the address of the server as base URL"
    ):
        load_model("ollama/qwen3:4b")


def test_a_web_page_is_not_asked_for_twice() -> None:
    page = 200, {}, b"<!doctype html><p>Welcome"
    endpoint = ScriptedEndpoint(lambda prompt: {"Paris": 1.0}, lambda number, body: page)
    with serving(endpoint) as url, pytest.raises(BadReply, match="a web page"):
        load_model("openai:m", base_url=url).sample("Capital?", 1)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "Who?", "--judge", "bultin"], "no judge is called 'bultin': did you mean builtin?"),
        (["check", "Who?", "--judge", "Numeric"], "did you mean numeric?"),
        (["check", "Who?", "--judge", "nil:roberta"], "did you mean nli:roberta?"),
        (["check", "Who?", "--judge", "zzz"], "no judge is called 'zzz': choose one of builtin"),
        (["check", "Who?", "--estimator", "histogramm"], "did you mean histogram?"),
        (["check", "Who?", "--model", "opnai:x"], "did you mean openai:x?"),
        (["check", "Who?", "--claims", "sentence"], "--claims is 'sentence': did you mean sentences?"),
        (["score", "none.jsonl", "--judge", "bultin"], "did you mean builtin?"),
        (["cluster", "in.jsonl", "out.jsonl", "--judge", "exakt"], "did you mean exact?"),
        (["cluster", "in.jsonl", "out.jsonl", "--engine", "rays"], "--engine is 'rays': did you mean ray?"),
        (["meanings", "none.jsonl", "--judge", "exakt"], "did you mean exact?"),
        (["doctor", "--judge", "exakt"], "did you mean exact?"),
        (["import", "cvs", "in", "out"], "FORMAT is 'cvs': did you mean csv?"),
        (["models", "fetch", "smolm2"], "unknown weights 'smolm2': did you mean smollm2?"),
        (["models", "download"], "action is 'download': choose one of list, fetch, remove"),
        (["generate", "--dataset", "fact", "--model", "m", "--out", "o"], "did you mean facts?"),
    ],
)
def test_a_misspelt_name_is_wrong_usage(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(words)
    except SystemExit as stopped:  # of the parser
        code = stopped.code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert code == 2


def test_a_misspelt_name_in_python() -> None:
    with pytest.raises(InputError, match=r"no judge is called 'bultin': did you mean builtin\?"):
        check("Who?", model=lambda prompt: "Paris", judge="bultin")
    with pytest.raises(TypeError, match=r"no option estimater: did you mean estimator\?"):
        check("Who?", estimater="bayes")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prompt": b"Who?"}, "the prompt is of type bytes"),
        ({"model": lambda prompt: ["a", "b"]}, r"return the answer as text, or as a Sample"),
        ({"second": [1]}, "second has an answer of type int"),
        ({"tools": []}, "tools must be a list of at least one tool"),
        ({"tools": {}}, "tools must be a list of at least one tool"),
        ({"choices": []}, "choices are none: give at least two"),
        ({"claim_prior": "x.json"}, "claim_prior is 'x.json': give a ClaimPrior"),
        ({"model": "openai:x", "base_url": 3}, "base_url is of type int"),
        ({"model": "openai:x", "base_url": "http://127.0.0.1:1", "api_key": 3}, "api_key is of type int"),
    ],
)
def test_a_wrong_argument_in_python(options: dict[str, Any], said: str) -> None:
    given = {"prompt": "Who?", "model": lambda prompt: "Paris", "judge": "exact", **options}
    with pytest.raises(SemtropyError, match=said):
        check(given.pop("prompt"), **given)


def test_names_and_texts_of_the_wrong_type() -> None:
    for load in (load_model, load_estimator):
        with pytest.raises(InputError, match=r"is of type int|is called '3'"):
            load(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="texts is of type NoneType"):
        score(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean builtin"):
        score(["a", "b"], judge="bultin")

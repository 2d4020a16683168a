"""The assertion as promptfoo's Python runner calls it, and promptfoo itself where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from tools.markdown import blocks

import semtropy.integrations

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(semtropy.integrations.__file__).with_name("promptfoo.py")


def loaded() -> Any:
    """The file loaded by its path, as promptfoo does."""
    spec = spec_from_file_location("user_assertion", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def context(tmp_path: Path, prompt: str, answers: dict[str, float]) -> dict[str, Any]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"*": answers}))
    return {"prompt": prompt, "vars": {}, "config": {"model": f"scripted:{script}", "judge": "exact"}}


@pytest.mark.parametrize(
    "prompt", ["Capital of France?", '[{"role": "user", "content": "Capital of France?"}]', "[1, 2"]
)
def test_a_steady_output_passes_whatever_the_form_of_the_prompt(tmp_path: Path, prompt: str) -> None:
    found = loaded().get_assert("Paris", context(tmp_path, prompt, {"Paris": 1.0}))
    assert found["pass"] is True
    assert 0.5 < found["score"] <= 1
    assert found["named_scores"]["samples"] >= 0
    json.dumps(found)


def test_a_made_up_output_fails_with_the_reason(tmp_path: Path) -> None:
    found = loaded().get_assert("Paris", context(tmp_path, "Capital?", {"A": 0.3, "B": 0.3, "C": 0.4}))
    assert found["pass"] is False
    assert found["reason"].startswith("Likely made up.")


def test_the_line_for_the_configuration_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "semtropy.integrations.promptfoo"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"file://{FILE.resolve()}:get_assert"


def test_promptfoo_itself(tmp_path: Path) -> None:
    program = os.environ.get("SEMTROPY_PROMPTFOO") or shutil.which("promptfoo")
    if program is None:
        pytest.skip("needs promptfoo: npm install -g promptfoo")
    page = (ROOT / "docs" / "integrations" / "promptfoo.md").read_text()
    config, shown = (next(b.code for b in blocks(page) if b.language == kind) for kind in ("yaml", "text"))
    (tmp_path / "promptfooconfig.yaml").write_text(
        config.replace("file://PATH:get_assert", f"file://{FILE}:get_assert")
    )
    (tmp_path / "script.json").write_text('{"*": {"Paris": 0.97, "Lyon": 0.03}}')
    home = {
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(tmp_path),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
    }
    home |= {"PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1"}
    done = subprocess.run(
        [program, "eval", "--no-cache", "--no-table", "--output", "out.json"],
        cwd=tmp_path,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tmp_path / "out.json").exists(), done.stdout + done.stderr
    results = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    assert [each["success"] for each in results] == [True, False]
    assert "Looks steady." in json.dumps(results[0])
    assert "Likely made up." in json.dumps(results[1])
    assert shown.strip() in done.stdout

"""Workflows of the forge: valid, pinned down in what they may do, and made of make targets, which run anywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tools.release import release_problems

from json_schemas import validate

yaml = pytest.importorskip("yaml", reason="needs PyYAML: pip install pyyaml")

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def jobs(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())["jobs"]
    return found


def not_targets(steps: list[dict[str, Any]]) -> list[str]:
    """Steps that do something other than call a make target that is there."""
    commands = [step["run"] for step in steps if "run" in step]
    return [
        text
        for text in commands
        if not (m := re.fullmatch(r"make ([a-z]+)( [A-Z]+=\w+)*", text)) or m[1] not in TARGETS
    ]


def test_workflows_are_valid() -> None:
    found = validate("github-workflows", *FILES)
    assert len(FILES) >= 3
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_step_is_a_make_target(file: Path) -> None:
    for job in jobs(file).values():
        assert not_targets(job["steps"]) == []


def test_another_step_is_found() -> None:
    steps = [
        {"run": "make test"},
        {"run": "pip install x"},
        {"run": "make supper"},
        {"run": "make test && rm x"},
    ]
    assert not_targets(steps) == ["pip install x", "make supper", "make test && rm x"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_actions_are_pinned_by_hash(file: Path) -> None:
    """A tag can be moved to other code; a commit cannot. The comment says which version it is."""
    used = re.findall(r"uses: (.+)", file.read_text())
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), action


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_jobs_end_and_may_do_little(file: Path) -> None:
    """A job has a time limit; only what publishes may write, and no job has a secret of the index."""
    text = yaml.safe_load(file.read_text())
    assert text["permissions"]["contents"] == "read"
    assert all(job["timeout-minutes"] <= 60 for job in text["jobs"].values())
    secrets = set(re.findall(r"secrets\.(\w+)", file.read_text()))
    assert secrets <= {"GITHUB_TOKEN"}


def test_the_matrix_covers_systems_versions_and_kernels() -> None:
    matrix = jobs(ROOT / ".github" / "workflows" / "test.yml")["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["kernel"] == ["on", "off"]


def test_only_what_was_tried_is_published() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    assert set(release["publish"]["needs"]) == {"wheels", "source"}
    assert release["publish"]["permissions"] == {"id-token": "write"}
    assert all(release[name]["needs"] == "version" for name in ("wheels", "source", "image"))


def test_a_release_with_open_ends_is_refused() -> None:
    text = "## [Unreleased]\n\n- Something.\n\n## [1.2.0]\n\n- It works.\n"
    assert [each.split(":")[0] for each in release_problems("1.2.0", "1.2.0", text)] == [
        "the tag is 1.2.0 and the version is 1.2.0",
        "CHANGELOG.md has no section [1.2.0] with a date",
        "CHANGELOG.md",
    ]

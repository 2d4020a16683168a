"""The files a stranger meets first: valid by their schemas, in step, and with one source of addresses."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tools.front import citation, index_entries, llms_txt, mkdocs_yml, release_date

from json_schemas import validate
from semtropy import __version__

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"https?://(?:semtropy|forge)\.example[^\s\"')>\]]*")
SCHEMAS = {
    "CITATION.cff": "citation-file-format",
    ".github/dependabot.yml": "dependabot",
    ".github/ISSUE_TEMPLATE/config.yml": "github-issue-config",
    ".github/ISSUE_TEMPLATE/bug.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/idea.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/verdict.yml": "github-issue-forms",
}


@pytest.mark.parametrize("schema", sorted(set(SCHEMAS.values())))
def test_files_are_valid(schema: str) -> None:
    found = validate(schema, *(ROOT / name for name, kind in SCHEMAS.items() if kind == schema))
    assert found.returncode == 0, found.stdout + found.stderr


def test_an_invalid_file_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "CITATION.cff"
    wrong.write_text(citation(ROOT).replace("authors:\n  - name: The semtropy developers\n", ""))
    assert "'authors' is a required property" in validate("citation-file-format", wrong).stdout


def load_yaml(text: str) -> Any:
    return pytest.importorskip("yaml", reason="needs PyYAML: pip install pyyaml").safe_load(text)


def test_the_citation_names_the_version_and_the_paper() -> None:
    cited = load_yaml(citation(ROOT))
    assert cited["version"] == __version__
    assert cited["date-released"] == release_date(ROOT)
    assert [author["family-names"] for author in cited["references"][0]["authors"]] == [
        "Ciosek",
        "Felicioni",
        "Ghiassian",
    ]


def test_the_changelog_has_the_version_and_a_place_for_the_next() -> None:
    sections = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", __version__]


def test_nothing_stands_twice_in_the_changelog() -> None:
    rows = [row for row in (ROOT / "CHANGELOG.md").read_text().splitlines() if len(row) > 60]
    assert [row for row, times in Counter(rows).items() if times > 1] == []


def test_no_address_leads_nowhere() -> None:
    """`.example` is reserved: it is for names in tests and in lines that a reader fills in, never for the project's."""
    folders = ("docs", "src", "tools", "examples", "benchmarks", "training", ".github", ".ci")
    files = [*ROOT.iterdir(), *(file for name in folders for file in (ROOT / name).rglob("*"))]
    made = (ROOT / "training" / "build", ROOT / "training" / "raw")  # gigabytes where a judge was trained
    held = [
        file
        for file in files
        if file.is_file()
        and ".egg-info" not in str(file)
        and not any(file.is_relative_to(folder) for folder in made)
        and file.suffix not in {".so", ".pyd", ".onnx", ".gz", ".png"}
    ]
    found = [
        f"{file}: {address}"
        for file in held
        for address in ADDRESS.findall(file.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert len(held) > 200
    assert not found, "\n".join(found)


def test_every_page_of_the_index_is_in_the_navigation() -> None:
    entries = index_entries(ROOT)
    assert len(entries) > 20
    nav = load_yaml(mkdocs_yml(ROOT))["nav"]
    held = [
        path
        for section in nav
        for pages in section.values()
        if isinstance(pages, list)
        for one in pages
        for path in one.values()
    ]
    assert len(held) == len(set(held)) == len(entries)
    assert {"checking.md", "gateway.md", "project/vision.md", "project/changelog.md"} <= set(held)
    assert all((ROOT / path).is_file() for path in re.findall(r"\]\((.+?)\)", llms_txt(ROOT)))


def test_classifiers_name_the_versions_that_are_tested() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = [each.rpartition(" ")[2] for each in classifiers if re.search(r":: 3\.\d+$", each)]
    assert named == ["3.11", "3.12", "3.13", "3.14"]

"""The documentation site: built as `make site` builds it, and the checks of it shown to fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.front import index_entries, site_path
from tools.site import broken, build, stage, unsearchable

ROOT = Path(__file__).resolve().parents[2]


GUIDES = (
    "providers",
    "calibration",
    "cost",
    "gateway",
    "study",
    "custom",
    "many",
    "faq",
    "start",
    "kubernetes",
)
LISTS = {"glossary.md", "api.md", "cli.md", "json.md", "judge-card.md"}
FIRST_LINES = 24


def opening(text: str) -> list[str]:
    """What the beginning of a page lacks: a sentence after its title, and something to type."""
    rows = [row for row in text.splitlines()[:FIRST_LINES] if row.strip()]
    lacks = [] if rows[1][0].isalpha() or rows[1][0] in '`"' else ["a sentence"]
    return lacks + ([] if any(row.startswith("```") for row in rows) else ["a command"])


def test_every_page_opens_with_what_it_is_for_and_a_command() -> None:
    paths = [entry.path for entry in index_entries(ROOT) if not entry.path.startswith("..")]
    assert {f"{name}.md" for name in GUIDES} <= set(paths)
    found = {path: opening((ROOT / "docs" / path).read_text()) for path in paths if path not in LISTS}
    assert {path: lacks for path, lacks in found.items() if lacks} == {}
    assert opening("# Title\n\n## Next\n\ntext\n") == ["a sentence", "a command"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="needs Zensical: pip install zensical")
    return build(ROOT, tmp_path_factory.mktemp("site"))


def test_every_link_holds_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 20
    assert not list(broken(site))


def test_search_finds_every_page(site: Path) -> None:
    assert not list(unsearchable(site, [site_path(entry.path) for entry in index_entries(ROOT)]))
    items = json.loads((site / "search.json").read_text())["items"]
    assert any("Pitman-Yor" in item["text"] for item in items)


def test_a_page_outside_docs_is_on_the_site(site: Path) -> None:
    assert "project/changelog/" in (site / "index.html").read_text()
    assert (site / "project" / "changelog" / "index.html").is_file()


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="../gone/">x</a>', "leads to no file"),
        ('<a href="#gone">x</a>', "leads to no heading"),
        ('<a href="../other/#gone">x</a>', "leads to no heading"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="https://fonts.example/x.css">', "loads https://fonts.example/x.css"),
        ('<a href="../other/#here">x</a> <a href="https://example.org">y</a>', None),
    ],
)
def test_a_broken_site_is_noticed(tmp_path: Path, html: str, said: str | None) -> None:
    for name, text in {"one": html, "other": '<h1 id="here">Here</h1>'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(text)
    found = list(broken(tmp_path))
    assert (found == []) if said is None else said in found[0]


def test_a_page_that_search_misses_is_noticed(tmp_path: Path) -> None:
    items = [{"location": "checking/#in-a-shell", "text": "x" * 200}, {"location": "models/", "text": ""}]
    (tmp_path / "search.json").write_text(json.dumps({"items": items}))
    assert list(unsearchable(tmp_path, ["checking.md", "models.md"])) == [
        "models.md is not in the search index"
    ]


def test_files_that_pages_link_to_are_part_of_the_site(tmp_path: Path) -> None:
    stage(ROOT, tmp_path)
    text = (tmp_path / "study.md").read_text()
    assert "](files/src/semtropy/data/README.md)" in text
    assert (tmp_path / "files/src/semtropy/data/README.md").is_file()
    assert "](../" not in text

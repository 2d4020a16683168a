"""Files at the top of the project that repeat what is said elsewhere: CITATION.cff, llms.txt and mkdocs.yml.

They are made from pyproject.toml (name, description), CHANGELOG.md (the date of the version) and
docs/index.md (pages by reader), so that each fact has one place.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from semtropy import __version__

from .markdown import prose

__all__ = [
    "Entry",
    "citation",
    "front_pages",
    "index_entries",
    "llms_txt",
    "mkdocs_yml",
    "project",
    "release_date",
]

MADE = "# Made by `make docs` from {}."
ENTRY = re.compile(
    r"^- \[([^\]]+)\]\(([^)\s]+)\)(?::\s*(.*?))?(?=\n\n|\n- |\n#|\Z)", re.MULTILINE | re.DOTALL
)
SECTION = re.compile(r"^## +(.+)$", re.MULTILINE)
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of docs/index.md: its section, the page's title and path, and what the page is about."""

    section: str
    title: str
    path: str
    about: str


def project(root: Path) -> dict[str, object]:
    """The table `[project]` of pyproject.toml."""
    found: dict[str, object] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return found


def index_entries(root: Path) -> list[Entry]:
    """The pages that docs/index.md lists, in its order."""
    text = prose((root / "docs" / "index.md").read_text())
    parts = SECTION.split(text)[1:]
    return [
        Entry(section, title, path, " ".join(about.split()))
        for section, body in zip(parts[::2], parts[1::2], strict=True)
        for title, path, about in ENTRY.findall(body)
    ]


def release_date(root: Path) -> str:
    """The day of the present version in CHANGELOG.md."""
    days: dict[str, str] = dict(RELEASE.findall((root / "CHANGELOG.md").read_text()))
    return days[__version__]


def citation(root: Path) -> str:
    """CITATION.cff: how to cite the program, and the paper that its method starts from."""
    about = project(root)
    paper = """\
references:
  - type: article
    scope: The method that semtropy starts from.
    title: "Hallucination Detection on a Budget: Efficient Bayesian Estimation of Semantic Entropy"
    authors:
      - {given-names: Kamil, family-names: Ciosek}
      - {given-names: Nicolò, family-names: Felicioni}
      - {given-names: Sina, family-names: Ghiassian}
    journal: Transactions on Machine Learning Research
    year: 2025
    url: "https://openreview.net/forum?id=j2N2RuNdbC"
"""
    return f"""\
{MADE.format("pyproject.toml and CHANGELOG.md")}
cff-version: 1.2.0
message: If you use semtropy in your work, please cite it, and the paper below.
type: software
title: {about["name"]}
abstract: {json.dumps(about["description"])}
authors:
  - name: The semtropy developers
version: {__version__}
date-released: "{release_date(root)}"
license: {about["license"]}
keywords: {json.dumps(about["keywords"])}
{paper}"""


def llms_txt(root: Path) -> str:
    """llms.txt: what the project is and where each page is, for programs that read documentation."""
    about = project(root)
    lines = [f"# {about['name']}", "", f"> {about['description']}", "", *SUMMARY]
    section = None
    for entry in index_entries(root):
        if entry.section != section:
            section = entry.section
            lines += ["", f"## {section}", ""]
        note = f": {entry.about}" if entry.about else ""
        lines.append(f"- [{entry.title}]({page_address(entry.path)}){note}")
    return "\n".join(lines) + "\n"


SUMMARY = (
    "`pip install 'semtropy[all]'`; Python 3.11 or later. In Python: `semtropy.check(prompt, model=...)` returns a",
    "`Verdict`; `semtropy.score(texts)` scores answers you already have. In a shell: `semtropy check PROMPT`.",
    "`semtropy serve` is a gateway in front of an OpenAI-compatible endpoint. Entropy is in nats; unknown is None.",
)


def page_address(path: str) -> str:
    """A page of docs/index.md from the top of the project, where llms.txt is.

    >>> page_address("checking.md"), page_address("../VISION.md")
    ('docs/checking.md', 'VISION.md')
    """
    return posixpath.normpath(f"docs/{path}")


def site_address(name: str) -> str:
    """The address of a page of the site's source, from the site's root.

    >>> site_address("checking.md"), site_address("integrations/index.md"), site_address("index.md")
    ('checking/', 'integrations/', '')
    """
    stem = name.removesuffix(".md")
    return "" if stem == "index" else f"{stem.removesuffix('/index')}/"


def site_path(path: str) -> str:
    """The file of the site's source for a page that docs/index.md links to: pages from the top go to `project/`.

    >>> site_path("checking.md"), site_path("../SECURITY.md")
    ('checking.md', 'project/security.md')
    """
    return f"project/{path.removeprefix('../').lower()}" if path.startswith("../") else path


def mkdocs_yml(root: Path) -> str:
    """mkdocs.yml, which Zensical reads: the settings below, and a navigation in the order of docs/index.md."""
    about = project(root)
    lines = ["nav:", "  - Home: index.md"]
    section = None
    for entry in index_entries(root):
        if entry.section != section:
            section = entry.section
            lines.append(f"  - {json.dumps(section)}:")
        lines.append(f"      - {json.dumps(entry.title, ensure_ascii=False)}: {site_path(entry.path)}")
    head = f"""\
{MADE.format("pyproject.toml and docs/index.md")}
site_name: {about["name"]}
site_description: {json.dumps(about["description"])}
copyright: {about["license"]}
"""
    return head + SITE + "\n".join(lines) + "\n"


SITE = """\
docs_dir: docs
site_dir: site
theme:
  name: material
  font: false
  language: en
  features:
    - navigation.instant
    - navigation.tracking
    - navigation.top
    - navigation.footer
    - search.highlight
    - search.suggest
    - content.code.copy
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, toggle: {icon: lucide/sun, name: Dark}}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, toggle: {icon: lucide/moon, name: Light}}
markdown_extensions:
  - admonition
  - attr_list
  - md_in_html
  - tables
  - toc: {permalink: true}
  - pymdownx.highlight
  - pymdownx.inlinehilite
  - pymdownx.superfences
plugins:
  - search
extra_javascript:
  - javascripts/cost.js
"""


def front_pages(root: Path) -> dict[Path, str]:
    """Each of the three files, as it should be now."""
    return {
        root / "CITATION.cff": citation(root),
        root / "llms.txt": llms_txt(root),
        root / "mkdocs.yml": mkdocs_yml(root),
    }

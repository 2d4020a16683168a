"""What the docs show is there and runs. Whether generated pages are fresh is `make check`'s to say."""

from __future__ import annotations

import argparse
import ast
import doctest
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.api import (
    MOST,
    api_page,
    entry,
    private_examples,
    public_names,
    too_many,
    undescribed,
    undescribed_members,
    without_example,
)
from tools.checks import bad_commands, bad_links, pages, undocumented, unlisted
from tools.examples import ADAPTERS, adapter_names, private_uses
from tools.generated import cli_page
from tools.markdown import Block, blocks

from semtropy.cli import parser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page.relative_to(ROOT).as_posix() for page in pages(ROOT)]
PYTHON = [
    pytest.param(page, block, id=f"{page}:{block.line}")
    for page in PAGES
    for block in blocks((ROOT / page).read_text())
    if block.language in {"python", "py", "pycon"}
]


def missing_names(code: str) -> Iterator[str]:
    """What a piece of Python asks of semtropy and semtropy does not have."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.startswith(ADAPTERS):
                names = [f"{module.removeprefix(ADAPTERS)}.{alias.name}" for alias in node.names]
                yield from (ADAPTERS + name for name in names if name not in adapter_names())
            case ast.ImportFrom(module=str(module), level=0) if module.split(".")[0] == "semtropy":
                for alias in node.names:
                    if not hasattr(import_module(module), alias.name) and not find_spec(
                        f"{module}.{alias.name}"
                    ):
                        yield f"{module}.{alias.name}"
            case ast.Attribute(value=ast.Name(id="semtropy"), attr=name):
                if not hasattr(import_module("semtropy"), name) and not find_spec(f"semtropy.{name}"):
                    yield f"semtropy.{name}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert not list(bad_links(ROOT / page, ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_commands_exist(page: str) -> None:
    assert not list(bad_commands(ROOT / page, ROOT, parser()))


def test_every_command_and_option_says_what_it_does() -> None:
    assert not list(undocumented(parser()))


@pytest.mark.parametrize(("page", "block"), PYTHON)
def test_python_runs(page: str, block: Block) -> None:
    """Sessions (`>>>`) run and print what they say; other code compiles and asks only for names that exist."""
    if ">>>" in block.code:
        session = doctest.DocTestParser().get_doctest(block.code, {}, page, page, block.line)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        assert runner.run(session).failed == 0
    else:
        compile(block.code, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        assert not list(missing_names(block.code))


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_pages_use_public_names(page: str) -> None:
    found = list(private_uses((ROOT / page).read_text(), public_names()))
    assert not found, f"{page} uses what docs/api.md does not list: {', '.join(found)}"


def test_missing_names_are_found() -> None:
    code = "import semtropy\nfrom semtropy import Sample, Simple\nfrom semtropy import errors\nsemtropy.chekc('x')"
    assert sorted(missing_names(code)) == ["semtropy.Simple", "semtropy.chekc"]
    code = "from semtropy.integrations.langchain import SemtropyMiddleware, SemtropyMiddelware"
    assert list(missing_names(code)) == ["semtropy.integrations.langchain.SemtropyMiddelware"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with one page of docs."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "docs.py").touch()
    (tmp_path / "Makefile").write_text("demo: .venv\n\techo\n")
    return tmp_path


@pytest.fixture
def top() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="semtropy", description="All of it.")
    commands = made.add_subparsers()
    check = commands.add_parser("check", description="Check one.")
    check.add_argument("--judge", help="who compares")
    nested = commands.add_parser("models", description="The models.").add_subparsers()
    nested.add_parser("list", description="List them.")
    return made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a](b.md)", ["leads to no file"]),
        ("![a](images/b.svg)", ["leads to no file"]),
        ('<img src="images/b.svg">', ["leads to no file"]),
        ("[a](../../outside.md)", ["leads to no file"]),
        ("# Here\n[a](#there)", ["leads to no heading"]),
        ("# Over here!\n[a](#over-here) [b](page.md) [c](https://example.org/x) [d](../Makefile)", []),
        ("```md\n[a](b.md)\n```\n`[a](b.md)`", []),
    ],
)
def test_links_are_checked(small: Path, text: str, said: list[str]) -> None:
    page = small / "docs" / "page.md"
    page.write_text(text)
    found = list(bad_links(page, small))
    assert len(found) == len(said)
    assert all(words in sentence for words, sentence in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nsemtropy chekc 'a; semtropy b'\n```", ["no command chekc"]),
        ("```sh\nsemtropy check 'a' \\\n  --juge exact\n```", ["no option --juge"]),
        ("```console\n$ semtropy models lst\nsemtropy output\n```", ["no command models lst"]),
        ("Try `semtropy prove it`.", ["no command prove"]),
        ("Try `make supper`.", ["no target supper"]),
        ("```sh\nmake PYTHON=python3.12 demo && python -m tools.dcos\n```", ["no module tools.dcos"]),
        ("```sh\npython examples/none.py\n```", ["no examples/none.py"]),
        ("```sh\n# semtropy later\nX=1 semtropy check a --judge=exact | less\nsemtropy models list\n```", []),
        ("```sh\npython -m tools.docs\npython -m venv x\nmake demo\nsemtropy --help\n```", []),
        ("`semtropy.score` and `semtropy` and `semtropy check PROMPT [--judge J]`", []),
    ],
)
def test_commands_are_checked(small: Path, top: argparse.ArgumentParser, text: str, said: list[str]) -> None:
    page = small / "docs" / "page.md"
    page.write_text(text)
    found = list(bad_commands(page, small, top))
    assert len(found) == len(said), found
    assert all(words in sentence for words, sentence in zip(said, found, strict=True))


def test_without_any_command_all_are_unknown(small: Path) -> None:
    page = small / "docs" / "page.md"
    page.write_text("`semtropy check PROMPT`")
    assert len(list(bad_commands(page, small, argparse.ArgumentParser(prog="semtropy")))) == 1


def test_an_option_without_help_is_named(top: argparse.ArgumentParser) -> None:
    assert not list(undocumented(top))
    top.add_argument("--quietly")
    assert list(undocumented(top)) == ["semtropy: --quietly has no help"]


def test_the_command_page_has_every_command(top: argparse.ArgumentParser) -> None:
    page = cli_page(top)
    assert "## semtropy models list\n" in page
    assert "--judge JUDGE  who compares" in page


def test_the_interface_page_has_every_public_name() -> None:
    page = api_page()
    for module, names in public_names().items():
        assert f"\n## {module}\n" in page
        assert all(f"\n### {name}\n" in page for name in names)
    assert "### score\n\n```text\nscore(\n    texts: Sequence[str],\n" in page
    assert "| `question` | what was asked, which the judge reads with the answers |" in page


def test_the_interface_is_small() -> None:
    assert not list(too_many(public_names()))
    assert len(list(too_many({"semtropy": ["name"] * (MOST + 1)}))) == 1


def test_parameters_are_described() -> None:
    found = list(undescribed())
    assert not found, "\n".join(found)


def test_methods_and_constants_are_described() -> None:
    found = list(undescribed_members())
    assert not found, "\n".join(found)


def test_examples_use_public_names() -> None:
    found = list(private_examples())
    assert not found, "\n".join(found)


def test_public_names_have_an_example() -> None:
    found = list(without_example())
    assert not found, "\n".join(found)


@dataclass(frozen=True)
class Weighed:
    """A text and its weight.

    `text` is what was said.

    >>> Weighed("a").heavy
    False
    """

    text: str
    weight: float = 0.0  # in grams
    other: int | None = None

    @property
    def heavy(self) -> bool:
        """Whether it weighs a kilogram or more."""
        return self.weight >= 1000


def test_an_entry_has_all_that_is_known() -> None:
    made = "\n\n".join(entry("Weighed", Weighed))
    assert "Weighed(text: str, weight: float = 0.0, other: int | None = None)" in made
    assert "| `text` | what was said. |\n| `weight` | in grams |\n" in made
    assert "`other`" not in made
    assert "- `heavy`: Whether it weighs a kilogram or more." in made
    assert '```pycon\n>>> Weighed("a").heavy\nFalse\n```' in made


def test_the_index_has_every_page(small: Path) -> None:
    assert not list(unlisted(ROOT))
    (small / "docs" / "index.md").write_text("[Limits](limits.md#blind)")
    (small / "docs" / "limits.md").touch()
    (small / "docs" / "costs.md").touch()
    assert list(unlisted(small)) == [
        "docs/costs.md is not on docs/index.md: add it under the reader it is for"
    ]

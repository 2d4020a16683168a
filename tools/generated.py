"""The pages that are made from the code: the command line, the interface, and the list of pages."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from semtropy.cli import parser

from .api import MADE, api_page
from .markdown import summary, title

__all__ = ["cli_page", "commands", "generated", "index_page", "options"]

LIST_FROM, LIST_TO = "<!-- pages: made by `make docs` -->", "<!-- end of pages -->"
Parser = argparse.ArgumentParser


def generated(root: Path) -> dict[Path, str]:
    """Every generated page as it should be now."""
    docs = root / "docs"
    made = {docs / "cli.md": cli_page(parser()), docs / "api.md": api_page()}
    index = docs / "index.md"
    return {**made, index: index_page(index.read_text(), docs, made)}


def commands(top: Parser) -> dict[tuple[str, ...], Parser]:
    """Every command by its words, the top itself as `()`; nested ones after their parent."""
    found: dict[tuple[str, ...], Parser] = {(): top}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                found |= {(name, *words): nested for words, nested in commands(command).items()}
    return found


def options(command: Parser) -> Iterator[argparse.Action]:
    """What a command takes, but for its own sub-commands and what is hidden on purpose."""
    for action in command._actions:
        if not isinstance(action, argparse._SubParsersAction) and action.help != argparse.SUPPRESS:
            yield action


def cli_page(top: Parser) -> str:
    """`--help` of every command, at a fixed width."""
    parts = ["# The command line", MADE, "What `--help` prints, command by command."]
    with patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        for words, command in commands(top).items():
            parts.append(f"## {' '.join(('semtropy', *words))}")
            parts.append(f"```text\n{command.format_help().rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def index_page(text: str, docs: Path, made: dict[Path, str]) -> str:
    """The front page with its list of pages renewed."""
    pages = {page: page.read_text() for page in docs.rglob("*.md")} | made
    rows = sorted(
        f"- [{title(body) or page.stem}]({page.relative_to(docs).as_posix()}): {summary(body)}"
        for page, body in pages.items()
        if page != docs / "index.md"
    )
    before, _, rest = text.partition(LIST_FROM)
    _, _, after = rest.partition(LIST_TO)
    return f"{before}{LIST_FROM}\n" + "\n".join(rows) + f"\n{LIST_TO}{after}"

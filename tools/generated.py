"""The pages that are made from the code: the command line, the Python interface, JSON, and the files of `front`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from semtropy.cli import parser

from .api import MADE, api_page
from .front import front_pages
from .schemas import schema_pages

__all__ = ["cli_page", "commands", "generated", "options"]

Parser = argparse.ArgumentParser


def generated(root: Path) -> dict[Path, str]:
    """Every generated page as it should be now."""
    docs = root / "docs"
    return {
        docs / "cli.md": cli_page(parser()),
        docs / "api.md": api_page(),
        **front_pages(root),
        **schema_pages(root),
    }


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

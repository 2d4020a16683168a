"""The pages that are made from the code: the command line, the interface, and the list of pages."""

from __future__ import annotations

import argparse
import inspect
import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_origin
from unittest.mock import patch

import semtropy
from semtropy.cli import parser

from .markdown import summary, title

__all__ = ["api_page", "cli_page", "commands", "generated", "index_page", "options"]

MADE = "<!-- made by `make docs`: change the code, not this page -->"
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


def public_modules() -> list[ModuleType]:
    """`semtropy`, its modules, and the modules of its packages, nearest first; the commands have their own page."""
    names = ["semtropy"]
    for found in pkgutil.walk_packages(semtropy.__path__, "semtropy."):
        words = found.name.split(".")
        if not any(word.startswith("_") for word in words) and len(words) <= 3 and words[1:2] != ["cli"]:
            names.append(found.name)
    return [import_module(name) for name in sorted(names, key=lambda name: (name.count("."), name))]


def api_page() -> str:
    """Every public name with the first line of its docstring, once: where it is nearest to hand."""
    parts = [
        "# The Python interface",
        MADE,
        "Every public name. `help(name)` says more, with worked examples.",
    ]
    listed: set[int] = set()
    inside = False
    for module in public_modules():
        if module.__name__.count(".") > 1 and not inside:
            inside = True
            parts.append("# Inside the packages\n\nTheir modules, for those who need one part alone.")
        rows = []
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, ModuleType) or (callable(value) and id(value) in listed):
                continue
            listed.add(id(value))
            rows.append(f"- `{name}{signature(value)}`: {first_line(value)}")
        if rows:
            parts += [f"## {module.__name__}", first_line(module), "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def first_line(value: object) -> str:
    """The first line of a docstring; of a plain value, the value: its docstring would be its type's."""
    if isinstance(value, (tuple, str, int, float)):
        return f"`{value!r}`"
    if isinstance(value, dict):
        return ", ".join(f"`{key}`" for key in value)
    if get_origin(value) is not None:  # a name for a longer type: its docstring is not its own
        return "a type"
    return (inspect.getdoc(value) or f"a {type(value).__name__}").strip().splitlines()[0]


class _Elided:
    """Stands for a default whose own form may differ from machine to machine."""

    def __repr__(self) -> str:
        return "..."


def signature(value: object) -> str:
    """The parameters of a function by name, with their defaults; nothing for classes and values."""
    if not inspect.isroutine(value):
        return ""
    whole = inspect.signature(value)
    bare = [
        one.replace(annotation=one.empty, default=one.default if plain(one.default) else _Elided())
        for one in whole.parameters.values()
    ]
    return str(whole.replace(parameters=bare, return_annotation=whole.empty))


def plain(value: object) -> bool:
    """Whether a default prints the same everywhere."""
    return value in (None, inspect.Parameter.empty, ()) or isinstance(value, (bool, int, float, str))


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

"""What can be wrong with a page: a link to nowhere, a command that does not exist, an option without help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from .generated import commands, options
from .markdown import anchors, blocks, inline_code, links

__all__ = ["bad_commands", "bad_links", "pages", "shown_commands", "undocumented", "unlisted"]

SHELLS = {"sh", "bash", "shell", "console"}
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"", re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def pages(root: Path) -> list[Path]:
    """The pages a reader of the project sees."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def bad_links(page: Path, root: Path) -> Iterator[str]:
    """Links of `page` to files that are not there, or to headings they do not have."""
    for target in links(page.read_text()):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        place = f"{page.relative_to(root)}: the link {target}"
        if not file.exists() or not file.is_relative_to(root.resolve()):
            yield f"{place} leads to no file of the project"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{place} leads to no heading of {file.name}"


def unlisted(root: Path) -> Iterator[str]:
    """Pages of the docs that the index does not link to."""
    docs = root / "docs"
    listed = {target.partition("#")[0] for target in links((docs / "index.md").read_text())}
    for page in sorted(docs.rglob("*.md")):
        if (name := page.relative_to(docs).as_posix()) not in listed | {"index.md"}:
            yield f"docs/{name} is not on docs/index.md: add it under the reader it is for"


def shown_commands(text: str) -> Iterator[list[str]]:
    """The commands a page shows, as words: in shell blocks, and in inline code that starts with a program's name.

    >>> list(shown_commands("Then `make demo`, or:\\n```console\\n$ semtropy check 'a b' | less\\nParis\\n```\\n"))
    [['semtropy', 'check', '…'], ['less'], ['make', 'demo']]
    """
    for block in blocks(text):
        if block.language in SHELLS:
            rows = QUOTED.sub("…", block.code.replace("\\\n", " ")).splitlines()
            prompted = [row.removeprefix("$ ") for row in rows if row.startswith("$ ")]
            for row in prompted or ([] if block.language == "console" else rows):
                yield from (
                    words for part in re.split(r"[|;&]+", row.partition(" #")[0]) if (words := part.split())
                )
    for code in inline_code(text):
        words = QUOTED.sub("…", code.removeprefix("$ ")).split()
        if words[:1] in (["semtropy"], ["make"]) and len(words) > 1:
            yield words


def bad_commands(page: Path, root: Path, top: argparse.ArgumentParser) -> Iterator[str]:
    """Commands shown on `page` that would not run."""
    for words in shown_commands(page.read_text()):
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]
        reason = None
        match [words[0].rpartition("/")[2] if words else "", *words[1:]]:
            case ["semtropy", *rest]:
                reason = wrong_call(rest, top)
            case ["make", *rest]:
                reason = wrong_target(rest, root)
            case ["python" | "python3", "-m", module, *_]:
                reason = wrong_module(module, root)
            case ["python" | "python3", script, *_] if (
                script.endswith(".py") and not (root / script).exists()
            ):
                reason = f"there is no {script}"
        if reason:
            yield f"{page.relative_to(root)}: `{' '.join(words)}`: {reason}"


def wrong_call(words: list[str], top: argparse.ArgumentParser) -> str | None:
    """Why `semtropy words...` would be refused, as far as its command and options go."""
    known = commands(top)
    path: tuple[str, ...] = ()
    for word in words:
        if (*path, word) not in known:
            wants_command = not path or any(longer[:-1] == path for longer in known)
            if wants_command and re.fullmatch(r"[a-z][a-z-]*", word):
                return f"there is no command {' '.join((*path, word))}"
            break
        path = (*path, word)
    accepted = {string for action in known[path]._actions for string in action.option_strings}
    unknown = [option for option in OPTION.findall(" ".join(words)) if option not in accepted]
    return f"there is no option {unknown[0]}" if unknown else None


def wrong_target(words: list[str], root: Path) -> str | None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (root / "Makefile").read_text(), re.MULTILINE))
    asked = [word for word in words if re.fullmatch(r"[a-z][\w-]*", word)]
    missing = [word for word in asked if word not in targets]
    return f"the Makefile has no target {missing[0]}" if missing else None


def wrong_module(module: str, root: Path) -> str | None:
    """Why `python -m module` would fail, for modules of the project."""
    ours = {path.name for path in [*root.iterdir(), *(root / "src").iterdir()] if path.is_dir()}
    parts = module.split(".")
    if parts[0] not in ours | {"benchmarks", "training"}:
        return None
    for base in (root, root / "src"):
        path = base.joinpath(*parts)
        if path.with_suffix(".py").exists() or (path / "__main__.py").exists():
            return None
    return f"there is no module {module} to run"


def undocumented(top: argparse.ArgumentParser) -> Iterator[str]:
    """Commands without a description and options without help."""
    for words, command in commands(top).items():
        name = " ".join(("semtropy", *words))
        if not command.description:
            yield f"{name} has no description: give add_parser one"
        for action in options(command):
            if not action.help:
                yield f"{name}: {'/'.join(action.option_strings) or action.dest} has no help"

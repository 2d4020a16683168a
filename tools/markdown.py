"""Just enough Markdown to check our own pages: code blocks, inline code, links, headings."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Block", "anchor", "anchors", "blocks", "inline_code", "links", "prose"]

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^ *(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href)=\"([^\"]+)\"")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of code: its language, the words after it, its text and the line it begins on."""

    language: str
    words: tuple[str, ...]
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page.

    >>> blocks("Run:\\n```sh\\nmake test\\n```\\n")[0].code
    'make test\\n'
    """
    found = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        indent = len(match["indent"])
        code = "".join(
            row[indent:] if row[:indent].isspace() else row for row in match["code"].splitlines(True)
        )
        found.append(Block(language, tuple(words), code, text.count("\n", 0, match.start("code")) + 1))
    return found


def prose(text: str) -> str:
    """The page without its blocks of code, on the same lines."""
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def inline_code(text: str) -> list[str]:
    """What stands between single backquotes.

    >>> inline_code("Use `semtropy check` or `make demo`.")
    ['semtropy check', 'make demo']
    """
    return INLINE.findall(prose(text))


def links(text: str) -> list[str]:
    """Where the page points to.

    >>> links('See [the limits](limits.md#blind) and <img src="images/check.svg">.')
    ['limits.md#blind', 'images/check.svg']
    """
    without_code = INLINE.sub("", prose(text))
    return [first or second for first, second in LINK.findall(without_code)]


def anchor(heading: str, before: Counter[str]) -> str:
    """The `#name` a forge gives a heading; `before` counts the names given so far, for a repeated one gets a number.

    >>> before = Counter()
    >>> anchor("`semtropy check`, live", before), anchor("Names", before), anchor("NAMES", before)
    ('semtropy-check-live', 'names', 'names-1')
    """
    name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    before[name] += 1
    return name if before[name] == 1 else f"{name}-{before[name] - 1}"


def anchors(text: str) -> set[str]:
    """The `#names` of all headings of a page.

    >>> sorted(anchors("# What it costs\\n## Notes\\n## Notes"))
    ['notes', 'notes-1', 'what-it-costs']
    """
    before: Counter[str] = Counter()
    return {anchor(heading, before) for heading in HEADING.findall(prose(text))}

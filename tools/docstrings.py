"""Reads the docstrings of this project: a summary, paragraphs, a table of parameters or fields, and an example.

Parameters are described in a table of `name  description` rows (two spaces or more between the two), under a heading
such as `Parameters` or none; a sentence that begins with the name in backquotes counts as well. The field of a
dataclass may have a comment on its line instead.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

__all__ = ["Docstring", "constant_docstrings", "field_comments", "read"]

HEADING = re.compile(r"^(Parameters|Fields|Attributes|Arguments|Returns|Raises|Example|Examples):?$")
ROW = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \w+)*)(?: {2,}| ?: )(?P<text>\S.*)$")
RULE = re.compile(r"^-{3,}$")
SENTENCE = re.compile(r"(?<=[.:?!]) (?=[A-Z`])")


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring says, in parts."""

    summary: str
    paragraphs: tuple[str, ...]
    described: dict[str, str]  # parameters and fields
    returns: str
    example: str  # as in a Python session

    def paragraphs_with_summary(self) -> list[str]:
        """All prose, in order."""
        return [self.summary, *self.paragraphs]


def read(text: str, names: Collection[str] = ()) -> Docstring:
    """The parts of a docstring of something whose parameters or fields are called `names`.

    >>> found = read("Add up.\\n\\na, b   the summands\\nagain  add twice\\n\\n>>> 1 + 1\\n2", ["a", "b", "again"])
    >>> found.summary, found.described["b"], found.described["again"], found.example
    ('Add up.', 'the summands', 'add twice', '>>> 1 + 1\\n2')
    >>> read("Wait.\\n\\nWaits long. `seconds` is how long; None waits for ever.", ["seconds"]).described
    {'seconds': 'how long; None waits for ever.'}
    """
    described: dict[str, str] = {}
    prose: list[str] = []
    returns: list[str] = []
    examples: list[str] = []
    section = ""
    for block in filter(None, re.split(r"\n{2,}", inspect.cleandoc(text))):
        rows = block.splitlines()
        if found := HEADING.match(rows[0].strip()):
            section, rows = found[1], [row for row in rows[1:] if not RULE.match(row.strip())]
            if not rows:
                continue
        if rows[0].lstrip().startswith(">>>"):
            examples.append(textwrap.dedent("\n".join(rows)))
            section = ""
        elif section == "Returns":
            returns.append(" ".join(" ".join(rows).split()))
            section = ""
        elif table := _table(rows, names):
            described |= table
        else:
            prose.append("\n".join(rows))
    kept = [_without(paragraph, names, described) for paragraph in prose[1:]]
    summary = " ".join((prose or [""])[0].split())
    return Docstring(
        summary, tuple(one for one in kept if one), described, " ".join(returns), "\n\n".join(examples)
    )


def _table(rows: list[str], names: Collection[str]) -> dict[str, str] | None:
    """Rows of `name  description`, each with the lines that continue it; None where it is no such table."""
    rows = textwrap.dedent("\n".join(rows)).splitlines()
    table: dict[str, str] = {}
    latest: list[str] = []
    for row in rows:
        found = ROW.match(row)
        asked = [name.lstrip("*") for name in found["names"].split(", ")] if found else []
        if found and set(asked) <= set(names):
            latest = asked
            table |= dict.fromkeys(latest, found["text"].strip())
        elif latest and row.startswith("  "):
            table |= {name: f"{table[name]} {row.strip()}" for name in latest}
        else:
            return None
    return table or None


def _without(paragraph: str, names: Collection[str], described: dict[str, str]) -> str:
    """The paragraph without the sentences that describe one of `names`, which move to `described`."""
    if re.match(r"\s{2,}|[-*|]", paragraph):  # a formula, a list or a table
        return paragraph
    kept = []
    for sentence in SENTENCE.split(" ".join(paragraph.split())):
        found = re.match(r"`(\w+)` (?:is |are )?(?=\S)", sentence)
        if found and found[1] in names and found[1] not in described:
            described[found[1]] = sentence[found.end() :]
        else:
            kept.append(sentence)
    return " ".join(kept)


def constant_docstrings(module: ModuleType) -> dict[str, str]:
    """The strings below assignments of a module, and of the modules it takes constants from, by name."""
    found: dict[str, str] = {}
    tree = ast.parse(inspect.getsource(module))
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        match node, after:
            case ast.ImportFrom(module=str(name), level=level), _ if level:
                wanted = {alias.name for alias in node.names if alias.name.isupper()}
                if wanted:
                    whole = constant_docstrings(import_module("." * level + name, module.__package__))
                    found |= {one: whole[one] for one in wanted if one in whole}
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


def field_comments(kind: type) -> dict[str, str]:
    """Comments on the lines of a class's fields, by field: `theta: float  # concentration of the tail`."""
    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):
        return {}
    rows = source.splitlines()
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        comment = re.search(r"#:? (?!type:|noqa)(.+)$", rows[(node.end_lineno or 1) - 1])
        if comment:
            found[node.target.id] = comment[1].strip()
        if (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            found[node.target.id] = " ".join(after.value.value.split())
    return found

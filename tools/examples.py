"""Examples that stand alone: the imports a docstring's example needs, and the private names that documentation uses."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import semtropy

from .markdown import blocks, inline_code

__all__ = ["documented_in", "imports_for", "is_public", "private_uses", "source"]

Names = Mapping[str, list[str]]  # public module -> its public names
ADAPTERS = "semtropy.integrations."
DOTTED = re.compile(r"^semtropy(?:\.[A-Za-z_]\w*)+")


def source(example: str) -> str:
    """The code of a session, without prompts and output.

    >>> source(">>> 1 + 1\\n2\\n>>> x = 3")
    '1 + 1\\nx = 3\\n'
    """
    return "".join(one.source for one in doctest.DocTestParser().get_examples(example))


def unbound(code: str) -> list[str]:
    """Names that the code uses and neither binds nor imports, in order of first use.

    >>> unbound("from pathlib import Path\\nx = Path(name)\\nprint([x for y in z])")
    ['name', 'z']
    """
    tree = ast.parse(code)
    bound = set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {(one.asname or one.name).partition(".")[0] for one in names}
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    used.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(node.id for node in used if node.id not in bound))


def documented_in(value: object, public: Names) -> str | None:
    """The public module that documents `value`, None where it is private."""
    for module, names in public.items():
        if any(getattr(import_module(module), name) is value for name in names):
            return module
    return None


def imports_for(example: str, module: str, public: Names) -> tuple[list[str], list[str]]:
    """The imports that let `example`, from a docstring of `module`, run anywhere; and the private names it uses."""
    scope = vars(sys.modules[module])
    plain: list[str] = []
    members: dict[str, list[str]] = defaultdict(list)
    private = []
    for name in unbound(source(example)):
        value: Any = scope.get(name)
        if isinstance(value, ModuleType) and not value.__name__.startswith("semtropy"):
            plain.append(f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else ""))
        elif found := documented_in(value, public):
            members[found].append(name)
        elif (origin := str(getattr(value, "__module__", ""))) and not origin.startswith("semtropy"):
            members[origin].append(name)
        else:
            private.append(name)
    lines = [
        *plain,
        *(f"from {origin} import {', '.join(sorted(names))}" for origin, names in members.items()),
    ]
    return sorted(lines, key=lambda line: ("semtropy" in line, line)), private


@cache
def adapter_names() -> set[str]:
    """The modules of adapters and what they list in `__all__`, read from the source: most need another package.

    >>> "langchain.SemtropyMiddleware" in adapter_names()
    True
    """
    folder = Path(semtropy.__file__).parent / "integrations"
    found: set[str] = set()
    for file in folder.glob("*.py"):
        if file.name != "__init__.py":
            lists = [node for node in ast.parse(file.read_text()).body if _lists_names(node)]
            listed: list[str] = ast.literal_eval(lists[0].value) if lists else []
            found |= {file.stem, *(f"{file.stem}.{name}" for name in listed)}
    return found


def _lists_names(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def is_public(dotted: str, public: Names) -> bool:
    """Whether a dotted name is a public module or name, or a part of one.

    >>> public = {"semtropy": ["Verdict"], "semtropy.study.evaluate": ["evaluate"]}
    >>> [is_public(f"semtropy.{name}", public) for name in ("Verdict.explain", "study", "study.evaluate", "verdict")]
    [True, True, True, False]
    """
    if dotted.startswith(ADAPTERS) and dotted.removeprefix(ADAPTERS) in adapter_names():
        return True
    if any(module == dotted or module.startswith(f"{dotted}.") for module in public):
        return True
    module = max((one for one in public if dotted.startswith(f"{one}.")), key=len, default=None)
    if module is None:
        return False
    name = dotted.removeprefix(f"{module}.").partition(".")[0]
    home = import_module(module)
    return (
        name in public[module] or name in getattr(home, "__all__", ()) or name in {"__all__", "__version__"}
    )


def uses(code: str) -> Iterator[str]:
    """The dotted names of semtropy that a piece of Python imports or reaches for."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] == "semtropy":
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.ImportFrom(level=level) if level:
                yield f"semtropy.{ast.unparse(node)}"
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "semtropy")
            case ast.Attribute() if found := DOTTED.match(ast.unparse(node)):
                yield found[0]


def private_uses(text: str, public: Names) -> Iterator[str]:
    """Names of semtropy that a page uses, in code or in prose, though the interface does not document them.

    >>> public = {"semtropy": ["check"]}
    >>> page = "`semtropy.check`, `semtropy.errors`\\n```py\\nfrom semtropy.nouns import Belief\\n```"
    >>> list(private_uses(page, public))
    ['semtropy.errors', 'semtropy.nouns.Belief']
    """
    found = [match[0] for code in inline_code(text) if (match := DOTTED.match(code))]
    for block in blocks(text):
        if block.language in {"python", "py", "pycon"}:
            found += uses(source(block.code) if ">>>" in block.code else block.code)
    yield from (name for name in dict.fromkeys(found) if not is_public(name, public))

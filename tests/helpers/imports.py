"""Who imports whom in the package: every import, relative or absolute, lazy or for types."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import semtropy

Sources = Mapping[str, str]  # module name -> source; a package's name ends in ".__init__"


def read(folder: Path) -> dict[str, str]:
    """Every module under `folder`; a compiled one imports nothing that concerns us."""
    files = sorted(f for f in folder.rglob("*") if f.suffix in {".py", ".pyi", ".c"})
    return {
        ".".join(("semtropy", *f.relative_to(folder).with_suffix("").parts)): ""
        if f.suffix == ".c"
        else f.read_text()
        for f in files
    }


def imported(module: str, source: str, known: set[str]) -> Iterator[tuple[str, int]]:
    """The modules of the package that `module` imports, with the line; packages by their plain name."""
    for stem, name, line in _statements(module, source):
        yield from ((found, line) for found in resolve(stem, name, known))


@cache
def _statements(module: str, source: str) -> list[tuple[str, str, int]]:
    """Every `from stem import name` of a module, with its line."""
    package, found = module.rpartition(".")[0].split("."), []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                targets = [(alias.name, "") for alias in node.names]
            case ast.ImportFrom():
                base = package[: len(package) + 1 - node.level] if node.level else []
                stem = ".".join([*base, *([node.module] if node.module else [])])
                targets = [(stem, alias.name) for alias in node.names]
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if ast.unparse(node.func).endswith(
                "import_module"
            ):
                dots = len(name) - len(name.lstrip("."))
                base = package[: len(package) + 1 - dots] if dots else []
                targets = [(".".join([*base, *([name.lstrip(".")] if name.lstrip(".") else [])]), "")]
            case _:
                continue
        found += [(stem, name, node.lineno) for stem, name in targets]
    return found


def resolve(stem: str, name: str, known: set[str]) -> Iterator[str]:
    """`from stem import name` as a module: a submodule, the home of an export, or `stem` itself."""
    if stem.split(".")[0] != "semtropy":
        return
    if stem == "semtropy" and name in semtropy._HOME:
        yield f"semtropy.{semtropy._HOME[name]}"
    elif f"{stem}.{name}" in known:
        yield f"{stem}.{name}"
    elif stem != "semtropy":  # the top package itself holds nothing but exports and the version
        yield stem


def graph(sources: Sources) -> dict[str, dict[str, int]]:
    """Who imports whom, and where. The top package is left out: it points at everything, lazily."""
    plain = {name.removesuffix(".__init__"): name for name in sources if name != "semtropy.__init__"}
    return {
        name: {
            target: line for target, line in imported(module, sources[module], set(plain)) if target != name
        }
        for name, module in plain.items()
    }

"""Imports only go down the layers, and never round in a circle.

Every import counts: relative or absolute, at the top or inside a function, under TYPE_CHECKING, and
`import_module` of a name that stands in the source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import semtropy

# Top to bottom: each may import those before it. Three places differ from the order in which the design tells them:
# `recording` stands before `models` because `replay` answers from a recording, `models` before `meaning` because the
# `llm` judge asks a model, and `cli` comes last because `semtropy serve` starts the server.
LAYERS = (
    "errors",
    "input_files",
    "output_files",
    "numeric_checks",
    "conversation",
    "samples",
    "evidence_checks",
    "evidence",
    "nouns",
    "entropy",
    "estimators",
    "scorers",
    "calibration",
    "refusals",
    "stopping",
    "verdict_parts",
    "verdict",
    "pace",
    "steadiness",
    "tracing",
    "fields",
    "labelled",
    "mixed_belief",
    "step",
    "terms",
    "exchange",
    "inquiry",
    "conclusion",
    "recording",
    "models",
    "testing",
    "meaning",
    "structured",
    "options",
    "asking",
    "check",
    "score",
    "integrations",
    "study",
    "server",
    "cli",
)

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
    package = module.rpartition(".")[0].split(".")
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
        for stem, name in targets:
            yield from ((found, node.lineno) for found in resolve(stem, name, known))


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


def upward(sources: Sources) -> list[str]:
    """Every import that breaks the order, and every module without a place in it, as sentences."""
    found = []
    for name, targets in graph(sources).items():
        layer = name.split(".")[1]
        if layer not in LAYERS:
            found.append(f"{name} has no place among the layers: add {layer!r} to LAYERS in {__file__}")
            continue
        for target, line in targets.items():
            other = target.split(".")[1]
            if other in LAYERS and LAYERS.index(other) > LAYERS.index(layer):
                found.append(f"{name}, line {line}: imports {target}, but {layer} stands above {other}")
    return found


def cycle(sources: Sources) -> list[str]:
    """One circle of imports, or nothing."""
    try:
        TopologicalSorter({name: set(targets) for name, targets in graph(sources).items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    return read(Path(semtropy.__file__).parent)


def test_imports_go_down_the_layers(sources: Sources) -> None:
    assert not upward(sources), "\n".join(upward(sources))


def test_no_circle(sources: Sources) -> None:
    assert not cycle(sources), " -> ".join(cycle(sources))


def test_the_reader_sees_the_imports_that_are_there(sources: Sources) -> None:
    assert "semtropy.nouns" in graph(sources)["semtropy.estimators.histogram"]
    assert "semtropy.errors" in graph(sources)["semtropy.nouns"]


@pytest.mark.parametrize(
    "statement",
    [
        "from ..check import check",
        "from .. import check",
        "import semtropy.check",
        "import semtropy.check as c",
        "from semtropy import check",
        "from semtropy.check import check",
        "def lazily():\n    from ..check import check",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..check import check",
        "from importlib import import_module\nimport_module('semtropy.check')",
        "import importlib\nimportlib.import_module('..check', __package__)",
    ],
)
def test_an_upward_import_is_found_in_any_form(statement: str) -> None:
    sources = {
        "semtropy.check": "",
        "semtropy.models.__init__": "",
        "semtropy.models.bad": statement,
    }
    assert len(upward(sources)) == 1
    assert "models stands above check" in upward(sources)[0]
    sources = {"semtropy.check": "", "semtropy.cli.__init__": "", "semtropy.cli.good": statement}
    assert not upward(sources)


def test_a_circle_is_found() -> None:
    sources = {
        "semtropy.study.__init__": "",
        "semtropy.study.a": "from . import b",
        "semtropy.study.b": "def lazily():\n    from .a import x",
    }
    assert set(cycle(sources)) == {"semtropy.study.a", "semtropy.study.b"}
    assert not upward(sources)


def test_a_module_without_a_place_is_named() -> None:
    assert "add 'novelty' to LAYERS" in upward({"semtropy.novelty": ""})[0]

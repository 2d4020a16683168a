"""Imports only go down the layers, and never round in a circle.

Every import counts: relative or absolute, at the top or inside a function, under TYPE_CHECKING, and
`import_module` of a name that stands in the source.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import semtropy
from imports import Sources, graph, read

# Top to bottom: each may import those before it. Three places differ from the order in which the design tells them:
# `recording` stands before `models` because `replay` answers from a recording, `models` before `meaning` because the
# `llm` judge asks a model, and `cli` comes last because `semtropy serve` starts the server.
LAYERS = (
    "errors",
    "files",
    "numeric_checks",
    "conversation",
    "samples",
    "evidence",
    "nouns",
    "entropy",
    "estimators",
    "recording",
    "scorers",
    "second",
    "calibration",
    "refusals",
    "stopping",
    "verdict",
    "capabilities",
    "tracing",
    "inquiry",
    "models",
    "testing",
    "meaning",
    "claims",
    "structured",
    "options",
    "checking",
    "scoring",
    "integrations",
    "study",
    "server",
    "cli",
    "__main__",
)


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
    assert "semtropy.nouns" in graph(sources)["semtropy.estimators.counts"]
    assert "semtropy.errors" in graph(sources)["semtropy.nouns"]


@pytest.mark.parametrize(
    "statement",
    [
        "from ..checking import check",
        "from .. import checking",
        "import semtropy.checking",
        "import semtropy.checking as c",
        "from semtropy import check",
        "from semtropy.checking import check",
        "def lazily():\n    from ..checking import check",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..checking import check",
        "from importlib import import_module\nimport_module('semtropy.checking')",
        "import importlib\nimportlib.import_module('..checking', __package__)",
    ],
)
def test_an_upward_import_is_found_in_any_form(statement: str) -> None:
    sources = {
        "semtropy.checking": "",
        "semtropy.models.__init__": "",
        "semtropy.models.bad": statement,
    }
    assert len(upward(sources)) == 1
    assert "models stands above checking" in upward(sources)[0]
    sources = {"semtropy.checking": "", "semtropy.cli.__init__": "", "semtropy.cli.good": statement}
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

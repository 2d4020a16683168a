"""The public names are exactly those listed, in order, and each is what its home module says it is."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from tools.api import PUBLIC

import semtropy

SOURCE = Path(semtropy.__file__)
PUBLIC_FILES = [Path(str(import_module(name).__file__)) for name in PUBLIC]


def typed_imports() -> dict[str, str]:
    """What the TYPE_CHECKING block imports: name -> module."""
    guard = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If))
    return {
        alias.name: node.module or ""
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_listed_sorted_and_in_step() -> None:
    listed = semtropy.__all__
    assert listed == sorted(set(listed)), "__all__ is sorted, each name once"
    assert list(semtropy._HOME) == listed, "each name of __all__ has its line in _HOME, in the same order"
    assert typed_imports() == semtropy._HOME, "the TYPE_CHECKING imports say the same as _HOME"


def test_exports_are_exactly_those_listed() -> None:
    namespace: dict[str, object] = {}
    exec("from semtropy import *", namespace)
    assert sorted(set(namespace) - {"__builtins__"}) == semtropy.__all__
    submodules = {
        f.stem for f in SOURCE.parent.iterdir() if f.suffix == ".py" or (f / "__init__.py").exists()
    }
    # what `__init__` itself needs has no place in the interface either: only these two are tolerated
    plumbing = {"import_module", "TYPE_CHECKING"}
    # pytest adds names that are no identifiers to the modules of its plugins, of which semtropy is one
    visible = {name for name in dir(semtropy) if name.isidentifier() and not name.startswith("_")}
    assert visible - submodules - plumbing <= set(semtropy.__all__)


@pytest.mark.parametrize("name", semtropy.__all__)
def test_export_is_the_thing_itself(name: str) -> None:
    value = getattr(semtropy, name)
    home = import_module(f"semtropy.{semtropy._HOME[name]}")
    assert not isinstance(value, ModuleType)
    assert value is getattr(home, name)
    assert (value.__doc__ or "").strip(), f"{name} has no docstring"


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        semtropy.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_no_submodule_has_the_name_of_an_export() -> None:
    """Importing `semtropy.check`, say, would put a module where the function belongs."""
    assert not [name for name in semtropy.__all__ if find_spec(f"semtropy.{name}")]


@pytest.mark.parametrize("file", PUBLIC_FILES, ids=lambda file: str(file.relative_to(SOURCE.parent)))
def test_every_all_is_exact(file: Path) -> None:
    """Each public module's `__all__` lists no name twice and none that is missing; ruff keeps it sorted."""
    listed = literal_all(file)
    if listed is None:
        assert defines_nothing(file), "public definitions, but no literal __all__"
        return
    assert len(listed) == len(set(listed)), "__all__ lists a name twice"
    assert set(listed) <= bound_names(file), "__all__ lists a name the module does not define"


def literal_all(file: Path) -> list[str] | None:
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == "__all__" for t in node.targets):
            return list(ast.literal_eval(node.value))
    return None


def defines_nothing(file: Path) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return not any(
        isinstance(node, kinds) and not node.name.startswith("_") for node in ast.parse(file.read_text()).body
    )


def bound_names(file: Path) -> set[str]:
    """The names a module binds at its top, inside `if` and `try` too; not those inside functions and classes."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(ast.parse(file.read_text()).body)
    while waiting:
        match waiting.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in aliases}
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case node:
                waiting += ast.iter_child_nodes(node)
    return names


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("__all__ = ['a', 'a']\na = 1", "twice"),
        ("__all__ = ['b']\ndef a():\n    b = 1", "does not define"),
        ("def a(): ...", "no literal __all__"),
    ],
)
def test_a_wrong_all_is_found(tmp_path: Path, source: str, fault: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(source)
    with pytest.raises(AssertionError, match=fault):
        test_every_all_is_exact(file)

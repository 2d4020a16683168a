"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import semtropy
from semtropy.errors import MissingExtra

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(semtropy.__path__, "semtropy.")
    if not found.name.endswith("__main__")
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = import_module(name)
    except MissingExtra as missing:
        pytest.skip(str(missing))
    except ModuleNotFoundError as missing:
        if (missing.name or "semtropy").startswith("semtropy"):
            raise
        pytest.skip(f"{name} needs {missing.name}")
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for found in doctest.DocTestFinder().find(module):
        if found.examples:  # to begin with one takes a millisecond, whether or not it has any
            runner.run(found)
    assert runner.summarize().failed == 0


def test_there_are_examples() -> None:
    """A runner that found none would pass for ever."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = sum(len(found.examples) for found in finder.find(import_module("semtropy.nouns")))
    assert examples >= 4

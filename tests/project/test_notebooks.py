"""The notebooks: valid, run from top to bottom, and showing what they print."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tools.notebooks import NOTEBOOKS, different, run

PLAIN = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def notebook(*sources: str, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": [each], "outputs": []}
        for each in sources
    ]
    return {**PLAIN, "cells": cells}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_prints(path: Path, request: pytest.FixtureRequest) -> None:
    stored = load(path)
    pytest.importorskip("matplotlib")
    if path.stem == "first-check":
        request.getfixturevalue("smollm2")
    assert list(different(stored, run(stored))) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_short(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    nbformat.validate(load(path))
    assert len(NOTEBOOKS) == 3
    assert path.stat().st_size < 50_000
    assert all(cell["outputs"] for cell in load(path)["cells"][:2] if cell["cell_type"] == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_hold(path: Path) -> None:
    text = "".join(line for cell in load(path)["cells"] for line in cell["source"])
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all((path.parent / link).is_file() for link in links)


def test_output_is_that_of_jupyter() -> None:
    made = run(notebook("print('a')\n1 + 1", "x = 3", "x"))
    kinds = [[output["output_type"] for output in cell["outputs"]] for cell in made["cells"]]
    assert kinds == [["stream", "execute_result"], [], ["execute_result"]]
    assert made["cells"][2]["outputs"][0]["data"]["text/plain"] == ["3"]


def test_figures_are_shown_and_closed() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    made = run(notebook("import matplotlib.pyplot as plt\nplt.figure()\nplt.plot([1, 2])"))
    (output,) = made["cells"][0]["outputs"]
    assert output["data"]["image/png"].startswith("iVBOR")
    assert plt.get_fignums() == []


def test_a_stale_notebook_is_found() -> None:
    stored = run(notebook("print(1)"))
    fresh = copy.deepcopy(stored)
    assert list(different(stored, fresh)) == []
    fresh["cells"][0]["outputs"][0]["text"] = ["2\n"]
    assert "cell 1 shows" in next(different(stored, fresh))
    varying = run(notebook("print(1)", tags=("varies",)))
    fresh["cells"][0]["metadata"]["tags"] = ["varies"]
    assert list(different(varying, fresh)) == []


def test_a_cell_that_fails_fails_the_run() -> None:
    with pytest.raises(ZeroDivisionError):
        run(notebook("1 / 0"))

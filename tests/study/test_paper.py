"""The paper's own samples give about the paper's own table."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from benchmarks.paper_table import METHODS, MODELS, CellPair, gaps, side_by_side


@pytest.fixture(scope="module")
def cells(shared_data: Path) -> list[CellPair]:
    return list(side_by_side(shared_data))


def test_every_cell_is_there(cells: list[CellPair]) -> None:
    found = {(cell.model, cell.estimator, cell.budget) for cell in cells}
    assert found == set(itertools.product(MODELS, METHODS, range(1, 11)))


@pytest.mark.parametrize("estimator", METHODS)
def test_cells_are_near_the_papers(cells: list[CellPair], estimator: str) -> None:
    assert gaps(cells)[estimator] <= 0.03


def test_the_order_of_methods_is_the_papers(cells: list[CellPair]) -> None:
    """At one and two samples the Bayesian estimate is well ahead of both others, as in the paper."""
    for model in {cell.model for cell in cells}:
        for budget in (1, 2):
            here = {c.estimator: c.ours for c in cells if (c.model, c.budget) == (model, budget)}
            assert here["bayes-paper"] > max(here["histogram"], here["rescaled"]) + 0.04

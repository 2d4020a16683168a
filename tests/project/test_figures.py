"""Figures in the docs are what the code gives. Quick ones are `make check`'s; those that take longer are made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.paper_table import MODELS, SHARED, savings
from tools.checks import pages
from tools.figures import FIGURES, stale_figures, wrong_markers

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text() for page in pages(ROOT)}


def page(name: str, text: str, *, end: bool = True) -> str:
    begin = f"<!-- made by `python -m tools.figures {name}` -->"
    return f"# Title\n{begin}\n{text}\n" + (f"<!-- end of {name} -->\n" if end else "")


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if not figure.quick])
def test_a_slow_figure_is_what_the_code_gives(name: str) -> None:
    if not FIGURES[name].possible:
        pytest.skip("needs ../shared/data")
    assert not list(stale_figures(PAGES, {name: FIGURES[name].make()}))


def test_adaptive_sampling_saves_on_the_papers_samples(shared_data: Path) -> None:
    """The numbers of the figure `paper-savings`, from the results that it was made of."""
    results = savings(SHARED)
    fractions = {each.model: each.fraction for each in results.savings if each.rule == "variance"}
    assert set(fractions) == set(MODELS)
    assert all(fraction is not None and fraction < 0.8 for fraction in fractions.values())
    for curve in results.curves:
        assert np.isfinite(curve.auroc).all()


def test_markers() -> None:
    assert not list(wrong_markers(PAGES))


def test_another_number_is_found() -> None:
    assert list(stale_figures({"a.md": page("sum", "3")}, {"sum": "4"})) == [
        "a.md: the figure sum is out of date: run `make docs`"
    ]
    assert not list(stale_figures({"a.md": page("sum", "4")}, {"sum": "4"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (page("sum", "4"), "a.md: there is no figure sum"),
        (page("study-example", "4", end=False), "a.md: the figure study-example has no end"),
        ("", "the figure study-example stands on no page"),
    ],
)
def test_a_wrong_marker_is_found(text: str, said: str) -> None:
    assert any(sentence.startswith(said) for sentence in wrong_markers({"a.md": text}))

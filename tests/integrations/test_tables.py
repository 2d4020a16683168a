"""Verdicts as tables: pandas, Hugging Face datasets, and the shape of uqlm's results."""

from __future__ import annotations

from pathlib import Path

import pytest

from doc_scripts import shown_and_printed
from semtropy import Budget, Verdict, check
from semtropy.integrations.datasets import to_dataset
from semtropy.integrations.pandas import to_frame
from semtropy.integrations.tables import Verdicts
from semtropy.integrations.uqlm import to_uqlm
from semtropy.models import ScriptedModel
from skips import needs

needs("pandas", reason="needs pandas: pip install 'semtropy[pandas]'")


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    spreads = [{"Paris": 1.0}, {"A": 0.3, "B": 0.3, "C": 0.4}]
    made = [check("Q?", model=ScriptedModel(default=each), judge="exact", rng=1) for each in spreads]
    plain = ScriptedModel(default={"Paris": 1.0})
    return [
        *made,
        check("Q?", model=plain, judge="exact", estimator="histogram", budget=Budget(samples=2), rng=1),
    ]


def test_a_frame_has_a_row_each_and_unknown_is_missing(verdicts: list[Verdict]) -> None:
    frame = to_frame(verdicts)
    assert list(frame["outcome"]) == [str(verdict.outcome) for verdict in verdicts]
    assert frame["score"].isna().tolist() == [False, False, True]
    assert frame["score"][0] > 0.5 > frame["score"][1]
    assert frame["samples"].sum() == sum(verdict.samples for verdict in verdicts)


def test_a_list_of_verdicts_becomes_a_frame(verdicts: list[Verdict]) -> None:
    held = Verdicts(verdicts)
    assert held == verdicts
    assert held.to_frame().equals(to_frame(verdicts))
    assert held.to_uqlm() == to_uqlm(verdicts)


def test_a_dataset_has_the_same_columns(verdicts: list[Verdict]) -> None:
    pytest.importorskip("datasets", reason="needs Hugging Face datasets: pip install 'semtropy[hub]'")
    made = to_dataset(verdicts)
    assert made.column_names == list(to_frame(verdicts).columns)
    assert made[2]["score"] is None


def test_uqlm_takes_its_shape(verdicts: list[Verdict]) -> None:
    results = pytest.importorskip("uqlm.utils.results", reason="needs uqlm: pip install uqlm")
    made = results.UQResult(to_uqlm(verdicts[:2]))
    assert made.to_df()["semantic_entropy_confidence"][0] > 0.5
    assert made.to_dict()["data"]["responses"] == [verdict.answer for verdict in verdicts[:2]]


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed("tables.md", tmp_path)
    assert printed.split() == shown.split()

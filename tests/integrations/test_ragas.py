"""The metric as Ragas calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("ragas", reason="needs Ragas: pip install 'semtropy[ragas]'")

from doc_scripts import shown_and_printed
from semtropy.integrations.ragas import semantic_entropy_metric

pytestmark = pytest.mark.filterwarnings("ignore")


def test_scores_from_0_to_1_with_the_reason() -> None:
    steady = semantic_entropy_metric(ask=lambda messages, n, temperature: ["Paris"] * n, judge="exact")
    found = steady.score(user_input="Capital of France?", response="Paris")
    assert 0.5 < found.value <= 1
    assert found.reason.startswith("Looks steady.")
    other = steady.score(user_input="Capital of France?", response="Lyon")
    assert 0 <= other.value < 0.5


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed("ragas.md", tmp_path)
    assert printed == shown

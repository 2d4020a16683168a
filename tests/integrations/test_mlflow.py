"""The scorer in `mlflow.genai.evaluate`, on a local store."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mlflow", reason="needs MLflow: pip install 'semtropy[mlflow]'")

from doc_scripts import shown_and_printed

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed(
        "mlflow.md", tmp_path, MLFLOW_TRACKING_URI=f"sqlite:///{tmp_path}/runs.db"
    )
    assert printed.endswith(shown), printed

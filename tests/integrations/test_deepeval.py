"""The metric in DeepEval's own evaluation."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
pytest.importorskip("deepeval", reason="needs DeepEval: pip install 'semtropy[deepeval]'")

from deepeval import assert_test
from deepeval.test_case import LLMTestCase

from doc_scripts import shown_and_printed
from semtropy.integrations.deepeval import SemanticEntropyMetric

pytestmark = pytest.mark.filterwarnings("ignore")


def cycle(*answers: str) -> Any:
    said = iter(answers * 100)
    return lambda messages, n, temperature: [next(said) for _ in range(n)]


def test_a_steady_answer_passes() -> None:
    metric = SemanticEntropyMetric(ask=cycle("Paris"), judge="exact")
    assert_test(LLMTestCase(input="Capital of France?", actual_output="Paris"), [metric], run_async=False)
    assert metric.score is not None
    assert metric.score > 0.5
    assert "Asked again" in (metric.reason or "")


def test_a_made_up_answer_fails() -> None:
    metric = SemanticEntropyMetric(ask=cycle("A", "B", "C", "D"), judge="exact")
    with pytest.raises(AssertionError, match="Semantic entropy"):
        assert_test(LLMTestCase(input="Mayor?", actual_output="E"), [metric], run_async=False)
    assert not metric.is_successful()


def test_awaited_it_says_the_same() -> None:
    metric = SemanticEntropyMetric(ask=cycle("Paris"), judge="exact")
    assert asyncio.run(metric.a_measure(LLMTestCase(input="Capital?", actual_output="Paris"))) > 0.5


def test_no_answer_is_an_error_and_no_success() -> None:
    metric = SemanticEntropyMetric(ask=cycle("Paris"), judge="exact")
    metric.measure(LLMTestCase(input="Capital?", actual_output=""))
    assert not metric.is_successful()
    assert (metric.error or "").startswith("No answer.")


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed("deepeval.md", tmp_path)
    assert printed == shown

"""The pytest plugin, in runs of pytest made for it."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tools.markdown import blocks

from semtropy.integrations import pytest as plugin
from semtropy.models import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = any(found.name == "semtropy" for found in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "semtropy.integrations.pytest")
TEST = """
import itertools
import pytest

def model(*answers):
    said = itertools.cycle(answers)
    return lambda messages, n, temperature: [next(said) for _ in range(n)]

@pytest.mark.semtropy(judge="exact", max_samples=6)
def test_known(assert_steady):
    verdict = assert_steady("Capital of France?", answer="Paris", ask=model("Paris"))
    assert verdict.answer == "Paris"

@pytest.mark.semtropy(judge="exact", max_samples=6)
def test_made_up(assert_steady):
    assert_steady("Mayor?", answer="A", ask=model("B", "C", "D", "E"))

def test_without_a_model(assert_steady):
    assert_steady("Mayor?", answer="A", judge="exact")
"""


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """A check before any other: a run of pytest in process forgets what it imports, and NumPy loads only once."""
    check = plugin.AssertSteady(
        plugin.Spending(), {"judge": "exact", "model": ScriptedModel({"Who?": {"A": 1.0}})}
    )
    with pytest.raises(pytest.fail.Exception, match="not steady"):
        check("Who?", answer="B")


def test_steady_passes_made_up_fails_and_the_cost_is_said(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    result = pytester.runpytest_inprocess(*PLUGIN, "--strict-markers")
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert 'Likely made up: "A".' in text
    assert "no samples can be drawn: give `model`" in text
    result.stdout.re_match_lines([r"semtropy: 2 checks, \d+ samples, \d+ tokens; 1 answer not steady"])


def test_the_model_can_be_named_once(pytester: pytest.Pytester) -> None:
    pytester.makefile(".json", script='{"*": {"Paris": 1.0}}')
    pytester.makepyfile(
        "def test(assert_steady):\n    assert_steady('Capital?', answer='Paris', judge='exact')"
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "--semtropy-model", "scripted:script.json")
    result.assert_outcomes(passed=1)


def test_a_run_without_checks_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test():\n    assert 'numpy' not in sys.modules")
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1)
    assert "semtropy:" not in result.stdout.str()


def test_an_undecided_answer_passes_only_where_it_may() -> None:
    asked: dict[str, object] = {"judge": "exact", "max_samples": 0}
    check = plugin.AssertSteady(plugin.Spending(), asked)
    with pytest.raises(pytest.fail.Exception, match="the answer is not steady"):
        check("Capital?", answer="Paris", ask=lambda messages, n, temperature: ["Paris"] * n)
    verdict = check(
        "Capital?", answer="Paris", ask=lambda messages, n, temperature: ["Paris"] * n, undecided=True
    )
    assert str(verdict.outcome) == "undecided"


def test_the_test_of_the_page_passes(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs" / "integrations" / "pytest.md").read_text()
    found = [block.code for block in blocks(page)]
    pytester.makepyfile(test_answers=next(code for code in found if "def test_" in code))
    result = pytester.runpytest_inprocess(*PLUGIN, "-q")
    shown = next(block.code for block in blocks(page) if block.language == "text")
    assert shown.splitlines()[0] in result.stdout.str()

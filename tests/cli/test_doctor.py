"""`semtropy doctor`: the habits of every emulated provider are named, and a model that never varies is found out."""

from __future__ import annotations

import json

import pytest

from semtropy.cli import main
from semtropy.cli.doctor import examine
from semtropy.models import ScriptedModel
from semtropy.stopping import Price
from semtropy.testing import PROVIDERS, emulate

ANIMALS = {"cat": 0.4, "dog": 0.3, "otter": 0.2, "blue whale": 0.1}

HABITS = {
    "openai": {"log-probabilities": "without its end"},
    "openai-reasoning": {"log-probabilities": "none", "thinking": "spends tokens", "refused": "temperature"},
    "anthropic": {"log-probabilities": "none", "refused": "several answers"},
    "anthropic-no-temperature": {"log-probabilities": "none", "refused": "any temperature"},
    "gemini": {"log-probabilities": "none", "refused": "several answers"},
    "ollama": {"log-probabilities": "none", "refused": "several answers"},
    "vllm": {"log-probabilities": "its end included", "a given answer": "can be weighed"},
    "sglang": {"log-probabilities": "its end included", "a given answer": "cannot be weighed"},
    "llama.cpp": {"log-probabilities": "its end included", "refused": "several answers"},
    "placeholder-zeros": {"log-probabilities": "placeholders"},
    "placeholder-9999": {"log-probabilities": "placeholders"},
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_habits_of_each_provider_are_named(provider: str) -> None:
    with emulate(provider, ANIMALS) as endpoint:
        said: dict[str, str] = {}
        for finding in examine(endpoint.model(), seed=3):
            said[finding.about] = f"{said.get(finding.about, '')} {finding.found}"
    for about, words in HABITS[provider].items():
        assert words in said[about], said


def test_a_model_that_never_varies_is_found_out() -> None:
    findings = {each.about: each for each in examine(ScriptedModel(default={"cat": 1.0}))}
    assert not findings["variety"].good
    assert "cache" in str(findings["variety"].advice)


def test_the_cost_of_a_check_has_a_price() -> None:
    findings = {
        each.about: each for each in examine(ScriptedModel(default=ANIMALS), price=Price(per_token=0.01))
    }
    assert "0.02 in the currency" in findings["cost"].found
    assert "; 1 token a brief answer, so about 2 tokens a check" in findings["cost"].found


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with emulate("vllm", ANIMALS) as endpoint:
        assert main(["doctor", "--model", "openai:m", "--base-url", endpoint.base_url, "--json"]) == 0
    found = {each["about"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert found["judge"]["good"], found["judge"]

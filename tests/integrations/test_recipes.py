"""The recipes: each script of the page, with the real package, prints what the page shows."""

from __future__ import annotations

import asyncio
import types
from pathlib import Path
from typing import Any

import pytest

from doc_scripts import code_and_text, shown_and_printed
from semtropy.testing import emulate


def test_openai_agents(tmp_path: Path) -> None:
    pytest.importorskip("agents", reason="needs the OpenAI Agents SDK: pip install openai-agents")
    shown, printed = shown_and_printed("recipes.md", tmp_path, "OpenAI Agents")
    assert printed == shown


def test_pydantic_ai(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="needs Pydantic AI: pip install 'pydantic-ai-slim[openai]'")
    shown, printed = shown_and_printed("recipes.md", tmp_path, "Pydantic AI")
    assert printed == shown


@pytest.mark.filterwarnings("ignore")
def test_dspy(tmp_path: Path) -> None:
    pytest.importorskip("dspy", reason="needs DSPy: pip install dspy")
    shown, printed = shown_and_printed("recipes.md", tmp_path, "DSPy")
    assert printed == shown


@pytest.mark.filterwarnings("ignore")
def test_nemo_guardrails(tmp_path: Path) -> None:
    pytest.importorskip("nemoguardrails", reason="needs NeMo Guardrails: pip install nemoguardrails")
    shown, printed = shown_and_printed("recipes.md", tmp_path, "NeMo Guardrails")
    assert printed == shown


def test_open_webui(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open WebUI executes the text of a filter as a module, sets its valves and calls `outlet` by names."""
    pytest.importorskip("pydantic", reason="needs pydantic")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    code, shown = code_and_text("recipes.md", "Open WebUI")
    module = types.ModuleType("function_semtropy")
    exec(code, module.__dict__)
    statuses: list[dict[str, Any]] = []

    async def emitter(event: dict[str, Any]) -> None:
        assert event["type"] == "status"
        statuses.append(event["data"])

    def answers(question: str) -> dict[str, float]:
        return {"Paris": 1.0} if "capital" in question else {"A": 0.3, "B": 0.3, "C": 0.4}

    with emulate("ollama", answers) as endpoint:
        function = module.Filter()
        function.valves = module.Filter.Valves(base_url=endpoint.base_url, judge="exact")
        for question, answer in [("The capital of France?", "Paris"), ("Who was mayor in 1911?", "Ion Popa")]:
            asked = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
            body = {"model": "m", "messages": asked, "chat_id": "1"}
            assert asyncio.run(function.outlet(body, __event_emitter__=emitter)) == body
    assert [status["description"] for status in statuses] == shown.splitlines()
    assert all(status["done"] for status in statuses)
    # A check that fails: the chat keeps its answer and says why it was not checked.
    function.valves.judge = "nobody"
    assert asyncio.run(function.outlet(body, __event_emitter__=emitter)) == body
    assert statuses[-1]["description"].startswith("Not checked: no judge is called")

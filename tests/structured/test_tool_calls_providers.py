"""Tool calls and schemas against every emulated provider: from Python, the command line and the gateway."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from semtropy import FixedSamples, Verdict, check
from semtropy.cli import main
from semtropy.testing import PROVIDERS, emulate
from semtropy.verdict import Outcome

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["city", "days"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
QUESTION = "Will it rain in Oslo?"


def calls(*arguments: dict[str, Any]) -> str:
    return json.dumps({"tool_calls": [{"name": "weather", "arguments": each} for each in arguments]})


DAYS = {calls({"city": "Oslo", "days": day}): 0.05 for day in range(20)}
JSON = {json.dumps({"city": "Oslo", "days": day}): 0.05 for day in range(20)}
OSLO, ROME = ({"city": city, "days": 1} for city in ("Oslo", "Rome"))
ORDERS = {calls(OSLO, ROME): 0.5, calls(ROME, OSLO): 0.5}


def checked(provider: str, answers: dict[str, float], **options: Any) -> Verdict:
    with emulate(provider, answers) as endpoint, closing(endpoint.model()) as model:
        return check(QUESTION, model=model, judge="exact", rng=1, **options)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_argument_that_varies_is_named(provider: str) -> None:
    verdict = checked(provider, DAYS, tools=[TOOL])
    assert [field.name for field in verdict.fields] == ["tool", "weather.city", "weather.days"]
    assert verdict.fields[0].value == "weather"
    assert verdict.untrusted == ("weather.days",)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_in_any_order_are_the_same(provider: str) -> None:
    assert checked(provider, ORDERS, tools=[TOOL]).untrusted == ()


@pytest.mark.parametrize("provider", ["openai", "ollama", "vllm", "llama.cpp"])
def test_a_text_instead_of_a_call_is_judged_like_a_plain_answer(provider: str) -> None:
    """Its end counts too: "Oslo" is not as probable as all that begins so. Without it, the end is estimated."""
    texts = {"Oslo": 0.3, "Oslo is wet": 0.35, "Oslo is wet and cold": 0.35}
    alone = checked(provider, texts, rule=FixedSamples(6))
    tool, content = checked(provider, texts, rule=FixedSamples(6), tools=[TOOL]).fields
    assert (tool.value, tool.outcome) == (None, Outcome.STEADY)
    assert content.value == alone.answer
    assert content.entropy.mean == pytest.approx(alone.entropy.mean, abs=1e-4)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_field_that_varies_is_named(provider: str) -> None:
    verdict = checked(provider, JSON, schema=SCHEMA)
    assert verdict.untrusted == ("days",)
    assert verdict.fields[0].value == "Oslo"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama", "vllm"])
def test_in_a_shell(provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([TOOL]))
    with emulate(provider, DAYS) as endpoint:
        model = ["--model", f"openai:{endpoint.provider.example}", "--base-url", endpoint.base_url]
        assert (
            main(["check", QUESTION, *model, "--tools", str(tools), "--judge", "exact", "--seed", "1"]) == 3
        )
    said = capsys.readouterr().out
    assert said.startswith("Do not trust: weather.days.\n  tool: weather (steady")


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama", "vllm"])
@pytest.mark.parametrize("structure", ["tools", "response_format"])
def test_through_the_gateway(provider: str, structure: str) -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    from openai_upstream import served
    from semtropy.server.app import create_app
    from semtropy.server.settings import Settings

    wanted: Any = [TOOL]
    if structure == "response_format":
        wanted = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA}}
    with emulate(provider, DAYS if structure == "tools" else JSON) as endpoint:
        app = create_app(Settings(upstream=endpoint.base_url, judge="exact"))
        body = {"model": endpoint.provider.example, "messages": [{"role": "user", "content": QUESTION}]}
        with served(app) as front:
            reply = httpx.post(f"{front}/v1/chat/completions", json={**body, structure: wanted}, timeout=60)
    verdict = reply.json()["semtropy"]
    assert verdict["untrusted"] == ["weather.days" if structure == "tools" else "days"]
    assert "tool_calls" in reply.json()["choices"][0]["message"] or structure != "tools"

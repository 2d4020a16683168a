"""LangChain's ChatOpenAI pointed at the gateway: code that knows nothing of semtropy gets what the upstream says.

langchain-openai is no part of the development environment: `pip install langchain-openai`.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its own, on import
    langchain_openai = pytest.importorskip(
        "langchain_openai", reason="needs langchain-openai: pip install langchain-openai"
    )

from langchain_core.messages import HumanMessage

from openai_upstream import Upstream, served
from semtropy.server.app import create_app
from semtropy.server.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore")  # LangChain's; ours are errors in every other test

STEADY, UNSURE, CITY = (
    "What is the capital of France?",
    "Who was the mayor in 1911?",
    "Which city? Give JSON.",
)
SPREADS = {
    STEADY: {"It is Paris of course": 1.0},
    UNSURE: {f"It was Dr {name} Number": 0.05 for name in "ABCDEFGHIJKLMNOPQRST"},
    CITY: {json.dumps({"city": "Oslo", "year": 1048}): 1.0},
}
SCHEMA = {
    "title": "city",
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["city", "year"],
}


def gateway(upstream: str) -> Any:
    return served(create_app(Settings(upstream=f"{upstream}/v1", judge="exact")))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A gateway before an upstream."""
    with served(Upstream(SPREADS.__getitem__)) as upstream, gateway(upstream) as front:
        yield front


def chat(address: str, **options: Any) -> Any:
    return langchain_openai.ChatOpenAI(
        model="m", base_url=f"{address}/v1", api_key="sk", max_retries=0, **options
    )


@pytest.mark.parametrize("prompt", [STEADY, UNSURE])
def test_plain(address: str, prompt: str) -> None:
    assert chat(address).invoke(prompt).content in SPREADS[prompt]


@pytest.mark.parametrize("usage", [False, True])
def test_streaming(address: str, usage: bool) -> None:
    pieces = list(chat(address, stream_usage=usage).stream(STEADY))
    assert len(pieces) > 3
    assert "".join(piece.content for piece in pieces) == "It is Paris of course"


def test_without_blocking(address: str) -> None:
    async def ask() -> str:
        return "".join([piece.content async for piece in chat(address).astream(STEADY)])

    assert asyncio.run(ask()) == "It is Paris of course"


def test_several_choices(address: str) -> None:
    made = chat(address, n=2).generate([[HumanMessage(UNSURE)]]).generations[0]
    assert len(made) == 2
    assert all(each.text in SPREADS[UNSURE] for each in made)


@pytest.mark.parametrize("method", ["json_mode", "json_schema"])
def test_structured_output(address: str, method: str) -> None:
    found = chat(address).with_structured_output(SCHEMA, method=method).invoke(CITY)
    assert found == {"city": "Oslo", "year": 1048}


class Calling(Upstream):
    """Calls the tool `weather`."""

    def _choice(self, body: dict[str, Any], chat: bool, index: int, number: int) -> dict[str, Any]:
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        made = super()._choice(body, chat, index, number)
        return {**made, "message": message, "logprobs": None, "finish_reason": "tool_calls"}


def test_tools() -> None:
    def weather(city: str) -> str:
        """The weather of a city."""
        return city

    with served(Calling(SPREADS.__getitem__)) as upstream, gateway(upstream) as front:
        called = chat(front).bind_tools([weather]).invoke(STEADY).tool_calls
    assert [(call["name"], call["args"]) for call in called] == [("weather", {"city": "Oslo"})]

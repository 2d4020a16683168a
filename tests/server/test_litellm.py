"""LiteLLM pointed at the gateway: the same answers as from the upstream, and the verdict where LiteLLM lets it through.

LiteLLM brings some sixty packages along, so it is no part of the development environment: `pip install litellm`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
os.environ.setdefault(
    "LITELLM_LOCAL_MODEL_COST_MAP", "True"
)  # else it fetches a list of prices when imported
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its own, on import
    litellm = pytest.importorskip("litellm", reason="needs LiteLLM: pip install litellm")

from openai_upstream import Upstream, served
from raw_upstream import provider, raw_upstream
from semtropy import Verdict
from semtropy.server.app import create_app
from semtropy.server.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM's; ours are errors in every other test

STEADY, UNSURE = "What is the capital of France?", "Who was the mayor in 1911?"
SPREADS = {
    STEADY: {"It is Paris of course": 1.0},
    UNSURE: {f"It was Dr {name} Number": 0.05 for name in "ABCDEFGHIJKLMNOPQRST"},
}
BLOCK = {"semtropy": {"mode": "block"}}
HEADERS_ONLY = {"X-Semtropy": '{"place": "headers"}'}


@pytest.fixture(autouse=True)
def _left_behind() -> Iterator[None]:
    """Event loops that LiteLLM leaves open are collected in the test that made them, where its warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def addresses() -> Iterator[tuple[str, str]]:
    """The upstream, and the gateway before it."""
    with served(Upstream(SPREADS.__getitem__)) as upstream:
        settings = Settings(upstream=f"{upstream}/v1", judge="exact", refusal="No comment.")
        with served(create_app(settings)) as gateway:
            yield upstream, gateway


def ask(address: str, prompt: str, **options: Any) -> Any:
    messages = [{"role": "user", "content": prompt}]
    settings = {
        "api_base": f"{address}/v1",
        "api_key": "sk-client",
        "temperature": 0,
        "seed": 7,
        "num_retries": 0,
    }
    return litellm.completion(model="openai/m", messages=messages, **settings, **options)


def words(chunks: list[Any]) -> list[tuple[str | None, str | None]]:
    return [(chunk.choices[0].delta.content, chunk.choices[0].finish_reason) for chunk in chunks]


def headers_of(reply: Any) -> dict[str, str]:
    """The gateway's headers, which LiteLLM keeps under a prefix."""
    return dict(reply._hidden_params["additional_headers"])


@pytest.mark.parametrize("prompt", [STEADY, UNSURE])
def test_plain(addresses: tuple[str, str], prompt: str) -> None:
    direct, through = (ask(address, prompt) for address in addresses)
    assert through.choices[0].model_dump() == direct.choices[0].model_dump()
    assert through.usage.model_dump() == direct.usage.model_dump()
    verdict = Verdict.from_dict(through.semtropy)
    assert verdict.answer == direct.choices[0].message.content
    assert verdict.flagged == (prompt == UNSURE)
    word = "flagged" if prompt == UNSURE else "steady"
    assert headers_of(through)["llm_provider-x-semtropy-verdict"] == word


@pytest.mark.parametrize("options", [{}, {"extra_headers": HEADERS_ONLY}])
def test_streaming(addresses: tuple[str, str], options: dict[str, Any]) -> None:
    """The same pieces as from the upstream, each with a choice. LiteLLM leaves the verdict out of its chunks."""
    direct, through = (words(list(ask(address, UNSURE, stream=True, **options))) for address in addresses)
    assert through == direct
    assert len(through) > 3


def test_headers_alone(addresses: tuple[str, str]) -> None:
    reply = ask(addresses[1], UNSURE, extra_headers=HEADERS_ONLY)
    assert not hasattr(reply, "semtropy")
    found = headers_of(reply)
    assert found["llm_provider-x-semtropy-verdict"] == "flagged"
    assert float(found["llm_provider-x-semtropy-entropy"]) > 0.69


def test_block(addresses: tuple[str, str]) -> None:
    held = ask(addresses[1], UNSURE, extra_body=BLOCK)
    assert held.choices[0].message.content == "No comment."
    assert held.choices[0].finish_reason == "content_filter"
    assert held.semtropy["blocked"] is True
    stream = ask(addresses[1], UNSURE, extra_body=BLOCK, stream=True)
    assert words(list(stream)) == [("No comment.", None), (None, "content_filter")]
    assert headers_of(stream)["llm_provider-x-semtropy-verdict"] == "flagged"
    assert ask(addresses[1], STEADY, extra_body=BLOCK).choices[0].message.content == "It is Paris of course"


def test_completions(addresses: tuple[str, str]) -> None:
    reply = litellm.text_completion(
        model="text-completion-openai/m", prompt=STEADY, api_base=f"{addresses[1]}/v1", api_key="sk-client"
    )
    assert reply.choices[0].text == "It is Paris of course"
    assert reply.semtropy["flagged"] is False


def test_an_upstream_error_comes_through(addresses: tuple[str, str]) -> None:
    with pytest.raises(litellm.BadRequestError, match="give one of variance, confidence, samples"):
        ask(addresses[1], STEADY, extra_body={"semtropy": {"rule": {}}})


@pytest.fixture(scope="module", params=["annotate", "block"])
def front(request: pytest.FixtureRequest) -> Iterator[str]:
    """A gateway before an upstream that calls tools, writes JSON and gives several choices."""
    with raw_upstream(provider) as upstream:
        settings = Settings(upstream=upstream.url, judge="exact", mode=request.param)
        with served(create_app(settings)) as gateway:
            yield gateway


TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


@pytest.mark.parametrize("stream", [False, True])
def test_tools(front: str, stream: bool) -> None:
    pytest.importorskip("mcp", reason="LiteLLM passes tools on only with mcp: pip install mcp")
    reply = ask(front, "What is the weather in Paris?", tools=[TOOL], stream=stream)
    made = litellm.stream_chunk_builder(list(reply)) if stream else reply
    (call,) = made.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Paris"})
    assert made.choices[0].finish_reason == "tool_calls"


def test_json_mode(front: str) -> None:
    reply = ask(front, "How is the sky? Give JSON.", response_format={"type": "json_object"})
    assert json.loads(reply.choices[0].message.content) == {"sky": "blue"}


def test_several_choices(front: str, request: pytest.FixtureRequest) -> None:
    """In mode block only the choice that is judged passes."""
    reply = ask(front, "How is the weather?", n=2)
    passed = 1 if request.node.callspec.params["front"] == "block" else 2
    assert [each.message.content for each in reply.choices] == ["It is sunny"] * passed


def test_without_blocking(front: str) -> None:
    async def said() -> str:
        stream = await litellm.acompletion(
            model="openai/m",
            messages=[{"role": "user", "content": "How is the weather?"}],
            api_base=f"{front}/v1",
            api_key="sk-client",
            stream=True,
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(said()) == "It is sunny"

"""Clients that know nothing of semtropy: OpenAI's own, with the code that its users write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

openai = pytest.importorskip("openai")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import served  # noqa: E402
from raw_upstream import provider, raw_upstream  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

ASKED: Any = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


@pytest.fixture(scope="module", params=["annotate", "block"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    with raw_upstream(provider) as upstream:
        made = create_app(Settings(upstream=upstream.url, judge="exact", mode=request.param))
        with served(made) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as to:
            yield to


def test_the_loop_that_everybody_writes(client: Any) -> None:
    said, verdicts = "", []
    for each in client.chat.completions.create(model="m", messages=ASKED, stream=True):
        said += each.choices[0].delta.content or ""
        verdicts += [(each.model_extra or {}).get("semtropy")]
    assert said == "It is sunny"
    assert verdicts[:-1] == [None] * (len(verdicts) - 1)
    assert verdicts[-1]["outcome"] == "steady"


def test_a_tool_call(client: Any) -> None:
    made = client.chat.completions.create(model="m", messages=ASKED, tools=[TOOL])
    (call,) = made.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Paris"})
    assert made.semtropy["outcome"] == "steady"


def test_a_tool_call_in_a_stream(client: Any) -> None:
    name, arguments, finish = "", "", None
    for each in client.chat.completions.create(model="m", messages=ASKED, tools=[TOOL], stream=True):
        for call in each.choices[0].delta.tool_calls or []:
            name += call.function.name or ""
            arguments += call.function.arguments or ""
        finish = each.choices[0].finish_reason or finish
    assert (name, arguments, finish) == ("weather", '{"city": "Paris"}', "tool_calls")


def test_json(client: Any) -> None:
    form = {"type": "json_object"}
    made = client.chat.completions.create(model="m", messages=ASKED, response_format=form)
    assert json.loads(made.choices[0].message.content) == {"sky": "blue"}
    assert made.semtropy["fields"]
    streamed = client.chat.completions.create(model="m", messages=ASKED, response_format=form, stream=True)
    assert json.loads("".join(each.choices[0].delta.content or "" for each in streamed)) == {"sky": "blue"}


def test_the_helper_that_collects_a_stream(client: Any) -> None:
    with client.chat.completions.stream(model="m", messages=ASKED) as stream:
        made = stream.get_final_completion()
    assert made.choices[0].message.content == "It is sunny"
    assert made.choices[0].finish_reason == "stop"


def test_the_usage_of_a_stream_stays_the_last_chunk(client: Any) -> None:
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(model="m", messages=ASKED, stream=True, stream_options=options)
    )
    assert chunks[-1].usage.total_tokens == 3
    assert chunks[-2].semtropy["outcome"] == "steady"


def test_two_choices(client: Any, request: pytest.FixtureRequest) -> None:
    """In mode block only the choice that is judged passes."""
    passed = 1 if request.node.callspec.params["client"] == "block" else 2
    made = client.chat.completions.create(model="m", messages=ASKED, n=2)
    assert [each.message.content for each in made.choices] == ["It is sunny"] * passed
    assert made.semtropy["outcome"] == "steady"
    said = ["", ""]
    for each in client.chat.completions.create(model="m", messages=ASKED, n=2, stream=True):
        said[each.choices[0].index] += each.choices[0].delta.content or ""
    assert said == ["It is sunny"] * passed + [""] * (2 - passed)

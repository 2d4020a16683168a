"""The gateway on structured answers: fields of a schema, tool calls and choices, with the official `openai` client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai", reason="needs the openai client: pip install openai")

from openai_upstream import Upstream, served  # noqa: E402
from semtropy import Verdict  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["city", "year"],
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    },
}
QUESTION = "When was the capital of Norway founded?"


def cities(prompt: str) -> dict[str, float]:
    return {json.dumps({"city": "Oslo", "year": 1000 + k}): 0.05 for k in range(20)}


class Calling(Upstream):
    """Calls a tool, whose argument `days` is never the same; in a stream its arguments come in pieces."""

    def _choice(self, body: dict[str, Any], chat: bool, index: int, number: int) -> dict[str, Any]:
        made = super()._choice(body, chat, index, number)
        arguments = json.dumps({"city": "Oslo", "days": 10 * number + index})
        call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {**made, "message": message, "logprobs": None, "finish_reason": "tool_calls"}

    async def _stream(self, send: Any, choice: dict[str, Any], chat: bool, *, cut: bool) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        arguments = choice["message"]["tool_calls"][0]["function"]["arguments"]
        first = {"index": 0, "id": "c", "type": "function", "function": {"name": "weather", "arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": each}} for each in (arguments[:5], arguments[5:])]
        for piece in (first, *pieces):
            await self._event(send, {"delta": {"tool_calls": [piece]}}, None)
        await self._event(send, {"delta": {}}, "tool_calls")
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})


def gateway(url: str, **settings: Any) -> Any:
    return served(create_app(Settings(upstream=f"{url}/v1", judge="exact", **settings)))


@pytest.fixture(scope="module")
def front() -> Iterator[str]:
    with served(Upstream(cities)) as url, gateway(url) as front:
        yield front


@pytest.fixture(scope="module")
def calling() -> Iterator[str]:
    with served(Calling(cities)) as url, gateway(url) as front:
        yield front


def ask(url: str, **options: Any) -> Any:
    """The completion, or all chunks of a stream."""
    messages = [{"role": "user", "content": QUESTION}]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-client", max_retries=0) as client:
        reply = client.chat.completions.create(model="m", messages=messages, temperature=0, **options)
        return list(reply) if options.get("stream") else reply


def fields_of(payload: dict[str, Any]) -> dict[str, str]:
    assert Verdict.from_dict(payload).fields
    return {field["name"]: field["outcome"] for field in payload["fields"]}


def test_a_schema_is_judged_field_by_field(front: str) -> None:
    reply = ask(front, response_format=FORMAT)
    assert json.loads(reply.choices[0].message.content)["city"] == "Oslo"
    assert fields_of(reply.semtropy) == {"city": "steady", "year": "flagged"}
    assert reply.semtropy["untrusted"] == ["year"]
    assert reply.semtropy["finish_reason"] == "stop"


def test_a_schema_in_a_stream(front: str) -> None:
    *_, last = ask(front, response_format=FORMAT, stream=True)
    assert fields_of(last.semtropy) == {"city": "steady", "year": "flagged"}


def test_the_headers_name_the_fields(front: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "response_format": FORMAT}
    reply = httpx.post(f"{front}/v1/chat/completions", json=body, timeout=60)
    assert reply.headers["x-semtropy-untrusted"] == "year"
    assert (
        "x-semtropy-untrusted"
        not in httpx.post(
            f"{front}/v1/chat/completions", json={**body, "response_format": {"type": "text"}}, timeout=60
        ).headers
    )


def test_json_without_a_schema_is_read_too(front: str) -> None:
    reply = ask(front, response_format={"type": "json_object"})
    assert fields_of(reply.semtropy) == {"city": "steady", "year": "flagged"}


def test_required_is_an_option(front: str) -> None:
    reply = ask(front, response_format=FORMAT, extra_body={"semtropy": {"required": ["city"]}})
    assert reply.semtropy["outcome"] == "steady"
    assert reply.semtropy["untrusted"] == ["year"]


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_are_judged_by_name_and_argument(calling: str, stream: bool) -> None:
    reply = ask(calling, tools=[TOOL], stream=stream)
    if stream:
        *_, reply = reply
    found = fields_of(reply.semtropy)
    assert found == {"tool": "steady", "weather.city": "steady", "weather.days": "flagged"}
    assert reply.semtropy["finish_reason"] == "tool_calls"


def test_a_call_that_nobody_asked_for_is_not_checked(calling: str) -> None:
    assert "skipped" in ask(calling).semtropy


def test_an_answer_in_text_beside_tools_is_a_field(front: str) -> None:
    reply = ask(front, tools=[TOOL], response_format=FORMAT)
    assert fields_of(reply.semtropy) == {
        "tool": "steady",
        "content.city": "steady",
        "content.year": "flagged",
    }


@pytest.mark.parametrize(
    "option", [{"semtropy": {"choices": ["yes", "no"]}}, {"guided_choice": ["yes", "no"]}]
)
def test_choices_are_found_in_the_answer(option: dict[str, Any]) -> None:
    spread = {"Yes.": 0.5, "yes, of course": 0.4, "YES": 0.1}
    with served(Upstream(lambda prompt: spread)) as url, gateway(url) as front:
        reply = ask(front, extra_body=option)
    assert reply.semtropy["outcome"] == "steady"
    assert reply.semtropy["cost"]["judge_calls"] == 0
    assert len(reply.semtropy["meanings"]) == 1


def test_a_withheld_answer_does_not_show_in_its_fields() -> None:
    with served(Upstream(cities)) as url, gateway(url, mode="block") as front:
        reply = ask(front, response_format=FORMAT)
    assert reply.semtropy["blocked"] is True
    assert reply.semtropy["untrusted"] == ["year"]
    assert "Oslo" not in reply.model_dump_json()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"city": {"$ref": "#/$defs/gone"}}},
        {"type": "object", "properties": []},
        {"type": "object", "enum": 5},
    ],
)
def test_a_schema_that_cannot_be_read_costs_no_answer(front: str, schema: dict[str, Any]) -> None:
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    reply = ask(front, response_format=wrapped)
    assert "Oslo" in reply.choices[0].message.content
    assert reply.semtropy["error"]["kind"] == "InputError"
    assert "schema" in reply.semtropy["error"]["message"]


def test_an_odd_type_in_a_schema_that_the_upstream_takes_costs_no_verdict(front: str) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "any"}, "year": {"type": "integer"}}}
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    fields = ask(front, response_format=wrapped).semtropy["fields"]
    assert [field["name"] for field in fields] == ["city", "year"]


def test_the_end_of_a_cut_answer_is_named() -> None:
    class Cut(Upstream):
        def _choice(self, body: dict[str, Any], chat: bool, index: int, number: int) -> dict[str, Any]:
            return {**super()._choice(body, chat, index, number), "finish_reason": "length"}

    with served(Cut(cities)) as url, gateway(url) as front:
        reply = ask(front)
    assert reply.semtropy["finish_reason"] == "length"
    assert reply.semtropy["outcome"] == "no answer"


def test_check_takes_a_schema_and_choices() -> None:
    """Against a model in this process: the request of the page's route."""
    spread = cities("")
    app = create_app(Settings(judge="exact"), model=ScriptedModel(default=spread))
    with served(app) as url:
        found = httpx.post(f"{url}/v1/check", json={"prompt": QUESTION, "schema": SCHEMA}, timeout=60).json()
        wrong = httpx.post(f"{url}/v1/check", json={"prompt": QUESTION, "required": ["city"]}, timeout=60)
    assert found["untrusted"] == ["year"]
    assert wrong.status_code == 400
    assert "goes with schema or tools" in wrong.json()["error"]["message"]


def test_unknown_token_counts_are_null() -> None:
    app = create_app(Settings(judge="exact"), model=ScriptedModel(default={"Oslo": 1.0}))
    with served(app) as url:
        usage = ask(url).usage
    assert usage.completion_tokens == 1
    assert usage.prompt_tokens is None
    assert usage.total_tokens is None


def test_the_built_in_model_answers_in_the_schema(smollm2: Any) -> None:
    with served(create_app(Settings(judge="exact", max_samples=2), model=smollm2)) as url:
        reply = ask(url, response_format=FORMAT)
    assert set(json.loads(reply.choices[0].message.content)) == {"city", "year"}
    assert set(fields_of(reply.semtropy)) == {"city", "year"}


def test_what_the_first_question_shows_of_log_probabilities_serves_the_next() -> None:
    """An answer at a low temperature is weighed once the upstream is known to report before the temperature."""
    spread = {"Paris it is": 0.9, "Lyon it is": 0.1}
    with served(Upstream(lambda prompt: spread)) as url, gateway(url, cache_size=0) as front:
        first = ask(front, logprobs=True, extra_body={"semtropy": {"rule": {"samples": 3}}})
        assert first.semtropy["samples"] == 3
        second = ask(front, logprobs=True)
    assert second.semtropy["samples"] == 0, "the answer's own probability decides"
    assert second.semtropy["agreement"]["mean"] == pytest.approx(0.9, abs=0.06)

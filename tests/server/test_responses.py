"""`/v1/responses` through the gateway, with the official `openai` client: the upstream's answer, and a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai", reason="needs the openai client: pip install openai")

from openai_upstream import served  # noqa: E402
from responses_upstream import ResponsesUpstream  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

STEADY, UNSURE = "What is the capital of France?", "Who was the mayor in 1911?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["city", "year"],
}
WEATHER = {
    "type": "function",
    "name": "weather",
    "strict": None,
    "parameters": {"type": "object", "required": ["city", "days"]},
}


def answers(question: str) -> dict[str, float]:
    if "mayor" in question:
        return {f"It was Dr {name}": 0.05 for name in "ABCDEFGHIJKLMNOPQRST"}
    if "rain" in question:
        calls = [
            [{"name": "weather", "arguments": json.dumps({"city": "Oslo", "days": k})}] for k in range(20)
        ]
        return {json.dumps(call): 0.05 for call in calls}
    if "founded" in question:
        return {json.dumps({"city": "Oslo", "year": 1000 + k}): 0.05 for k in range(20)}
    return {"It is Paris": 1.0}


def gateway(url: str, **settings: Any) -> Any:
    return served(create_app(Settings(upstream=f"{url}/v1", judge="exact", **settings)))


@pytest.fixture(scope="module")
def upstream() -> Iterator[tuple[ResponsesUpstream, str]]:
    app = ResponsesUpstream(answers)
    with served(app) as url:
        yield app, url


@pytest.fixture(scope="module")
def front(upstream: tuple[ResponsesUpstream, str]) -> Iterator[str]:
    with gateway(upstream[1]) as url:
        yield url


def client(url: str) -> Any:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="sk-client", max_retries=0)


def ask(url: str, question: Any, **options: Any) -> Any:
    """The response, or all events of a stream."""
    with client(url) as asked:
        reply = asked.responses.create(model="m", input=question, **options)
        return list(reply) if options.get("stream") else reply


def plain(response: Any) -> dict[str, Any]:
    data = response.model_dump()
    data.pop("semtropy", None)
    data.pop("id")
    return dict(data)


@pytest.mark.parametrize("question", [STEADY, UNSURE])
def test_a_response_is_the_upstreams_with_a_verdict(upstream: Any, front: str, question: str) -> None:
    direct = ask(upstream[1], question, temperature=0)
    through = ask(front, question, temperature=0)
    assert plain(through) == plain(direct)
    assert through.output_text == direct.output_text
    assert through.semtropy["question"] == question
    assert through.semtropy["answer"] == direct.output_text
    assert through.semtropy["flagged"] == (question == UNSURE)
    assert through.semtropy["finish_reason"] == "completed"


def test_samples_are_not_stored_and_have_the_clients_fields(upstream: Any, front: str) -> None:
    app = upstream[0]
    app.requests.clear()
    ask(front, UNSURE, instructions="Be brief.", temperature=0.2, max_output_tokens=50, metadata={"a": "b"})
    asked, *samples = app.requests
    assert asked == {
        "model": "m",
        "input": UNSURE,
        "instructions": "Be brief.",
        "temperature": 0.2,
        "max_output_tokens": 50,
        "metadata": {"a": "b"},
    }
    assert samples
    for body in samples:
        assert body["store"] is False
        assert body["temperature"] == 1.0
        assert (body["instructions"], body["max_output_tokens"]) == ("Be brief.", 50)
        assert "metadata" not in body


def test_a_stream_ends_with_a_response_that_has_the_verdict(upstream: Any, front: str) -> None:
    direct = ask(upstream[1], UNSURE, temperature=0, stream=True)
    through = ask(front, UNSURE, temperature=0, stream=True)
    assert [each.type for each in through] == [each.type for each in direct]
    assert [each.model_dump() for each in through[1:-1]] == [each.model_dump() for each in direct[1:-1]]
    last = through[-1].response
    assert last.semtropy["flagged"] is True
    assert last.semtropy["answer"] == last.output_text
    assert plain(last) == plain(direct[-1].response)


def test_the_streaming_helper_of_the_client_works(front: str) -> None:
    with client(front) as asked, asked.responses.stream(model="m", input=STEADY) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text == "It is Paris"


@pytest.mark.parametrize("stream", [False, True])
def test_a_flagged_response_is_withheld(upstream: Any, stream: bool) -> None:
    with gateway(upstream[1], mode="block", refusal="I am not sure.") as url:
        reply = ask(url, UNSURE, temperature=0, stream=stream)
        if stream:
            events = reply
            assert [each.delta for each in events if each.type == "response.output_text.delta"] == [
                "I am not sure."
            ]
            reply = events[-1].response
            assert events[-1].type == "response.incomplete"
            assert not any("Dr " in each.model_dump_json() for each in events)
    assert reply.output_text == "I am not sure."
    assert reply.status == "incomplete"
    assert reply.incomplete_details.reason == "content_filter"
    assert reply.semtropy["blocked"] is True
    assert "Dr " not in reply.model_dump_json()


def test_a_steady_one_is_not(upstream: Any) -> None:
    with gateway(upstream[1], mode="block") as url:
        assert ask(url, STEADY).output_text == "It is Paris"
        *_, last = ask(url, STEADY, stream=True)
    assert last.response.output_text == "It is Paris"
    assert last.response.semtropy["blocked"] is False


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_is_judged_by_field(front: str, stream: bool) -> None:
    text = {"format": {"type": "json_schema", "name": "city", "schema": SCHEMA}}
    reply = ask(front, "When was it founded?", text=text, stream=stream)
    reply = reply[-1].response if stream else reply
    assert {field["name"]: field["outcome"] for field in reply.semtropy["fields"]} == {
        "city": "steady",
        "year": "flagged",
    }


@pytest.mark.parametrize("stream", [False, True])
def test_function_calls_are_judged_by_name_and_argument(front: str, stream: bool) -> None:
    reply = ask(front, "Will it rain?", tools=[WEATHER], stream=stream)
    reply = reply[-1].response if stream else reply
    assert {field["name"]: field["outcome"] for field in reply.semtropy["fields"]} == {
        "tool": "steady",
        "weather.city": "steady",
        "weather.days": "flagged",
    }


def test_messages_as_input_are_read(front: str) -> None:
    parts = [{"type": "input_text", "text": UNSURE}]
    reply = ask(front, [{"role": "system", "content": "Brief."}, {"role": "user", "content": parts}])
    assert reply.semtropy["question"] == UNSURE


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tools": [{"type": "web_search"}]}, "the provider runs tools"),
        ({"conversation": "conv_1"}, "part of the stored conversation"),
        ({"background": True}, "in the background"),
    ],
)
def test_samples_that_would_do_more_than_answer_are_not_drawn(
    upstream: Any, front: str, fields: Any, said: str
) -> None:
    before = upstream[0].samples
    reply = ask(front, UNSURE, **fields)
    assert said in reply.semtropy["skipped"]
    assert upstream[0].samples == before


def test_a_cut_response_names_its_end() -> None:
    with served(ResponsesUpstream(answers, status="incomplete")) as url, gateway(url) as front:
        reply = ask(front, STEADY)
    assert reply.semtropy["finish_reason"] == "max_output_tokens"
    assert reply.semtropy["outcome"] == "no answer"


def test_what_a_reasoning_model_refuses_is_learned_once() -> None:
    app = ResponsesUpstream(answers, refuses=("temperature", "top_p", "include"))
    with served(app) as url, gateway(url, cache_size=0) as front:
        first = ask(front, UNSURE)
        refused = sum("temperature" in body for body in app.requests)
        ask(front, UNSURE)
    assert first.semtropy["flagged"] is True
    assert refused > 0
    assert sum("temperature" in body for body in app.requests) == refused


def test_a_stream_that_breaks_off_passes_and_says_so() -> None:
    with served(ResponsesUpstream(answers, broken=True)) as url, gateway(url) as front:
        body = {"model": "m", "input": STEADY, "stream": True}
        text = httpx.post(f"{front}/v1/responses", json=body, timeout=60).text
    assert "response.output_text.done" in text
    assert text.rstrip().splitlines()[-2] == "event: semtropy.verdict"


def test_an_error_of_the_upstream_passes(front: str) -> None:
    reply = httpx.post(f"{front}/v1/responses", json={"model": "m", "input": "?", "colour": 1}, timeout=60)
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == "colour"


def test_the_model_in_this_process_answers_too() -> None:
    app = create_app(Settings(judge="exact"), model=ScriptedModel(default={"It is Paris": 1.0}))
    with served(app) as url:
        reply = ask(url, STEADY)
        *_, last = ask(url, STEADY, stream=True)
    assert reply.output_text == last.response.output_text == "It is Paris"
    assert reply.semtropy["outcome"] == "steady"
    assert reply.usage.input_tokens is None


def test_verdicts_in_headers_only(upstream: Any) -> None:
    with gateway(upstream[1], place="headers") as url:
        body = {"model": "m", "input": STEADY}
        reply = httpx.post(f"{url}/v1/responses", json=body, timeout=60)
        streamed = httpx.post(f"{url}/v1/responses", json={**body, "stream": True}, timeout=60).text
    assert reply.headers["x-semtropy-verdict"] == "steady"
    assert "semtropy" not in reply.json()
    assert "\n: semtropy {" in streamed
    assert streamed.rstrip().splitlines()[-2] == "event: response.completed"

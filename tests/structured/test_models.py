"""Models that are asked for structured answers: what they are sent, and real ones that answer so."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import FixedSamples, acheck, check
from semtropy.errors import ModelError
from semtropy.models import load_model
from semtropy.models.constrained import JsonLlama, with_schema, with_tools
from semtropy.models.endpoint import Retry
from semtropy.models.scripted import ScriptedModel
from semtropy.structured import JsonAnswers
from semtropy.structured.document import find_json, plain
from semtropy.verdict import Outcome

SCHEMA = {
    "type": "object",
    "properties": {"capital": {"type": "string"}, "landlocked": {"type": "boolean"}},
    "required": ["capital", "landlocked"],
}
CLOSED = {**SCHEMA, "additionalProperties": False}
TEXT = json.dumps({"capital": "Paris", "landlocked": False})


def endpoint(fail: Any = None) -> ScriptedEndpoint:
    return ScriptedEndpoint(lambda prompt: {TEXT: 1.0}, fail)


def checked(served: ScriptedEndpoint, **options: Any) -> Any:
    with serving(served) as url:
        model = load_model("openai:m", base_url=url, retry=Retry(times=0))
        with closing(model):
            return check("Tell me about France.", model=model, judge="exact", rule=FixedSamples(3), **options)


@pytest.mark.parametrize(("schema", "strict"), [(SCHEMA, False), (CLOSED, True)])
def test_an_endpoint_is_asked_for_the_schema(schema: dict[str, Any], strict: bool) -> None:
    served = endpoint()
    verdict = checked(served, schema=schema)
    assert [field.name for field in verdict.fields] == ["capital", "landlocked"]
    for body in served.requests:
        named = {"name": "answer", "schema": schema, "strict": strict}
        assert body["response_format"] == {"type": "json_schema", "json_schema": named}
        assert json.dumps(schema) in body["messages"][0]["content"]
        assert body["max_tokens"] == 512, "64 tokens are enough for a name, not for an object"


def test_an_endpoint_that_refuses_response_format_is_asked_without_it() -> None:
    refusal = 400, {}, {"error": {"message": "response_format is not supported by this model"}}
    served = endpoint(lambda number, body: refusal if "response_format" in body else None)
    verdict = checked(served, schema=SCHEMA)
    assert verdict.outcome is Outcome.STEADY
    accepted = [body for body in served.requests if "response_format" not in body]
    assert len(served.requests) - len(accepted) <= 2, "it is learned once"
    assert json.dumps(SCHEMA) in accepted[0]["messages"][0]["content"]


def test_another_refusal_is_not_taken_for_that() -> None:
    refusal = 400, {}, {"error": {"message": "this model is not for you"}}
    with pytest.raises(ModelError, match="not for you"):
        checked(endpoint(lambda number, body: refusal), schema=SCHEMA)


def test_a_conversation_is_sent_as_it_is() -> None:
    served = endpoint()
    checked(served, schema=SCHEMA, system="Be precise.")
    assert served.requests[0]["messages"][0] == {"role": "system", "content": "Be precise."}
    assert "response_format" in served.requests[0]


class CallingEndpoint(ScriptedEndpoint):
    """Calls a tool instead of answering."""

    def choice(self, body: dict[str, Any], rng: Any, *, bare: bool) -> dict[str, Any]:
        made = super().choice(body, rng, bare=bare)
        function = {"name": "weather", "arguments": json.dumps({"city": "Oslo", "days": rng.randrange(1000)})}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]}
        return {**made, "message": message, "logprobs": None, "finish_reason": "tool_calls"}


def test_tools_are_sent_and_their_calls_judged() -> None:
    tool = {"name": "weather", "parameters": {"type": "object", "required": ["city", "days"]}}
    served = CallingEndpoint(lambda prompt: {"-": 1.0})
    with serving(served) as url:
        model = load_model("openai:m", base_url=url)
        with closing(model):
            verdict = check("Will it rain in Oslo?", model=model, judge="exact", tools=[tool], rng=1)
    assert served.requests[0]["tools"] == [{"type": "function", "function": tool}]
    assert {field.name: field.value for field in verdict.fields}["tool"] == "weather"
    assert verdict.untrusted == ("weather.days",)


def test_other_models_are_asked_as_they_are() -> None:
    model = ScriptedModel(default={TEXT: 1.0})
    assert with_schema(model, SCHEMA) is model
    assert with_tools(model, []) is model


def test_checks_of_a_named_endpoint_close_what_they_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(endpoint()) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        asked = acheck("France?", model="openai:m", schema=SCHEMA, judge="exact", rule=FixedSamples(2))
        verdict = asyncio.run(asked)
    assert verdict.outcome is Outcome.STEADY


# Real models


def test_the_built_in_model_answers_in_the_schema(smollm2: Any) -> None:
    model = with_schema(smollm2, SCHEMA)
    assert isinstance(model, JsonLlama)
    samples = model.sample("Tell me about France.", 4, rng=np.random.default_rng(1))
    parsed = [plain(node) for sample in samples if (node := find_json(sample.text)) is not None]
    assert len(parsed) >= 3, "one may break off at a line break"
    assert all(set(each) == {"capital", "landlocked"} for each in parsed), "no other keys are invented"
    assert all(isinstance(each["landlocked"], bool) for each in parsed)


def test_a_file_with_a_chat_template_gets_the_schema_in_a_message(smollm2: Any) -> None:
    chat = load_model(f"gguf:{smollm2.path}", max_tokens=60)
    samples = with_schema(chat, SCHEMA).sample("Tell me about France.", 2, rng=np.random.default_rng(1))
    parsed = [plain(node) for sample in samples if (node := find_json(sample.text)) is not None]
    assert parsed
    assert all(set(each) == {"capital", "landlocked"} for each in parsed)
    assert chat._ready is not None
    assert "Answer with JSON" in chat._ready
    assert '"landlocked"' in chat._ready


def test_a_real_server_gives_the_tokens_that_bound_each_field(llama_url: str) -> None:
    """The bound of the first field is that of its own tokens: above the probability of the whole answer."""
    model = load_model("openai:smollm2", base_url=llama_url)
    with closing(model):
        verdict = check(
            "What is the capital of France, and is it landlocked?",
            model=model,
            schema=CLOSED,
            judge="exact",
            rule=FixedSamples(2),
            rng=3,
        )
    assert [field.name for field in verdict.fields] == ["capital", "landlocked"]
    structure = JsonAnswers(CLOSED)
    assert all(structure.read(draw.text) is not None for draw in verdict.draws)
    whole = max(meaning.floor for meaning in verdict.meanings)
    first, second = (max(m.floor for m in field.meanings) for field in verdict.fields)
    assert 0 < whole <= second <= first <= 1

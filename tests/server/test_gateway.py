"""The official `openai` client through the gateway: what the upstream says, token for token, and a verdict."""

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
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402

STEADY, UNSURE = "What is the capital of France?", "Who was the mayor in 1911?"
SPREADS = {
    STEADY: {"It is Paris of course": 1.0},
    UNSURE: {f"It was Dr {name} Number": 0.05 for name in "ABCDEFGHIJKLMNOPQRST"},
}


def spread(prompt: str) -> dict[str, float]:
    return SPREADS.get(prompt, {"Yes": 0.7, "No": 0.3})


@pytest.fixture(scope="module")
def upstream() -> Iterator[tuple[Upstream, str]]:
    app = Upstream(spread)
    with served(app) as url:
        yield app, f"{url}/v1"


def gateway(url: str, **settings: Any) -> Any:
    return served(create_app(Settings(upstream=url, judge="exact", **settings)))


@pytest.fixture(scope="module")
def front(upstream: tuple[Upstream, str]) -> Iterator[str]:
    with gateway(upstream[1], upstream_model="m") as url:
        yield url


def client(url: str, key: str = "sk-client") -> Any:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


def ask(to: Any, prompt: str, **options: Any) -> Any:
    return to.chat.completions.create(
        model="m", messages=[{"role": "user", "content": prompt}], temperature=0, seed=7, **options
    )


def without_verdict(reply: Any) -> dict[str, Any]:
    data = reply.model_dump()
    data.pop("semtropy", None)
    data.pop("id")  # the upstream numbers its replies
    return dict(data)


@pytest.mark.parametrize("prompt", [STEADY, UNSURE])
def test_plain(upstream: tuple[Upstream, str], front: str, prompt: str) -> None:
    direct = ask(client(upstream[1].removesuffix("/v1")), prompt)
    through = ask(client(front), prompt)
    assert without_verdict(through) == without_verdict(direct)
    verdict = Verdict.from_dict(through.semtropy)
    assert verdict.question == prompt
    assert verdict.answer == direct.choices[0].message.content
    assert verdict.flagged == (prompt == UNSURE)
    assert verdict.samples == (1 if prompt == STEADY else verdict.samples)
    assert through.semtropy["blocked"] is False


@pytest.mark.parametrize("prompt", [STEADY, UNSURE])
def test_streaming(upstream: tuple[Upstream, str], front: str, prompt: str) -> None:
    direct = [
        chunk.model_dump() for chunk in ask(client(upstream[1].removesuffix("/v1")), prompt, stream=True)
    ]
    through = [chunk.model_dump() for chunk in ask(client(front), prompt, stream=True)]
    assert len(direct) > 3
    verdict = through[-1].pop("semtropy")
    assert through == direct, "a client that knows nothing of semtropy notices nothing"
    assert verdict["answer"] == "".join(c["choices"][0]["delta"].get("content") or "" for c in direct)
    assert verdict["flagged"] == (prompt == UNSURE)


def test_a_chunk_of_its_own_on_request(upstream: tuple[Upstream, str], front: str) -> None:
    direct = [each.model_dump() for each in ask(client(upstream[1].removesuffix("/v1")), STEADY, stream=True)]
    asked = ask(client(front), STEADY, stream=True, extra_body={"semtropy": {"place": "chunk"}})
    through = [chunk.model_dump() for chunk in asked]
    assert through[:-1] == direct
    assert (through[-1]["choices"], through[-1]["semtropy"]["flagged"]) == ([], False)


def test_the_bytes_before_the_verdict_are_the_upstreams(upstream: tuple[Upstream, str], front: str) -> None:
    body = {"model": "m", "prompt": STEADY, "stream": True}
    direct = httpx.post(f"{upstream[1]}/completions", json=body).content
    through = httpx.post(f"{front}/v1/completions", json=body).content
    head, _, _ = direct.partition(b"}\n\ndata: [DONE]")
    assert through.startswith(head + b',"semtropy":{')
    assert through.endswith(b"}}\n\ndata: [DONE]\n\n")
    body["stream"] = False
    direct = httpx.post(f"{upstream[1]}/completions", json=body).content
    through = httpx.post(f"{front}/v1/completions", json=body).content
    same = direct.partition(b'"object"')[2][:-1]
    assert same in through


def test_completions(front: str) -> None:
    plain = client(front).completions.create(model="m", prompt=UNSURE)
    assert plain.choices[0].text.startswith("It was Dr")
    assert plain.semtropy["flagged"] is True
    chunks = list(client(front).completions.create(model="m", prompt=STEADY, stream=True))
    assert "".join(c.choices[0].text for c in chunks[:-1]) == "It is Paris of course"
    assert chunks[-1].semtropy["flagged"] is False


def test_asynchronous_client(front: str) -> None:
    import asyncio

    async def talk() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{front}/v1", api_key="k") as to:
            return await ask(to, STEADY)

    assert asyncio.run(talk()).semtropy["flagged"] is False


def test_models(front: str) -> None:
    assert [model.id for model in client(front).models.list()] == ["m"]


def test_the_request_reaches_the_upstream_as_it_was(upstream: tuple[Upstream, str], front: str) -> None:
    app = upstream[0]
    before = len(app.requests)
    ask(client(front, key="sk-mine"), "a new one?", extra_body={"semtropy": {"cache": False}}, user="u-1")
    first, *samples = app.requests[before:]
    assert first == {
        "model": "m",
        "messages": [{"role": "user", "content": "a new one?"}],
        "temperature": 0,
        "seed": 7,
        "user": "u-1",
    }
    assert samples
    assert all(body["temperature"] == 1.0 and "semtropy" not in body for body in samples)
    assert all(body["messages"] == first["messages"] for body in samples)
    assert set(app.keys[before:]) == {"Bearer sk-mine"}


def test_an_upstream_error_comes_through(front: str) -> None:
    with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
        ask(client(front, key="wrong"), STEADY)


def test_options_of_a_request(front: str) -> None:
    chosen = {"rule": {"samples": 4}, "estimator": "histogram", "threshold": 0.1}
    reply = ask(client(front), UNSURE, extra_body={"semtropy": chosen})
    assert reply.semtropy["samples"] == 4
    assert reply.semtropy["threshold"] == 0.1
    off = ask(client(front), UNSURE, extra_body={"semtropy": {"mode": "off"}})
    assert not hasattr(off, "semtropy")
    with pytest.raises(openai.BadRequestError, match=r"budget\.samples: must be 0 or more"):
        ask(client(front), STEADY, extra_body={"semtropy": {"budget": {"samples": -1}}})
    with pytest.raises(openai.BadRequestError, match="choices: needs at least 2, not 1"):
        ask(client(front), STEADY, extra_body={"semtropy": {"choices": ["yes"]}})
    with pytest.raises(openai.BadRequestError, match="judge is 'nli:"):
        ask(client(front), STEADY, extra_body={"semtropy": {"judge": "nli:/etc"}})
    with pytest.raises(openai.BadRequestError, match="semtropy: thresold: unknown field"):
        ask(client(front), STEADY, extra_body={"semtropy": {"thresold": 1}})


def test_headers_alone(front: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": UNSURE}]}
    reply = httpx.post(
        f"{front}/v1/chat/completions", json=body, headers={"X-Semtropy": '{"place": "headers"}'}
    )
    assert "semtropy" not in reply.json()
    assert reply.headers["x-semtropy-verdict"] == "flagged"
    assert float(reply.headers["x-semtropy-entropy"]) > 0.69
    assert int(reply.headers["x-semtropy-samples"]) >= 1
    assert reply.headers["x-upstream"] == "scripted"
    reply = httpx.post(
        f"{front}/v1/chat/completions", json={**body, "stream": True, "semtropy": {"place": "headers"}}
    )
    comment = next(line for line in reply.text.splitlines() if line.startswith(": semtropy "))
    assert json.loads(comment.removeprefix(": semtropy "))["flagged"] is True


def test_block(upstream: tuple[Upstream, str]) -> None:
    with gateway(upstream[1], mode="block", refusal="No comment.") as url:
        held = ask(client(url), UNSURE, logprobs=True)
        assert held.choices[0].message.content == "No comment."
        assert held.choices[0].finish_reason == "content_filter"
        assert held.semtropy["blocked"] is True
        assert "It was Dr" not in held.model_dump_json()
        chunks = list(ask(client(url), UNSURE, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "No comment."
        assert all("It was Dr" not in chunk.model_dump_json() for chunk in chunks)
        passed = ask(client(url), STEADY)
        assert passed.choices[0].message.content == "It is Paris of course"
        chunks = list(ask(client(url), STEADY, stream=True))
        assert (
            "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "It is Paris of course"
        )
        assert chunks[-1].semtropy["blocked"] is False


def test_the_answer_itself_is_judged(upstream: tuple[Upstream, str]) -> None:
    """Samples that agree with each other speak against an answer that says something else."""
    answers = {"Who sang it?": {"Elvis": 1.0}}
    app = Upstream(lambda prompt: answers[prompt])
    with served(app) as base, gateway(f"{base}/v1") as url:
        asked = {"model": "m", "messages": [{"role": "user", "content": "Who sang it?"}]}
        right = httpx.post(f"{url}/v1/chat/completions", json=asked).json()["semtropy"]
        assert (right["outcome"], right["source"]) == ("steady", "new")
        assert [meaning["has_answer"] for meaning in right["meanings"]] == [True]
        answers["Who sang it?"] = {"Cher": 1.0}
        wrong = httpx.post(f"{url}/v1/chat/completions", json=asked).json()["semtropy"]
        assert (wrong["answer"], wrong["source"]) == ("Cher", "cached")
        assert wrong["agreement"]["mean"] < right["agreement"]["mean"]
        assert [meaning["has_answer"] for meaning in wrong["meanings"]] == [False, True]
        assert wrong["outcome"] == "flagged"


def test_a_stream_that_is_held_back_has_its_verdict_in_the_headers_too(
    upstream: tuple[Upstream, str],
) -> None:
    with gateway(upstream[1], mode="block", place="headers") as url:
        for prompt, word in ((UNSURE, "flagged"), (STEADY, "steady")):
            body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "stream": True}
            reply = httpx.post(f"{url}/v1/chat/completions", json=body)
            assert reply.headers["content-type"].startswith("text/event-stream")
            assert reply.headers["x-semtropy-verdict"] == word
            assert reply.headers["x-semtropy-blocked"] == ("true" if prompt == UNSURE else "false")
            assert reply.text.endswith("data: [DONE]\n\n")
            assert ("It was Dr" in reply.text, "It is" in reply.text) == (False, prompt == STEADY)


def test_a_stream_that_breaks_while_it_is_held_back_is_an_error() -> None:
    app = Upstream(spread, fault=lambda number: "cut" if number == 1 else None)
    with served(app) as base, gateway(f"{base}/v1", mode="block") as url:
        with pytest.raises(openai.APIStatusError, match="broke off") as caught:
            list(ask(client(url), STEADY, stream=True))
        assert caught.value.status_code == 502


def test_an_upstream_that_is_not_there_is_named_in_words() -> None:
    with gateway("http://127.0.0.1:1/v1") as url:
        reply = httpx.get(f"{url}/v1/models")
    assert reply.status_code == 502
    assert reply.json()["error"]["message"].startswith("the upstream cannot be reached: is it running")


def test_a_check_that_fails_leaves_the_answer(upstream: tuple[Upstream, str]) -> None:
    """The answer's own request is fine, all that come after it are refused."""
    app = Upstream(spread, fault=lambda number: None if number % 20 == 1 else 403)
    with served(app) as base:
        with gateway(f"{base}/v1") as url:
            reply = ask(client(url), STEADY)
            assert reply.choices[0].message.content == "It is Paris of course"
            assert reply.semtropy["error"]["kind"] == "BadKey"
            page = httpx.get(f"{url}/metrics").text
            assert 'semtropy_checks_total{outcome="error"} 1.0' in page
        app.count = 0
        with gateway(f"{base}/v1", mode="block", on_error="block") as url:
            assert "not sure enough" in ask(client(url), STEADY).choices[0].message.content


def test_an_upstream_that_is_cut_or_away() -> None:
    def first_cut(number: int) -> str | None:
        return "cut" if number == 1 else None

    for streaming in (True, False):
        app = Upstream(spread, fault=first_cut)
        with served(app) as base, gateway(f"{base}/v1") as url:
            with pytest.raises(openai.APIError, match="broke off"):
                list(ask(client(url), STEADY, stream=streaming))
            assert httpx.get(f"{url}/healthz").status_code == 200
    with gateway("http://127.0.0.1:9/v1") as url, pytest.raises(openai.APIStatusError, match="be reached"):
        ask(client(url), STEADY)


def test_answers_without_a_question_in_words_pass(front: str) -> None:
    image = [{"type": "image_url", "image_url": {"url": "data:,x"}}]
    reply = client(front).chat.completions.create(model="m", messages=[{"role": "user", "content": image}])
    assert "nothing was checked" in reply.semtropy["skipped"]


def test_check_asks_the_upstream(front: str) -> None:
    reply = httpx.post(f"{front}/v1/check", json={"prompt": STEADY}, headers={"Authorization": "Bearer sk-c"})
    assert Verdict.from_dict(reply.json()).answer == "It is Paris of course"


def test_the_built_in_model_answers_without_an_upstream() -> None:
    from semtropy.models.scripted import ScriptedModel

    app = create_app(Settings(judge="exact"), model=ScriptedModel(SPREADS))
    with served(app) as url:
        assert ask(client(url), STEADY).choices[0].message.content == "It is Paris of course"
        chunks = list(ask(client(url), UNSURE, stream=True))
        assert chunks[0].choices[0].delta.content.startswith("It was Dr")
        assert chunks[-1].semtropy["flagged"] is True
        assert client(url).completions.create(model="any", prompt=STEADY).semtropy["flagged"] is False
        assert [model.id for model in client(url).models.list()] == ["scripted"]


def test_a_real_llama_cpp_server(tiny_llama_url: str) -> None:
    """Token for token what llama.cpp's own server says to the same client, plain and streaming."""
    asked: dict[str, Any] = {"max_tokens": 12, "extra_body": {"cache_prompt": False}}
    to_it = openai.OpenAI(base_url=tiny_llama_url, api_key="none", max_retries=0)
    with gateway(tiny_llama_url, max_samples=2) as url:
        direct = ask(to_it, STEADY, **asked)
        through = ask(client(url), STEADY, **asked)
        assert through.choices[0].message.content == direct.choices[0].message.content
        assert through.usage.completion_tokens == direct.usage.completion_tokens
        cut = direct.choices[0].finish_reason == "length"
        assert (through.semtropy["outcome"] == "no answer") == cut
        assert (0 if cut else 1) <= through.semtropy["samples"] <= 2
        pieces = [
            chunk.choices[0].delta.content
            for chunk in ask(to_it, STEADY, stream=True, **asked)
            if chunk.choices
        ]
        chunks = list(ask(client(url), STEADY, stream=True, **asked))
        assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices] == pieces
        assert chunks[-1].semtropy["answer"] == "".join(piece or "" for piece in pieces).strip()


def test_the_operators_second_model_flags_what_the_upstream_repeats(upstream: tuple[Upstream, str]) -> None:
    other = Upstream(lambda prompt: {"It is Lyon of course": 1.0})
    with served(other) as second, served(Upstream(spread)) as same:
        settings: dict[str, Any] = {"second": "openai:o", "second_key": "operator-key"}
        with gateway(upstream[1], second_url=f"{second}/v1", **settings) as url:
            found = ask(client(url), STEADY).semtropy
            assert found["outcome"] == "flagged"
            assert found["second"]["instead"] == "It is Lyon of course"
            assert ask(client(url), UNSURE).semtropy["outcome"] == "flagged"
        assert {each["authorization"] for each in other.headers} == {"Bearer operator-key"}
        with gateway(upstream[1], second_url=f"{second}/v1", mode="block", **settings) as url:
            held = ask(client(url), STEADY)
            assert held.semtropy["blocked"] is True
            assert "Lyon" not in held.model_dump_json()
            assert "Paris" not in held.model_dump_json()
        with gateway(upstream[1], second_url=f"{same}/v1", **settings) as url:
            found = ask(client(url), STEADY).semtropy
            assert found["outcome"] == "steady"
            assert found["second"]["agree"] == 1
    with gateway(upstream[1], second="openai:o", second_url="http://127.0.0.1:9/v1") as url:
        found = ask(client(url), STEADY).semtropy
        assert found["outcome"] == "steady"
        assert any("gave no answer" in note for note in found["warnings"])

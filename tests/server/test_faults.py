"""Whatever goes wrong in a check, the client has its answer; what a request may break, it breaks for itself only."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import ODD, Upstream, served  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.dialects import ChatDialect  # noqa: E402
from semtropy.server.settings import Settings  # noqa: E402
from semtropy.server.sse import EventSplitter, event  # noqa: E402

ANSWER = "It is Paris of course"
JSON = {"Content-Type": "application/json"}


def spread(prompt: str) -> dict[str, float]:
    return {ANSWER: 0.6, "It is Lyon": 0.4} if "sure" not in prompt else {ANSWER: 1.0}


def gateway(base: str, **settings: Any) -> Any:
    return served(create_app(Settings(**{"upstream": f"{base}/v1", "judge": "exact", **settings})))


def body(**fields: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "user", "content": "Who?"}],
        "seed": 1,
        "temperature": 0,
    } | fields


def read(reply: Any) -> tuple[str, dict[str, Any]]:
    """The answer a client puts together, and what is under `semtropy`."""
    if reply.headers["content-type"].startswith("text/event-stream"):
        assert reply.text.endswith("data: [DONE]\n\n")
        chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        assert not any("error" in chunk for chunk in chunks)
        parts = [c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]]
        return "".join(str(part) for part in parts), chunks[-1]["semtropy"]
    data = reply.json()
    return str(data["choices"][0]["message"]["content"]), data["semtropy"]


# Answers


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", sorted(ODD))
def test_samples_that_are_odd_do_not_cost_the_answer(fault: str, stream: bool) -> None:
    app = Upstream(spread, fault=lambda number: fault if number > 1 else None)
    with served(app) as base, gateway(base) as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=body(stream=stream), timeout=60)
        assert reply.status_code == 200
        text, found = read(reply)
    assert text == ANSWER
    assert ("entropy" in found) == (fault in ("surrogate", "split", "list", "bytes")), found
    if "error" in found:
        assert found["error"]["kind"] == "BadReply"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["annotate", "block"])
@pytest.mark.parametrize("fault", sorted(set(ODD) - {"gzip"}))
def test_an_answer_that_is_odd_comes_through_as_it_is(fault: str, mode: str, stream: bool) -> None:
    def faults(number: int) -> str | None:
        # Samples that say the same, where the text is odd: else the answer would be flagged, and blocked.
        return fault if number == 1 or fault in ("surrogate", "split") else None

    app = Upstream(lambda prompt: {ANSWER: 1.0}, fault=faults)
    with served(app) as base, gateway(base, mode=mode) as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=body(stream=stream), timeout=60)
        assert reply.status_code == 200
        if fault == "deep" and not stream:  # nothing can be read from it, and nothing added
            assert f'"content": "{ANSWER}"' in reply.text
            assert reply.headers["x-semtropy-verdict"] == "none"
            return
        text, found = read(reply)
    expected = {"surrogate": f"{ANSWER} \ud800", "split": f"{ANSWER} \ud83d\ude00", "number": "5"}
    if fault == "list":
        assert ANSWER in text
    else:
        assert text.encode("utf-16", "surrogatepass") == expected.get(fault, ANSWER).encode(
            "utf-16", "surrogatepass"
        )
    assert "entropy" in found or found == {
        "skipped": "the answer has no text to compare: nothing was checked"
    }
    if fault == "split":
        assert found["answer"] == f"{ANSWER} \U0001f600"
    if fault == "surrogate":
        assert found["answer"] == f"{ANSWER} \ufffd"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["annotate", "block", "off"])
def test_an_answer_that_cannot_be_unpacked_is_the_upstreams_error(mode: str, stream: bool) -> None:
    app = Upstream(spread, fault=lambda number: "gzip" if number == 1 else None)
    with served(app) as base, gateway(base, mode=mode) as url:
        sent = body(stream=stream)
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=sent, timeout=60) as reply:
            raw = b"".join(reply.iter_raw())
        if mode == "off":  # byte for byte what the upstream sent
            assert (reply.status_code, reply.headers["content-encoding"]) == (200, "gzip")
            assert raw == b"\x1f\x8b\x08\0 this is not gzip"
        elif stream and mode == "annotate":
            assert "cannot be unpacked" in raw.decode()
        else:
            assert (reply.status_code, json.loads(raw)["error"]["type"]) == (502, "upstream_error")


def test_packed_answers_are_unpacked_and_a_flood_of_them_is_passed_on() -> None:
    import gzip

    class Packing(Upstream):
        async def _json(self, send: Any, status: int, content: Any, *, cut: bool = False) -> None:
            data = gzip.compress(json.dumps(content).encode())
            headers = [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": data})

    long = ANSWER + " and so on" * 20_000
    for text, verdict in ((ANSWER, "steady"), (long, "none")):
        app = Packing(lambda prompt, text=text: {text: 1.0})  # type: ignore[misc]
        with served(app) as base, gateway(base, max_reply=50_000) as url:
            reply = httpx.post(f"{url}/v1/chat/completions", json=body(), timeout=60)
            assert reply.json()["choices"][0]["message"]["content"] == text
            assert reply.headers["x-semtropy-verdict"] == verdict


def test_a_number_that_no_float_holds_is_passed_on() -> None:
    app = Upstream(spread)
    with served(app) as base, gateway(base) as url:
        raw = json.dumps(body(user=7)).replace('"user": 7', '"user": 1e999').encode()
        reply = httpx.post(f"{url}/v1/chat/completions", content=raw, headers=JSON)
        assert reply.json()["choices"][0]["message"]["content"] == ANSWER
        assert reply.json()["semtropy"]["error"]["kind"] == "InputError"
        chosen = raw[:-1] + b', "semtropy": {"cache": false}}'
        reply = httpx.post(f"{url}/v1/chat/completions", content=chosen, headers=JSON)
        assert reply.status_code == 400
        assert "X-Semtropy" in reply.json()["error"]["message"]


class Broken:
    """A judge and an estimator that fail as no one expects."""

    def entails(self, batch: Any) -> Any:
        raise ZeroDivisionError("a secret of the inside")


@pytest.mark.parametrize("stream", [False, True])
def test_a_fault_of_ours_leaves_the_answer(stream: bool) -> None:
    several = {ANSWER: 0.1} | {f"It is city {n}": 0.05 for n in range(18)}  # ten samples are never all alike
    with served(Upstream(lambda _: several)) as base:
        app = create_app(Settings(upstream=f"{base}/v1", upstream_model="m"), judge=Broken())
        with served(app) as url:
            sent = body(stream=stream, semtropy={"rule": {"samples": 10}})
            text, found = read(httpx.post(f"{url}/v1/chat/completions", json=sent))
            assert text == ANSWER
            assert found["error"]["kind"] == "ZeroDivisionError"
            assert "secret" not in json.dumps(found)
            asked = {"prompt": "Who?", "rule": {"samples": 10}, "stream": stream}
            checked = httpx.post(f"{url}/v1/check", json=asked)
            assert (checked.status_code == 500) != stream
            assert "internal error" in checked.text


# Requests


def odd_requests() -> list[tuple[str, str, bytes, dict[str, str]]]:
    user = [{"role": "user", "content": "a"}]
    plain = json.dumps({"model": "m", "messages": user}).encode()
    found = [
        ("POST", "/v1/chat/completions", plain[:-1] + b', "semtropy": ' + value + b"}", {"X-Semtropy": "{}"})
        for value in (b"[1]", b'"x"', b"1")
    ]
    for depth in (300, 450, 700, 900):
        nested = b"[" * depth + b"1" + b"]" * depth
        found.append(("POST", "/v1/chat/completions", b'{"model": "m", "messages": ' + nested + b"}", {}))
        found.append(("POST", "/v1/completions", b'{"model": "m", "prompt": ' + nested + b"}", {}))
    found += [
        ("POST", "/v1/check", b'{"prompt": "a", "\\ud800": 1}', {}),
        ("POST", "/api/replay", b'{"prompt": "a", "\\ud800": 1}', {}),
        ("POST", "/v1/check", b'{"prompt": "a", "budget": {"tokens": ' + b"9" * 400 + b"}}", {}),
        ("POST", "/v1/check", b'{"prompt": "a", "budget": {"samples": ' + b"9" * 400 + b"}}", {}),
        ("GET", "/page/%00", b"", {}),
        ("GET", "/page/" + "a" * 5000, b"", {}),
        ("GET", "/page/main.js", b"", {"Range": "bytes=" + "9" * 5000 + "-"}),
        ("GET", "/page/main.js", b"", {"If-Modified-Since": "Sun, 99 Nov 99999999999 00:00:00 GMT"}),
        ("GET", "/v1/models", b"", {"Authorization": "Bearer \xff"}),
    ]
    return found


@pytest.fixture(scope="module")
def local() -> Any:
    model = ScriptedModel(default={"yes": 0.6, "no": 0.4})
    with served(create_app(Settings(judge="exact"), model=model)) as url:
        yield url


@pytest.mark.parametrize(("method", "path", "content", "headers"), odd_requests())
def test_an_odd_request_is_refused_not_failed(
    local: str, method: str, path: str, content: bytes, headers: dict[str, str]
) -> None:
    sent = [(name.encode(), value.encode("latin-1")) for name, value in (JSON | headers).items()]
    reply = httpx.request(method, local + path, content=content, headers=sent)
    assert reply.status_code < 500, reply.text


# Time


class Stalling(ScriptedModel):
    """Answers twice, and never again."""

    def __init__(self) -> None:
        super().__init__(default={f"name {k}": 0.125 for k in range(8)})
        self.draws, self.stalled = 0, threading.Event()

    async def asample(self, *prompt: Any, **options: Any) -> Any:
        self.draws += 1
        if self.draws > 2:
            self.stalled.set()
            await asyncio.Future()
        return await super().asample(*prompt, **options)


def test_a_client_that_leaves_an_unstreamed_check_ends_it() -> None:
    model = Stalling()
    app = create_app(Settings(judge="exact"), model=model)
    with served(app) as url:
        asked = json.dumps({"prompt": "Who?", "one_by_one": True, "rule": {"samples": 10}}).encode()
        kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(asked)
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=60) as to:
            to.sendall(b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\n" + kind + asked)
            assert model.stalled.wait(60)
        runs, deadline = app.state.gateway.checks.runs, time.monotonic() + 60
        while len(runs) and time.monotonic() < deadline:  # one that was cancelled is not kept
            time.sleep(0.01)
        assert len(runs) == 0
        assert model.draws == 3


class Stubborn:
    """A judge that works until it is released, from its third call on, and cannot be interrupted."""

    def __init__(self) -> None:
        self.released, self.longest, self.calls = threading.Event(), 0, 0

    def entails(self, batch: Any) -> Any:
        self.longest = max(self.longest, *(len(text) for triple in batch for text in triple))
        self.calls += 1
        if self.calls > 2:
            self.released.wait(60)
        return [0.0] * len(batch)


def test_the_budget_of_seconds_holds_while_the_judge_works() -> None:
    model = ScriptedModel(default={f"name {k}": 0.125 for k in "abcdefgh"})
    judge = Stubborn()
    with served(create_app(Settings(), model=model, judge=judge)) as url:
        asked = {
            "prompt": "Who?",
            "budget": {"seconds": 0.5},
            "one_by_one": True,
            "rule": {"samples": 10},
            "seed": 1,
        }
        try:
            found = httpx.post(f"{url}/v1/check", json=asked, timeout=30).json()
        finally:
            judge.released.set()
        assert judge.calls == 3
        assert "seconds" in found["reason"] or "time" in found["reason"].lower()


def test_a_megabyte_of_answer_is_judged_by_its_ends() -> None:
    judge = Stubborn()
    judge.released.set()
    model = ScriptedModel(default={f"word {k} " * 150_000: 0.25 for k in range(4)})
    with served(create_app(Settings(), model=model, judge=judge)) as url:
        asked = {"prompt": "Who?", "rule": {"samples": 4}, "seed": 1}  # which draws different ones
        found = httpx.post(f"{url}/v1/check", json=asked, timeout=30).json()
    assert 500 < judge.longest < 1100
    assert any("compared by their beginning and end" in warning for warning in found["warnings"])


def test_the_splitter_takes_linear_time() -> None:
    """Small pieces of one large event: the same bytes in half as many pieces take about half as long."""
    raw = b"data: " + b"x" * 800_000 + b"\n\n"

    def seconds(size: int) -> float:
        splitter, start, found = EventSplitter(), time.perf_counter(), []
        for at in range(0, size, 64):
            found += splitter.feed(raw[at : min(size, at + 64)])
        found.append(splitter.take())
        assert b"".join(found) == raw[:size]
        return time.perf_counter() - start

    seconds(len(raw))
    assert min(seconds(len(raw)) for _ in range(3)) < 12 * min(seconds(len(raw) // 4) for _ in range(3))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("blank", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
def test_a_blank_line_ends_an_event_however_its_lines_end(blank: bytes, size: int) -> None:
    splitter, raw = EventSplitter(), b"data: 1" + blank + b"data: 2" + blank
    found = [each for at in range(0, len(raw), size) for each in splitter.feed(raw[at : at + size])]
    assert found == [b"data: 1" + blank, b"data: 2" + blank]


def test_the_splitter_holds_no_more_than_its_limit() -> None:
    splitter = EventSplitter(limit=1000)
    found = [piece for _ in range(100) for piece in splitter.feed(b"x" * 99)]
    assert all(len(piece) <= 1099 for piece in found)
    assert len(b"".join(found)) + len(splitter.take()) == 9900


def test_a_reader_keeps_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semtropy.server.dialects._CHARACTERS", 10)
    reader = ChatDialect("chat").reader()
    for _ in range(5):
        reader.feed(event({"choices": [{"delta": {"content": "abc"}}]}))
    answer = reader.answer()
    assert answer is not None
    assert answer.sample.text == "abcabcabca"
    assert not answer.alone, "the rest was not judged"


def test_many_odd_answers_at_once_do_not_disturb_each_other() -> None:
    kinds = [None, *sorted(ODD), "cut", 500, 429]
    app = Upstream(
        lambda prompt: {f"the answer to {prompt}": 1.0},
        fault=lambda number: kinds[number % len(kinds)],
        keep=False,
    )

    async def all_of_them(url: str) -> list[Any]:
        async with httpx.AsyncClient(timeout=60) as client:
            asked = [
                {"model": "m", "messages": [{"role": "user", "content": f"q{k}"}], "stream": k % 2 == 0}
                for k in range(60)
            ]
            return await asyncio.gather(
                *(client.post(f"{url}/v1/chat/completions", json=each) for each in asked)
            )

    with served(app) as base, gateway(base, concurrency=64) as url:
        replies = asyncio.run(all_of_them(url))
    for number, reply in enumerate(replies):
        assert reply.status_code in (200, 429, 500, 502)
        others = [
            k
            for k in range(60)
            if k != number and f"q{k} " in f"{reply.text} " and f'answer to q{k}"' in reply.text
        ]
        assert not others

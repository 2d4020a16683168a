"""Replies of an endpoint that are odd, broken or hostile: read as far as possible, or refused with one clear line."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from semtropy import Budget, acheck, check
from semtropy.errors import BadKey, BadReply, InputError, ModelError, ModelTimeout, SemtropyError
from semtropy.models import Retry, load_model
from semtropy.models.endpoint import Endpoint
from semtropy.models.replies import chat_sample
from semtropy.verdict import Outcome

PASSWORD = "p%40ss-SECRET"
TOKEN = "azure-SECRET-token"
KEY = "sk-SECRETKEY1234567890"
Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hostile

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append(dict(self.headers))
        self.server.reply(self)

    def log_message(self, *args: Any) -> None:
        pass

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


class Hostile(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, str]] = []
        self.reply: Reply = sends(answer())
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def check(self, **options: Any) -> Any:
        settings = {"base_url": self.url, "api_key": KEY, "timeout": 5.0, "retry": Retry(times=1, base=0.001)}
        with closing(load_model("openai:m", **(settings | options))) as model:
            return check("Capital of France?", model=model, judge="exact", rng=1, budget=Budget(samples=6))


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    server = Hostile()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


def sends(body: Any, status: int = 200, **headers: str) -> Reply:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler: handler.send(status, content, **({"Content_Type": "application/json"} | headers))


def answer(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": "Paris"}, "finish_reason": "stop", **choice}]}


def weighed(*entries: Any) -> dict[str, Any]:
    return answer(logprobs={"content": list(entries)})


UNUSABLE = {
    "null": weighed({"token": "Paris", "logprob": -0.1}, {"token": "<end>", "logprob": None}),
    "absent": weighed({"token": "Paris"}),
    "a list": answer(logprobs=[1, 2]),
    "text": answer(logprobs="x"),
    "text inside": answer(logprobs={"content": "abc"}),
    "numbers inside": answer(logprobs={"content": [1, 2]}),
    "a dict": weighed({"token": "Paris", "logprob": {}}),
    "bytes of -1": weighed({"token": "Paris", "logprob": -0.5, "bytes": [-1]}),
    "bytes of 1.5e9": weighed({"token": "Paris", "logprob": -0.5, "bytes": 1_500_000_000}),
    "bytes as text": weighed({"token": "Paris", "logprob": -0.5, "bytes": "Paris"}),
    "other tokens": weighed({"token": "Lon", "logprob": -0.1}, {"token": "don", "logprob": -0.1}),
    "old, too few": answer(logprobs={"tokens": ["Paris", "<e>"], "token_logprobs": [-0.1]}),
    "old, null": answer(logprobs={"tokens": ["Paris", "<e>"], "token_logprobs": [None, -0.1]}),
    "old, missing": answer(logprobs={"tokens": ["Paris", "<e>"]}),
    "certain": weighed({"token": "Paris", "logprob": -1e-300}, {"token": "<e>", "logprob": -1e-300}),
}


@pytest.mark.parametrize("body", UNUSABLE.values(), ids=UNUSABLE)
def test_log_probabilities_that_cannot_be_read_do_not_cost_the_answer(hostile: Hostile, body: Any) -> None:
    hostile.reply = sends(body)
    verdict = hostile.check()
    assert (verdict.answer, verdict.outcome) == ("Paris", Outcome.STEADY)
    assert verdict.samples >= 5
    assert "no sample has a usable log-probability: the belief rests on counts alone" in verdict.warnings


WHOLE = {"token": "Paris", "logprob": -0.05}, {"token": "<e>", "logprob": -0.01}


@pytest.mark.parametrize("finish", ["STOP", "COMPLETE", "eos", "", None])
def test_an_end_by_any_name_is_an_end(finish: Any) -> None:
    sample = chat_sample(weighed(*WHOLE)["choices"][0] | {"finish_reason": finish})
    assert sample.complete
    assert sample.logprob == pytest.approx(-0.06)


@pytest.mark.parametrize("finish", ["banana", ["stop"], {}, 5])
def test_an_end_by_an_unknown_name_leaves_the_answer_without_its_probability(finish: Any) -> None:
    sample = chat_sample(weighed(*WHOLE)["choices"][0] | {"finish_reason": finish})
    assert sample.complete
    assert sample.logprob is sample.prefix_logprob is None


@pytest.mark.parametrize(
    "finish", ["length", "MAX_TOKENS", "model_length", "content_filter", "tool_calls", "SAFETY"]
)
def test_what_was_cut_off_is_not_complete(finish: str) -> None:
    sample = chat_sample(weighed(*WHOLE)["choices"][0] | {"finish_reason": finish})
    assert not sample.complete


ERRORS = {
    "error": {"error": {"message": "the model is overloaded", "code": 500}},
    "error as text": {"error": "the model is overloaded"},
    "detail": {"detail": "the model is overloaded"},
    "object": {"object": "error", "message": "the model is overloaded"},
    "no choices": {"choices": [], "error": {"message": "the model is overloaded"}},
    "in a choice": {
        "choices": [
            {
                "error": {"message": "the model is overloaded"},
                "message": {"content": ""},
                "finish_reason": "error",
            }
        ]
    },
}


@pytest.mark.parametrize("body", ERRORS.values(), ids=ERRORS)
def test_an_error_with_status_200_is_told(hostile: Hostile, body: Any) -> None:
    hostile.reply = sends(body)
    with pytest.raises(BadReply, match="the model is overloaded"):
        hostile.check()


CODECS = [
    "base64",
    "hex",
    "rot13",
    "zlib",
    "bz2",
    "quopri",
    "idna",
    "undefined",
    "utf-16",
    "utf-7",
    "no-such",
]


@pytest.mark.parametrize("charset", CODECS)
def test_an_error_page_in_an_odd_encoding(hostile: Hostile, charset: str) -> None:
    hostile.reply = sends(b"<html>oops", 400, Content_Type=f"text/html; charset={charset}")
    with pytest.raises(ModelError, match="<html>oops"):
        hostile.check()


@pytest.mark.parametrize("param", [["n"], {"a": 1}, 5, True, None])
def test_the_parameter_of_an_error_may_be_anything(hostile: Hostile, param: Any) -> None:
    hostile.reply = sends({"error": {"message": "will not", "param": param}}, 400)
    with pytest.raises(ModelError, match="will not"):
        hostile.check()


def test_a_trickle_ends(hostile: Hostile) -> None:
    def trickle(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not hostile.over.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    hostile.reply, start = trickle, time.monotonic()
    with pytest.raises(ModelTimeout, match="the reply did not end"):
        hostile.check(timeout=0.1)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_with_the_key(hostile: Hostile, status: int) -> None:
    other = Hostile()
    try:
        hostile.reply = sends(b"", status, Location=f"{other.url}/chat/completions")
        with pytest.raises(ModelError, match=str(status)):
            hostile.check()
        assert not other.asked
    finally:
        other.shutdown()
        other.server_close()


def test_a_gzip_bomb_is_not_unpacked(hostile: Hostile) -> None:
    hostile.reply = sends(gzip.compress(b" " * 100_000_000, 1), Content_Encoding="gzip")
    with pytest.raises(BadReply, match="longer than 64000000 bytes"):
        hostile.check()


def nested_gzip(times: int) -> bytes:
    packed = b" " * 300_000_000
    for _ in range(times):
        packed = gzip.compress(packed, 9 if len(packed) < 1_000_000 else 1)
    return packed


def test_a_bomb_packed_several_times_is_not_unpacked_at_all(hostile: Hostile) -> None:
    """A few hundred bytes, packed three times, are gigabytes; no server packs twice."""
    hostile.reply = sends(nested_gzip(3), Content_Encoding="gzip, gzip, gzip")
    tracemalloc.start()
    with pytest.raises(BadReply, match="its encoding was not asked for"):
        hostile.check()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"choices": [' + b"{}," * 5_000_000 + b"{}]}", "more than 1000000 lists and objects"),
        (b'{"choices": [' + b'"ab",' * 5_000_000 + b"{}]}", "more than 4000000 values"),
    ],
    ids=["objects", "texts"],
)
def test_a_reply_of_nothing_but_brackets_takes_little_memory(
    hostile: Hostile, body: bytes, says: str
) -> None:
    hostile.reply = sends(body)
    tracemalloc.start()
    with pytest.raises(BadReply, match=says):
        hostile.check(retry=Retry(times=0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * len(body)


def test_more_choices_than_were_asked_for_are_not_read(hostile: Hostile) -> None:
    odd = {"message": {"content": 5}}  # which would be an error
    hostile.reply = sends({"choices": answer()["choices"] * 64 + [odd]})
    assert hostile.check().answer == "Paris"


@pytest.mark.parametrize("new_model", [True, False])
def test_checks_in_event_loops_of_their_own_leave_nothing_open(hostile: Hostile, new_model: bool) -> None:
    def model() -> Any:
        return load_model("openai:m", base_url=hostile.url, api_key=KEY)

    def run(model: Any) -> int:
        options = {"judge": "exact", "rng": 1, "budget": Budget(samples=2)}
        assert asyncio.run(acheck("Capital of France?", model=model, **options)).answer == "Paris"
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    shared = model()
    counts = [run(model() if new_model else shared) for _ in range(8)]
    # The server's ends of the connections close a moment later, in other threads.
    assert counts[-1] <= counts[0] + 3


SECRETS = {
    "whole": f"bad key {KEY}",
    "in two lines": f"bad key {KEY[:9]}\n {KEY[9:]}",
    "a header's": f"bad token {TOKEN}",
    "inside": {"message": {"nested": KEY}},
}


@pytest.mark.parametrize("message", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("status", [200, 400, 401, 404, 418, 429, 500])
def test_no_key_is_in_an_error_or_a_log(
    hostile: Hostile, message: Any, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    hostile.reply = sends({"error": {"message": message}}, status)
    with caplog.at_level(logging.DEBUG), pytest.raises(SemtropyError) as raised:
        hostile.check(headers={"api-key": TOKEN})
    said = "".join(traceback.format_exception(raised.value)) + caplog.text + repr(raised.value)
    assert "SECRET" not in said.replace("BadKey", "")
    assert hostile.asked[0]["Authorization"] == f"Bearer {KEY}"


def test_the_password_of_an_address_is_sent_but_not_logged(
    hostile: Hostile, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        verdict = hostile.check(base_url=hostile.url.replace("//", f"//me:{PASSWORD}@"), api_key=None)
    assert verdict.answer == "Paris"
    assert "SECRET" not in caplog.text
    assert hostile.asked[0]["Authorization"] == "Basic bWU6cEBzcy1TRUNSRVQ="
    hostile.reply = sends({"error": f"{unquote(PASSWORD)} is wrong"}, 401)
    with pytest.raises(BadKey) as raised:
        hostile.check(base_url=hostile.url.replace("//", f"//me:{PASSWORD}@"), api_key=None)
    assert "SECRET" not in "".join(traceback.format_exception(raised.value))


def test_a_token_in_the_path_of_an_address_is_not_shown(
    hostile: Hostile, caplog: pytest.LogCaptureFixture
) -> None:
    address = hostile.url.replace("/v1", "/azure-SECRET-t0ken/v1")
    hostile.reply = sends({"error": "no route /azure-SECRET-t0ken/v1/chat"}, 404)
    with caplog.at_level(logging.DEBUG, "semtropy"), pytest.raises(ModelError) as raised:
        hostile.check(base_url=address)
    hostile.reply = sends({}, 503)
    with caplog.at_level(logging.DEBUG, "semtropy"), pytest.raises(ModelError) as again:
        hostile.check(base_url=address)
    said = "".join(traceback.format_exception(raised.value) + traceback.format_exception(again.value))
    assert "SECRET" not in said + caplog.text
    assert f"127.0.0.1:{hostile.server_port}/***/v1" in said, "the rest of the address helps"


@pytest.mark.parametrize(
    "address",
    [
        "ftp://host/SECRET-t0ken/v1",
        "http://host:99999/SECRET-t0ken/v1",
        "me:SECRET@host/v1",
        "http://me:SECRET@host:99999/v1",
        "http://me:SECRET@host:port/v1",
        "http://host/v1?key=SECRET",
        "http://host/v1#SECRET",
        "http://me:SECRET@/v1",
        "http://me:SECRET@[::bad/v1",
        "http://",
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(InputError, match="base_url") as raised:
        Endpoint(address)
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("host", ["a..b", "x" * 70 + ".invalid", "exa mple", "a\u0000b"])
def test_a_host_that_is_none_is_one_line(host: str) -> None:
    with (
        pytest.raises((InputError, ModelError)),
        closing(load_model("openai:m", base_url=f"http://{host}/v1", retry=Retry(times=0))) as model,
    ):
        model.sample("?", 1)

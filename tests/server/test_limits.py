"""Bounded whatever is sent: heads, bodies, connections, names; and tenants that see nothing of each other."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from uvicorn.server import ServerState  # noqa: E402

from openai_upstream import Upstream, served  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.backends.upstream import KnownHabits  # noqa: E402
from semtropy.server.serve import LimitedProtocol, ServerConfig  # noqa: E402
from semtropy.server.settings import Settings, allowed_hosts  # noqa: E402

UNSURE = {f"name {k}": 0.125 for k in range(8)}
BODY = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}


@contextmanager
def limited(**settings: Any) -> Iterator[tuple[str, int]]:
    """A gateway behind its own protocol, as `semtropy serve` runs it: host and port."""
    chosen = Settings(judge="exact", **settings)
    app = create_app(chosen, model=ScriptedModel(default=UNSURE))
    with served(app, config=ServerConfig, limits=chosen) as url:
        yield "127.0.0.1", int(url.rpartition(":")[2])


def connect(address: tuple[str, int]) -> Any:
    made = socket.create_connection(address, timeout=20)
    return closing(made)


def answer(to: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while part := to.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def post(
    to: socket.socket, path: str, body: bytes, kind: bytes = b"application/json", length: int | None = None
) -> None:
    size = len(body) if length is None else length
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    to.sendall(head % (path.encode(), kind, size) + body)


# Connections


def test_a_head_has_a_size() -> None:
    with limited(max_header=20_000) as address, connect(address) as to:
        to.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        sent = 0
        try:
            for _ in range(4000):  # 40 MB, if nobody stops it
                to.sendall(b"a" * 10_000)
                sent += 10_000
        except OSError:
            pass
        assert sent < 20_000_000
    with limited(max_header=20_000) as address, connect(address) as to:
        to.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: "
            + b"a" * 15_000
            + b"\r\nConnection: close\r\n\r\n"
        )
        assert answer(to).startswith(b"HTTP/1.1 200")
        assert httpx.get(f"http://127.0.0.1:{address[1]}/healthz").status_code == 200


CHUNKED = (
    b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
)


@pytest.mark.parametrize("trailer", [b"X-Long: " + b"a" * 990 + b"\r\n", b"a" * 1000], ids=["many", "one"])
def test_trailers_have_a_size(trailer: bytes) -> None:
    """The lines after the last chunk of a body are a head, too."""
    with limited(max_header=20_000) as address, connect(address) as to:
        to.sendall(CHUNKED + (b"" if b":" in trailer else b"X-Long: "))
        sent = 0
        try:
            for _ in range(40_000):  # 40 MB, if nobody stops it
                to.sendall(trailer)
                sent += len(trailer)
        except OSError:
            pass
        assert sent < 20_000_000


def test_trailers_are_no_headers() -> None:
    with limited() as address, connect(address) as to:
        body = b'{"model": "m", "messages": [{"role": "user", "content": "Who?"}]}'
        start = CHUNKED.partition(b"2\r\n")[0].replace(b"/v1/check", b"/v1/chat/completions")
        tail = b"0\r\nX-Semtropy: {\r\nConnection: close\r\n\r\n"
        to.sendall(b"%b%x\r\n%b\r\n%b" % (start, len(body), body, tail))
        assert to.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "start", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: y"]
)
def test_a_head_must_come_in_time(start: bytes) -> None:
    with limited(client_timeout=0.5) as address, connect(address) as to:
        to.sendall(start)
        found = answer(to)
        assert found.startswith(b"HTTP/1.1 408") if start else found == b""


def test_a_second_head_must_come_in_time_too() -> None:
    with limited(client_timeout=0.5) as address, connect(address) as to:
        to.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal")
        found = answer(to)
        assert found.startswith(b"HTTP/1.1 200")
        assert b"HTTP/1.1 408" in found


def test_a_body_must_come_in_time() -> None:
    with limited(client_timeout=0.5) as address, connect(address) as to:
        post(to, "/v1/check", b'{"prompt', length=1000)
        found = answer(to)
        assert found.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in found.lower()


def test_a_refusal_is_read_even_if_the_body_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection closed with bytes unread is reset, and the client may lose the reply."""
    monkeypatch.setattr("semtropy.server.middleware.DRAIN_SECONDS", 60.0)
    with limited() as address, connect(address) as to:
        post(to, "/v1/check", b"", b"text/plain", length=4)
        assert (
            httpx.get(f"http://127.0.0.1:{address[1]}/healthz").status_code == 200
        )  # the head was read by now
        to.sendall(b"Who?")
        found = to.recv(65536)
        assert found.startswith(b"HTTP/1.1 415")
        assert b"connection: close" not in found.lower()


def test_a_body_that_never_comes_is_not_waited_for() -> None:
    with limited() as address, connect(address) as to:
        post(to, "/v1/check", b"", b"text/plain", length=4)
        assert answer(to).startswith(b"HTTP/1.1 415")


def flood(to: socket.socket) -> None:
    while True:
        to.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)


def test_a_reply_must_be_read_in_time() -> None:
    """A client that asks without end and reads nothing is cut off."""
    with limited(client_timeout=0.5) as address, connect(address) as to:
        to.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        to.settimeout(3)  # a close may wait behind what the client has not read, and then it can send no more
        with pytest.raises((ConnectionError, TimeoutError)):
            flood(to)
        to.settimeout(20)
        answer(to)  # what is left ends


class Stuck(asyncio.Transport):
    """A transport whose client reads nothing: closing it waits for that, aborting it does not."""

    def __init__(self) -> None:
        super().__init__({"sockname": ("127.0.0.1", 80), "peername": ("127.0.0.1", 9)})
        self.aborted, self._closing = asyncio.Event(), False

    def write(self, data: Any) -> None:
        pass

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    def abort(self) -> None:
        self._closing = True
        self.aborted.set()

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def refuse_everything(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"no HTTP\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 2000,
    ],
    ids=["closed", "kept alive", "not HTTP", "too long"],
)
def test_a_connection_that_is_closed_ends_though_its_client_reads_nothing(sent: bytes) -> None:
    async def serve() -> None:
        limits = Settings(max_header=1000, client_timeout=0.1)
        config = ServerConfig(refuse_everything, limits=limits, log_config=None, timeout_keep_alive=0.01)
        protocol, transport = LimitedProtocol(config, ServerState(), {}), Stuck()
        protocol.connection_made(transport)
        protocol.data_received(sent)
        await asyncio.wait_for(transport.aborted.wait(), 10)
        protocol.connection_lost(None)

    asyncio.run(serve())


def test_connections_have_a_number() -> None:
    with limited(max_connections=5) as address, ExitStack() as stack:
        held = [stack.enter_context(connect(address)) for _ in range(5)]
        for one in held:  # each is known to the server once it is answered
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one.recv(100).startswith(b"HTTP/1.1 200")
        with connect(address) as late:
            assert answer(late).startswith(b"HTTP/1.1 503")
        held[0].close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with connect(address) as again:
                again.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                if answer(again).startswith(b"HTTP/1.1 200"):
                    return
        raise AssertionError("no connection after one was closed")


def test_bodies_being_received_have_a_number() -> None:
    with limited(concurrency=1, queue=1, client_timeout=5.0) as address, ExitStack() as stack:
        for _ in range(2):
            post(stack.enter_context(connect(address)), "/v1/check", b"{", length=1000)
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            reply = httpx.post(f"http://127.0.0.1:{address[1]}/v1/check", json={"prompt": "a"})
            if reply.status_code == 429:
                return
        raise AssertionError("never refused")


# Hosts


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:80", 200),
        ("127.0.0.1:9999", 200),
        ("[::1]:8080", 200),
        ("rebound.example", 421),
        ("localhost.rebound.example", 421),
        ("127.0.0.1.rebound.example:8080", 421),
        ("", 421),
    ],
)
def test_loopback_is_asked_by_its_own_names_only(host: str, status: int) -> None:
    app = create_app(Settings(judge="exact"), model=ScriptedModel(default=UNSURE))
    with served(app) as url:
        for path in ("/healthz", "/", "/v1/models"):
            assert httpx.get(f"{url}{path}", headers={"Host": host}).status_code == status


def test_which_hosts_are_served() -> None:
    assert allowed_hosts(Settings(host="0.0.0.0")) is None
    assert allowed_hosts(Settings(hosts=("*",))) is None
    assert allowed_hosts(Settings(host="0.0.0.0", hosts=("Gate.example",))) == {"gate.example"}
    assert "127.0.0.2" in (allowed_hosts(Settings(host="127.0.0.2")) or ())


# Tenants


def test_a_check_is_not_served_to_another_tenant() -> None:
    with served(Upstream(lambda prompt: {"Yes": 0.6, "No": 0.4})) as base:
        settings = Settings(judge="exact", upstream=f"{base}/v1", upstream_model="m", keys=("one", "two"))
        with served(create_app(settings)) as url:
            sources = []
            tenants: list[dict[str, str]] = [
                {"X-Semtropy-Key": "one"},
                {"X-Semtropy-Key": "two"},
                {"X-Semtropy-Key": "one", "Authorization": "Bearer sk-a"},
                {"X-Semtropy-Key": "one", "Authorization": "Bearer sk-b"},
                {"X-Semtropy-Key": "one", "OpenAI-Organization": "org-a"},
                {"X-Semtropy-Key": "one", "OpenAI-Organization": "org-b"},
                {"X-Semtropy-Key": "one", "OpenAI-Project": "project"},
            ]
            for headers in (*tenants, tenants[0]):
                checked = httpx.post(f"{url}/v1/check", json={"prompt": "Who?"}, headers=headers)
                chatted = httpx.post(f"{url}/v1/chat/completions", json=BODY, headers=headers)
                sources.append((checked.json()["source"], chatted.json()["semtropy"]["source"]))
    assert sources == [("new", "new")] * len(tenants) + [("cached", "cached")]


def test_samples_are_drawn_as_the_same_tenant_as_the_answer() -> None:
    app = Upstream(lambda prompt: {"Yes": 0.6, "No": 0.4})
    with served(app) as base, served(create_app(Settings(judge="exact", upstream=f"{base}/v1"))) as url:
        headers = {"OpenAI-Organization": "org", "OpenAI-Project": "project", "Authorization": "Bearer sk"}
        httpx.post(f"{url}/v1/chat/completions", json=BODY, headers=headers)
    assert len(app.headers) > 1
    for sent in app.headers:
        assert (sent["openai-organization"], sent["openai-project"]) == ("org", "project")
        assert sent["authorization"] == "Bearer sk"


def test_the_gateways_own_key_does_not_go_upstream() -> None:
    app = Upstream(lambda prompt: {"Yes": 0.6, "No": 0.4})
    with served(app) as base:
        settings = Settings(judge="exact", upstream=f"{base}/v1", upstream_model="m", keys=("gate",))
        with served(create_app(settings)) as url:
            headers = {"Authorization": "Bearer gate"}
            assert httpx.post(f"{url}/v1/chat/completions", json=BODY, headers=headers).status_code == 200
            assert httpx.post(f"{url}/v1/check", json={"prompt": "Who?"}, headers=headers).status_code == 200
            assert httpx.get(f"{url}/v1/models", headers=headers).status_code == 200
    assert len(app.keys) > 2
    assert set(app.keys) == {""}


def test_errors_do_not_show_the_upstreams_address() -> None:
    gone = "http://127.0.0.1:9"
    faulty = Upstream(lambda prompt: {"Yes": 1.0}, fault=lambda number: 500 if number > 1 else None)
    with served(faulty) as base:
        for address, paths in ((gone, ("chat", "check")), (base, ("chat",))):
            settings = Settings(judge="exact", upstream=f"{address}/v1", upstream_model="m", max_seconds=5)
            with served(create_app(settings)) as url:
                for path in paths:
                    if path == "chat":
                        reply = httpx.post(f"{url}/v1/chat/completions", json=BODY, timeout=30)
                    else:
                        reply = httpx.post(f"{url}/v1/check", json={"prompt": "a"}, timeout=30)
                    assert "error" in reply.text
                    assert address.removeprefix("http://") not in reply.text
                    assert "127.0.0.1" not in reply.text


def test_a_redirect_is_not_handed_on() -> None:
    async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = [(b"location", b"http://inside.example/secret")]
            await send({"type": "http.response.start", "status": 307, "headers": headers})
            await send({"type": "http.response.body", "body": b""})

    with served(elsewhere) as base, served(create_app(Settings(judge="exact", upstream=base))) as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=BODY)
        assert reply.status_code == 502
        assert "inside" not in reply.text + str(reply.headers)


def test_names_of_models_do_not_fill_a_map() -> None:
    known = KnownHabits(size=3)
    for number in range(100):
        known.get(("key",), f"model {number}", "/x").refused |= {"seed"}
    assert len(known) == 3
    assert known.get(("key",), "model 99", "/x").refused == {"seed"}
    assert known.get(("key",), "model 1", "/x").refused == frozenset()
    assert known.get(("another key",), "model 99", "/x").refused == frozenset()

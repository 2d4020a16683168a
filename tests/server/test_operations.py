"""Running the gateway: limits, keys, logs, counters, settings, shared checks, workers, an orderly end."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from openai_upstream import Upstream, served  # noqa: E402
from semtropy import Verdict  # noqa: E402
from semtropy.cli import main  # noqa: E402
from semtropy.errors import InputError  # noqa: E402
from semtropy.models.scripted import ScriptedModel  # noqa: E402
from semtropy.server.app import create_app  # noqa: E402
from semtropy.server.settings import Settings, flag_fields  # noqa: E402
from semtropy.server.telemetry import PARTS, JSONFormatter, Metrics  # noqa: E402
from semtropy.verdict import Outcome  # noqa: E402

EVEN = {f"name {k}": 0.125 for k in "abcdefgh"}
REFUSED = 'semtropy_requests_total{route="/v1/check",status="429"}'
PATIENCE = 180.0  # seconds for what takes one or two, unless the machine is busy


def gateway(model: Any = None, **settings: Any) -> Any:
    return served(create_app(Settings(judge="exact", **settings), model=model or ScriptedModel(default=EVEN)))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with gateway(max_prompt=1000, max_body=20_000, prior="default") as address:  # the same terms each time
        yield address


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with httpx.Client() as open_one:
        yield open_one


def counters(url: str) -> dict[str, float]:
    """The samples of /metrics by their whole name, labels and all."""
    return counted(httpx.get(f"{url}/metrics").text)


def counted(page: str) -> dict[str, float]:
    pairs = (line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


# Checking


def test_check_and_its_stream_say_the_same(url: str) -> None:
    body = {"prompt": "Who?", "seed": 3, "cache": False}
    plain = httpx.post(f"{url}/v1/check", json=body).json()
    events = httpx.post(f"{url}/v1/check", json={**body, "stream": True}).text.strip().split("\n\n")
    names = [event.splitlines()[0].removeprefix("event: ") for event in events]
    data = [json.loads(event.splitlines()[1].removeprefix("data: ")) for event in events]
    assert names == ["terms", *["step"] * (len(names) - 2), "verdict"]
    last = data[-1]
    assert {**Verdict.from_dict(last).to_dict(), "cost": None} == {
        **Verdict.from_dict(plain).to_dict(),
        "cost": None,
    }
    steps = data[1:-1]
    assert sum(len(step["samples"]) for step in steps) == plain["samples"]
    assert steps[-1]["reason"] == plain["reason"]
    for step in steps:
        curve = step["entropy"]["curve"]
        width = curve["reach"] / len(curve["x"])
        assert sum(curve["density"]) * width == pytest.approx(1.0, abs=0.01)
        low, high = step["entropy"]["interval"]
        within = sum(d * width for x, d in zip(curve["x"], curve["density"], strict=True) if low <= x <= high)
        assert within == pytest.approx(0.9, abs=0.08)


def test_the_what_if_of_the_same_terms_is_the_check_itself(url: str) -> None:
    rule = {"variance": 0.01}
    body = {"prompt": "Who?", "seed": 4, "stream": True, "cache": False, "rule": rule}
    events = httpx.post(f"{url}/v1/check", json=body).text.strip().split("\n\n")
    data = [json.loads(event.splitlines()[1].removeprefix("data: ")) for event in events]
    samples = [sample for step in data[1:-1] for sample in step["samples"]]
    asked = {"prompt": "Who?", "answer": data[-2]["answer"], "samples": samples, "rule": rule}
    again = httpx.post(f"{url}/api/replay", json=asked).json()["verdict"]
    for name in ("entropy", "agreement", "samples", "outcome", "reason", "meanings", "answer"):
        assert again[name] == data[-1][name]
    fewer = httpx.post(f"{url}/api/replay", json={**asked, "rule": {"samples": 2}}).json()["verdict"]
    assert fewer["samples"] == 2
    samples[0]["meaning"] = 3
    wrong = httpx.post(f"{url}/api/replay", json={**asked, "samples": samples})
    assert wrong.status_code == 400
    assert "samples: meanings[0] is 3" in wrong.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/check", b"{", 400),
        ("/v1/check", b'{"prompt": "a", "rule": {"variance": 0.1, "samples": 2}}', 400),
        ("/v1/check", b'{"prompt": "a", "seed": NaN}', 400),
        ("/v1/check", b'{"prompt": "\\ud800"}', 400),
        ("/v1/check", b'{"prompt": "   "}', 400),
        ("/v1/check", b'{"prompt": "a", "model": "other"}', 404),
        ("/v1/check", json.dumps({"prompt": "a" * 1001}).encode(), 413),
        ("/v1/check", b'"' + b"a" * 20_000 + b'"', 413),
        ("/v1/chat/completions", b"[]", 400),
        ("/v1/chat/completions", b'{"messages": "x"}', 400),
        ("/v1/chat/completions", b'{"messages": [1, null, {"role": "user"}]}', 400),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "\\ud800"}]}', 400),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "a"}], "semtropy": 3}', 400),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "a"}], "n": "x"}', 400),
        ("/v1/chat/completions", b"[" * 9_000, 400),
        (
            "/v1/completions",
            json.dumps({"prompt": "a" * 1001}).encode(),
            413,
        ),
        ("/v1/nothing", b"{}", 404),
    ],
)
def test_bad_requests(url: str, path: str, body: bytes, status: int) -> None:
    reply = httpx.post(f"{url}{path}", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == status, reply.text
    assert reply.json()["error"]["message"]


def test_a_form_of_another_site_is_refused(url: str) -> None:
    assert httpx.post(f"{url}/v1/check", content=b'{"prompt": "a"}').status_code == 415
    reply = httpx.post(f"{url}/v1/check", content=b"{}", headers={"Content-Type": "text/plain"})
    assert reply.status_code == 415


def test_an_endless_body_is_cut_off(url: str) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    reply = httpx.post(f"{url}/v1/check", content=endless(), headers={"Content-Type": "application/json"})
    assert reply.status_code == 413


@given(body=st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["messages", "prompt", "role", "content", "semtropy", "rule", "stream", "n"]), inner, max_size=4
    ),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_a_fuzzed_body_is_never_a_failure(url: str, client: Any, body: bytes) -> None:
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/check", "/api/replay"):
        reply = client.post(f"{url}{path}", content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code < 500


# Keys


def test_keys() -> None:
    app = Upstream(lambda prompt: {"Yes": 1.0})
    with served(app) as base, gateway(keys=("first", "second"), upstream=f"{base}/v1") as url:
        body = {"model": "m", "messages": [{"role": "user", "content": "Sure?"}]}

        def post(**headers: str) -> Any:
            return httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)

        for wrong in (
            {},
            {"Authorization": "Bearer firs"},
            {"Authorization": "Bearer"},
            {"Authorization": "first"},
        ):
            reply = post(**wrong)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
        assert app.count == 0
        assert post(Authorization="Bearer second").status_code == 200
        app.keys.clear()
        both = {"X-Semtropy-Key": "first", "Authorization": "Bearer upstreams-own"}
        assert post(**both).status_code == 200
        assert set(app.keys) == {"Bearer upstreams-own"}
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert httpx.get(f"{url}/").status_code == 200


def test_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))
    with gateway(keys=("first", "second")) as url:
        httpx.get(f"{url}/v1/models", headers={"Authorization": "Bearer first"})
    assert compared == [(b"first", b"first"), (b"first", b"second")]


def test_an_operators_key_goes_upstream_instead_of_the_clients() -> None:
    app = Upstream(lambda prompt: {"Yes": 1.0})
    with served(app) as base, gateway(upstream=f"{base}/v1", upstream_key="sk-op") as url:
        body = {"model": "m", "messages": [{"role": "user", "content": "Sure?"}]}
        httpx.post(f"{url}/v1/chat/completions", json=body, headers={"Authorization": "Bearer x"})
    assert set(app.keys) == {"Bearer sk-op"}


def reachable(root: object) -> str:
    """Every text that can be reached from `root` without going through code."""
    code = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.FrameType)
    seen, waiting, texts = {id(root)}, [root], []
    while waiting:
        for found in gc.get_referents(waiting.pop()):
            if isinstance(found, str | bytes):
                texts.append(found if isinstance(found, str) else found.decode("latin-1"))
            elif id(found) not in seen and not isinstance(found, code):
                seen.add(id(found))
                waiting.append(found)
    return "\n".join(texts)


def test_a_clients_key_is_not_kept() -> None:
    """Nothing the gateway holds after its requests has the key in it; the questions it remembers are found."""
    with served(Upstream(lambda prompt: {"Yes": 0.6, "No": 0.4})) as base:
        app = create_app(Settings(judge="exact", upstream=f"{base}/v1"))
        with served(app) as url:
            with httpx.Client(headers={"Authorization": "Bearer sk-to-be-forgotten"}) as client:
                for stream in (False, True):
                    messages = [{"role": "user", "content": f"Remembered {stream}?"}]
                    body = {"model": "m", "messages": messages, "stream": stream}
                    assert client.post(f"{url}/v1/chat/completions", json=body).status_code == 200
                    asked = {"model": "m", "prompt": "Sure?", "stream": stream}
                    assert client.post(f"{url}/v1/check", json=asked).status_code == 200
            deadline, kept = time.monotonic() + 10, "to-be-forgotten"
            while "to-be-forgotten" in kept and time.monotonic() < deadline:
                time.sleep(0.1)  # until the connection is closed on the gateway's side too
                gc.collect()
                kept = reachable(app.state.gateway)
    assert "Remembered True?" in kept
    assert "to-be-forgotten" not in kept


# Logs and counters


def test_logs_are_json_without_prompts_or_keys(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "the-prompt-nobody-may-see"
    # Another test of this process may have configured logging: the records are taken from the logger itself.
    ours_alone = logging.getLogger("semtropy.server")
    for name, value in {"disabled": False, "propagate": False, "handlers": [caplog.handler]}.items():
        monkeypatch.setattr(ours_alone, name, value)
    with (
        caplog.at_level(logging.DEBUG, logger="semtropy.server"),
        gateway(ScriptedModel({secret: EVEN}), keys=("a-key",)) as url,
    ):
        headers = {"Authorization": "Bearer a-key"}
        httpx.post(f"{url}/v1/check", json={"prompt": secret}, headers=headers)
        httpx.post(f"{url}/v1/check", json={"prompt": f"{secret} unknown"}, headers=headers)
        body = {"model": "m", "messages": [{"role": "user", "content": secret}]}
        httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    ours = [record for record in caplog.records if record.name.startswith("semtropy")]
    lines = [json.loads(JSONFormatter().format(record)) for record in ours]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["route"] for line in requests] == ["/v1/check", "/v1/check", "/v1/chat/completions"]
    assert [line["status"] for line in requests] == [200, 502, 200]
    assert requests[0]["flagged"] is True
    assert not any(word in json.dumps(lines) for word in (secret, "a-key", "name 1"))


def test_an_exception_is_logged_without_its_message() -> None:
    try:
        raise ValueError("quotes the prompt")
    except ValueError:
        record = logging.LogRecord("semtropy", 40, __file__, 1, "failure", (), sys.exc_info())
    line = JSONFormatter().format(record)
    assert json.loads(line)["error"] == "ValueError"
    assert "quotes" not in line


def test_counters_are_exact() -> None:
    with gateway(ScriptedModel({"sure": {"yes": 1.0}, "unsure": EVEN}), variance=0.05) as url:
        replies = [
            httpx.post(f"{url}/v1/check", json={"prompt": prompt, "seed": seed}).json()
            for prompt in ("sure", "unsure")
            for seed in (1, 2, 2)
        ]
        httpx.post(f"{url}/v1/check", json={"prompt": "unknown to the script"})
        found = counters(url)
    new = [reply for reply in replies if reply["source"] == "new"]
    assert len(new) == 4
    for outcome in Outcome:
        told = sum(reply["outcome"] == outcome for reply in replies)
        assert found[f'semtropy_checks_total{{outcome="{outcome}"}}'] == told
    assert found['semtropy_checks_total{outcome="error"}'] == 1
    assert found['semtropy_runs_total{source="new"}'] == 5
    assert found['semtropy_runs_total{source="cached"}'] == 2
    assert found["semtropy_samples_total"] == sum(reply["samples"] for reply in new)
    assert found["semtropy_samples_saved_total"] == sum(10 - reply["samples"] for reply in new)
    assert found["semtropy_judge_pairs_total"] == sum(reply["cost"]["judge_calls"] for reply in new)
    assert found['semtropy_requests_total{route="/v1/check",status="200"}'] == 6
    assert found['semtropy_errors_total{kind="ModelError"}'] >= 1
    assert found['semtropy_seconds_count{part="check"}'] == 4
    rounds = sum(reply["rounds"] for reply in new)
    assert found['semtropy_seconds_count{part="estimating"}'] == rounds
    assert found['semtropy_seconds_count{part="concluding"}'] == 4
    assert found['semtropy_seconds_count{part="judging"}'] >= 1
    assert found['semtropy_seconds_count{part="upstream"}'] == 0


@pytest.mark.parametrize("streaming", [False, True])
def test_the_latency_of_each_part_is_told(streaming: bool) -> None:
    """The upstream waits before its first byte and between words; each part holds as much as it should."""
    app = Upstream(lambda prompt: {"a b c d": 1.0}, first=0.1, between=0.1)
    with served(app) as base, gateway(upstream=f"{base}/v1") as url:
        body = {"model": "m", "messages": [{"role": "user", "content": "Sure?"}], "stream": streaming}
        httpx.post(f"{url}/v1/chat/completions", json=body)
        found = counters(url)
        described = next(
            line for line in httpx.get(f"{url}/metrics").text.splitlines() if "HELP semtropy_seconds " in line
        )
    spent = {part: found[f'semtropy_seconds_sum{{part="{part}"}}'] for part in PARTS}
    counts = {part: found[f'semtropy_seconds_count{{part="{part}"}}'] for part in PARTS}
    # Estimated twice: with the samples, and once the answer was compared with them.
    assert counts == dict.fromkeys(PARTS, 1.0) | {"judging": 0.0, "estimating": 2.0}
    assert all(part in described for part in PARTS)
    assert 0.1 <= spent["first_byte"] <= spent["upstream"]
    assert spent["upstream"] >= (0.5 if streaming else 0.1)
    assert 0.1 <= spent["sampling"] <= spent["check"]
    assert 0 < spent["estimating"] < spent["check"]


# Sharing and limits


class Held(ScriptedModel):
    """Counts draws, and answers once it is released."""

    def __init__(self) -> None:
        super().__init__(default=EVEN)
        self.draws, self.released = 0, threading.Event()

    async def asample(self, *prompt: Any, **options: Any) -> Any:
        self.draws += 1
        while not self.released.is_set():
            await asyncio.sleep(0.01)
        return await super().asample(*prompt, **options)


class Stuck(Held):
    """Answers a few times at once, then never: a draw ends only when it is cancelled, which `left` says."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.released.set()
        self.after, self.left = after, threading.Event()

    async def asample(self, *prompt: Any, **options: Any) -> Any:
        drawn = await super().asample(*prompt, **options)
        if self.draws <= self.after:
            return drawn
        try:
            return await asyncio.Event().wait()
        finally:
            self.left.set()


def under_way(found: dict[str, float]) -> float:
    return sum(found.get(f"semtropy_requests_{state}", 0) for state in ("in_progress", "waiting"))


def together(
    url: str, bodies: list[dict[str, Any]], model: Held | None = None, *, refused: int = 0
) -> list[Any]:
    """The replies to requests sent at once; `model` is released when all are under way but those `refused`."""

    async def arrived(client: Any) -> None:
        found: dict[str, float] = {}
        while (under_way(found), found.get(REFUSED, 0)) != (len(bodies) - refused, refused):
            found = counted((await client.get(f"{url}/metrics")).text)

    async def all_of_them() -> list[Any]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=PATIENCE, limits=limits) as client:
            asked = [asyncio.create_task(client.post(f"{url}/v1/check", json=body)) for body in bodies]
            if model is not None:
                await asyncio.wait_for(arrived(client), PATIENCE)
                model.released.set()
            return await asyncio.gather(*asked)

    return asyncio.run(all_of_them())


def test_identical_questions_share_one_check() -> None:
    model = Held()
    with gateway(model) as url:
        replies = together(url, [{"prompt": "Who?"}] * 8, model)
        assert all(reply.status_code == 200 for reply in replies)
        sources = sorted(reply.json()["source"] for reply in replies)
        assert sources == ["new", *["shared"] * 7]
        assert len({json.dumps(reply.json()["entropy"]) for reply in replies}) == 1
        draws = model.draws
        again = httpx.post(f"{url}/v1/check", json={"prompt": "Who?"}).json()
        assert (again["source"], model.draws) == ("cached", draws)
        other = httpx.post(f"{url}/v1/check", json={"prompt": "Who?", "threshold": 2.0}).json()
        assert other["source"] == "new"
        mine = httpx.post(f"{url}/v1/check", json={"prompt": "Who?"}, headers={"Authorization": "Bearer k"})
        assert mine.json()["source"] == "new", "another client's check is not handed out"


def test_the_cache_has_a_size_and_an_age() -> None:
    with gateway(cache_size=2) as url:
        for prompt in "abc":
            httpx.post(f"{url}/v1/check", json={"prompt": prompt})
        sources = [
            httpx.post(f"{url}/v1/check", json={"prompt": prompt}).json()["source"] for prompt in "cba"
        ]
        assert sources == ["cached", "cached", "new"]
    with gateway(cache_seconds=0.0) as url:
        sources = [httpx.post(f"{url}/v1/check", json={"prompt": "a"}).json()["source"] for _ in range(2)]
        assert sources == ["new", "new"]


def test_beyond_the_queue_comes_429() -> None:
    model = Held()
    with gateway(model, concurrency=2, queue=3) as url:
        asked = [{"prompt": f"Who {k}?", "rule": {"samples": 1}} for k in range(12)]
        replies = together(url, asked, model, refused=7)
        statuses = sorted(reply.status_code for reply in replies)
        assert statuses == [200] * 5 + [429] * 7
        refused = next(reply for reply in replies if reply.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        assert httpx.post(f"{url}/v1/check", json={"prompt": "after"}).status_code == 200
        assert counters(url)["semtropy_requests_in_progress"] == 0


def test_a_client_that_leaves_ends_its_check() -> None:
    model = Stuck(after=3)
    with gateway(model) as url:
        body = {"prompt": "Who?", "stream": True, "one_by_one": True, "rule": {"samples": 10}}
        with httpx.stream("POST", f"{url}/v1/check", json=body) as reply:
            names = (line for line in reply.iter_lines() if line.startswith("event: "))
            assert [next(names) for _ in range(3)] == ["event: terms", "event: step", "event: step"]
            assert not model.left.is_set()
        assert model.left.wait(10)
        assert model.draws == 4, "no other draw follows"


# Settings


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    assert Settings.gather(environment={}).host == "127.0.0.1"
    assert Settings.gather(environment={"SEMTROPY_HOST": "0.0.0.0"}).host == "0.0.0.0"


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nqueue = 2\nmax_seconds = 3\nkeys = ["a", "b"]\n')
    environment = {"SEMTROPY_QUEUE": "4", "SEMTROPY_CACHE_SIZE": "5", "SEMTROPY_CONFIG": str(file)}
    found = Settings.gather({"cache_size": 6, "mode": None}, environment=environment)
    assert (found.port, found.queue, found.cache_size, found.max_seconds) == (1, 4, 6, 3.0)
    assert found.keys == ("a", "b")
    assert "'a'" not in repr(found)
    assert Settings.gather(environment={"SEMTROPY_KEYS": "x, y"}).keys == ("x", "y")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "there is no setting 'prot': did you mean port"),
        ("port = 'x'", "port: expected a whole number"),
        ("keys = [1]", "keys: expected a list of texts"),
        ("port = ", "is not TOML"),
        ("mode = 'x'", "mode is 'x': choose one of"),
        ("variance = 0.1\nconfidence = 0.9", "set only one of them"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        Settings.gather(file=str(file), environment={})
    with pytest.raises(InputError, match="cannot be read"):
        Settings.gather(file=str(tmp_path / "none.toml"), environment={})
    with pytest.raises(InputError, match="SEMTROPY_PORT is 'x'"):
        Settings.gather(environment={"SEMTROPY_PORT": "x"})


def test_every_setting_but_the_secrets_has_a_flag() -> None:
    from semtropy.cli import parser

    line = ["serve"]
    for each in flag_fields():
        line += [f"--{each.name.replace('_', '-')}", "1"]
    parsed = parser().parse_args(line)
    assert all(getattr(parsed, each.name) is not None for each in flag_fields())
    assert not {"keys", "upstream_key"} & {each.name for each in flag_fields()}


# Processes


@contextmanager
def process(tmp_path: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`semtropy serve` in a process of its own, on a port the system chose."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"*": EVEN}))
    command = [sys.executable, "-m", "semtropy", "serve", "--port", "0", "--judge", "exact"]
    command += ["--model", f"scripted:{script}", *flags]
    log = (tmp_path / "log").open("w+")
    with log, subprocess.Popen(command, stderr=log, text=True, env={**os.environ}) as running:
        try:
            deadline, found = time.monotonic() + PATIENCE, None
            while found is None and time.monotonic() < deadline:
                assert running.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.05)
                found = re.search(r"http://127\.0\.0\.1:\d+", (tmp_path / "log").read_text())
            assert found, (tmp_path / "log").read_text()
            while True:
                try:
                    if httpx.get(f"{found[0]}/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield running, found[0]
        finally:
            running.terminate()
            running.wait(PATIENCE)


def test_a_signal_lets_requests_finish(tmp_path: Path) -> None:
    app = Upstream(lambda prompt: {"Yes": 1.0}, first=1.0)
    with served(app) as base, process(tmp_path, "--upstream", f"{base}/v1") as (running, url):
        replies: list[Any] = []
        body = {"model": "m", "messages": [{"role": "user", "content": "Sure?"}]}
        asking = threading.Thread(
            target=lambda: replies.append(
                httpx.post(f"{url}/v1/chat/completions", json=body, timeout=PATIENCE)
            )
        )
        asking.start()
        while not app.count:
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        asking.join(PATIENCE)
        running.wait(PATIENCE)
        assert replies[0].json()["semtropy"]["flagged"] is False
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/healthz")
    assert running.returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert any(line["event"] == "request" and line.get("flagged") is False for line in lines)


def test_several_workers_add_up_and_are_replaced_when_they_die(tmp_path: Path) -> None:
    """What they counted stays counted, what they had under way is no longer under way."""
    app = Upstream(lambda prompt: {"Yes": 1.0})
    with (
        served(app) as base,
        process(tmp_path, "--workers", "2", "--upstream", f"{base}/v1") as (running, url),
    ):
        replies = together(url, [{"prompt": f"Who {k}?", "model": "m"} for k in range(24)])
        assert {reply.status_code for reply in replies} == {200}  # /readyz speaks for both
        drawn = sum(reply.json()["samples"] for reply in replies)
        for _ in range(5):  # whichever worker answers, the sum is the same
            found = counters(url)
            assert found['semtropy_requests_total{route="/v1/check",status="200"}'] == 24
            assert found["semtropy_samples_total"] == drawn
        app.first, app.count = 2 * PATIENCE, 0
        body = {"model": "m", "messages": [{"role": "user", "content": "Sure?"}]}

        def ask() -> None:
            with suppress(httpx.TransportError):
                httpx.post(f"{url}/v1/chat/completions", json=body, timeout=PATIENCE)

        asking = threading.Thread(target=ask)
        asking.start()
        while not app.count:
            time.sleep(0.01)
        before = counters(url)
        assert before["semtropy_requests_in_progress"] == 1
        for pid in re.findall(r"Started server process \[(\d+)\]", (tmp_path / "log").read_text()):
            os.kill(int(pid), signal.SIGKILL)
        asking.join(PATIENCE)
        assert not asking.is_alive()
        # A killed process is there until its parent has seen it end, so this takes a moment.
        deadline, after = time.monotonic() + PATIENCE, before
        while after["semtropy_requests_in_progress"] != 0:
            assert time.monotonic() < deadline
            with suppress(httpx.TransportError):
                after = counters(url)
            time.sleep(0.1)
        for name in ('semtropy_requests_total{route="/readyz",status="200"}', "semtropy_samples_total"):
            assert after[name] >= before[name] >= 1
    assert running.returncode == 0


def test_readyz_waits_for_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other worker is one more count here: counters of several workers are summed."""
    monkeypatch.setattr(Metrics, "is_shared", True)
    monkeypatch.setattr(Metrics, "_summed", lambda self: self.registry)
    app = create_app(Settings(judge="exact", workers=2), model=ScriptedModel(default=EVEN))
    with served(app, wait=False) as url:
        deadline = time.monotonic() + PATIENCE
        while (reply := httpx.get(f"{url}/readyz")).json()["status"] == "loading":
            assert time.monotonic() < deadline
        assert (reply.status_code, reply.json()["status"]) == (503, "other workers are loading")
        app.state.gateway.metrics.workers_ready.inc()
        assert httpx.get(f"{url}/readyz").status_code == 200


def test_a_port_that_is_taken_is_told(url: str) -> None:
    port = url.rpartition(":")[2]
    command = [sys.executable, "-m", "semtropy", "serve", "--port", port, "--judge", "exact"]
    command += ["--model", "scripted:none.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr == f"semtropy: cannot listen on 127.0.0.1:{port}: Address already in use\n"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--mode", "anotate"], "mode is 'anotate': did you mean annotate?"),
        (["--config", "none.toml"], "none.toml: cannot be read"),
        (["--model", "opnai:x"], "unknown model 'opnai:x': did you mean openai:x?"),
        (["--second", "opnai:x"], "unknown model 'opnai:x': did you mean openai:x?"),
        (["--judge", "bultin"], "no judge is called 'bultin': did you mean builtin?"),
        (["--estimator", "baye"], "no estimator is called 'baye': did you mean bayes?"),
        (["--prior", "none.json"], "none.json: cannot be read"),
        (["--calibration", "none.json"], "none.json: cannot be read"),
        (["--port", "99999"], "port is 99999: at most 65535"),
    ],
)
def test_wrong_settings_end_the_command(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *flags]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"semtropy: {said}")
    assert error.count("\n") == 1


def test_readyz_says_why_not() -> None:
    app = create_app(Settings(judge="exact", model="scripted:none.json"))
    with served(app) as url:
        deadline = time.monotonic() + PATIENCE
        while (reply := httpx.get(f"{url}/readyz")).json()["status"] == "loading":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert reply.status_code == 503
        assert "none.json" in reply.json()["status"]
        assert httpx.get(f"{url}/healthz").status_code == 200

"""The guardrail in a real LiteLLM proxy on loopback, asked by OpenAI's client; the upstream is a scripted endpoint."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else a list of prices is fetched on import
from importlib.util import find_spec

if find_spec("litellm") is None or find_spec("apscheduler") is None:
    pytest.skip("needs LiteLLM's proxy: pip install 'semtropy[litellm]'", allow_module_level=True)

import httpx
from openai import OpenAI
from tools.markdown import blocks

from openai_upstream import Upstream, served

ROOT = Path(__file__).resolve().parents[2]
STEADY, UNSURE = "What is the capital of France?", "Who was the mayor in 1911?"
SPREADS = {STEADY: {"Paris": 1.0}, UNSURE: {f"Dr {name}": 0.1 for name in "ABCDEFGHIJ"}}
REFUSAL = "I am not sure enough of the answer to give it."
KEY = "sk-" + secrets.token_hex(32)
LOGGER = """
import json
from litellm.integrations.custom_logger import CustomLogger

class Log(CustomLogger):
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        entry = kwargs["standard_logging_object"]
        with open("log.jsonl", "a") as file:
            print(json.dumps(entry.get("guardrail_information"), default=str), file=file)

log = Log()
"""


def config(page: str = "litellm.md") -> str:
    """The configuration that the page shows."""
    text = (ROOT / "docs" / "integrations" / page).read_text()
    return next(block.code for block in blocks(text) if block.language == "yaml")


@contextmanager
def proxy(folder: Path, text: str, upstream: str) -> Iterator[str]:
    """A LiteLLM proxy with this configuration, ready."""
    (folder / "config.yaml").write_text(text)
    (folder / "log.py").write_text(LOGGER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "UPSTREAM": upstream, "OPENAI_API_KEY": "sk-upstream"}
    environment["LITELLM_MASTER_KEY"] = KEY
    command = [str(Path(sys.executable).with_name("litellm")), "--config", "config.yaml", "--port", str(port)]
    said = (folder / "said.txt").open("w")
    started = subprocess.Popen(
        [*command, "--host", "127.0.0.1"], cwd=folder, env=environment, stdout=said, stderr=said
    )
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 120
        while True:
            assert started.poll() is None, (folder / "said.txt").read_text()[-3000:]
            assert time.monotonic() < until, "the proxy did not start"
            try:
                if httpx.get(f"{url}/health/liveliness", timeout=2).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.2)
        yield url
    finally:
        started.terminate()
        started.wait(30)
        said.close()


@pytest.fixture(scope="module")
def upstream() -> Iterator[tuple[Upstream, str]]:
    endpoint = Upstream(SPREADS.__getitem__)
    with served(endpoint) as url:
        yield endpoint, f"{url}/v1"


@pytest.fixture(scope="module")
def annotating(tmp_path_factory: Any, upstream: tuple[Upstream, str]) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("annotate")
    text = config() + "\nlitellm_settings:\n  callbacks: log.log\n"
    with proxy(folder, text, upstream[1]) as url:
        yield url, folder


@pytest.fixture(scope="module")
def withholding(tmp_path_factory: Any, upstream: tuple[Upstream, str]) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("withhold")
    text = config().replace("withhold: false", "withhold: true")
    assert "withhold: true" in text
    with proxy(folder, text, upstream[1]) as url:
        yield url


def ask(url: str, question: str, **more: Any) -> Any:
    client = OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    messages = [{"role": "user", "content": question}]
    return client.chat.completions.create(model="m", messages=messages, **more)  # type: ignore[call-overload]


@pytest.mark.parametrize(("question", "outcome"), [(STEADY, "steady"), (UNSURE, "flagged")])
def test_a_reply_has_its_verdict(
    annotating: tuple[str, Path], upstream: tuple[Upstream, str], question: str, outcome: str
) -> None:
    before = len(upstream[0].requests)
    reply = ask(annotating[0], question)
    assert reply.semtropy["outcome"] == outcome
    assert reply.semtropy["answer"] == reply.choices[0].message.content
    assert 0 <= reply.semtropy["score"] <= 1
    sampled = upstream[0].requests[before + 1 :]
    assert sum(body.get("n", 1) for body in sampled) == reply.semtropy["samples"], (
        "no recursion: samples are not checked"
    )
    assert all(body["temperature"] == 1.0 for body in sampled)


def test_the_verdict_is_in_the_headers_too(annotating: tuple[str, Path]) -> None:
    client = OpenAI(base_url=f"{annotating[0]}/v1", api_key=KEY, max_retries=0)
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": STEADY}]
    )
    assert raw.headers["x-semtropy-verdict"] == "steady"


def test_a_stream_passes_and_ends_with_the_verdict(annotating: tuple[str, Path]) -> None:
    chunks = list(ask(annotating[0], UNSURE, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text in SPREADS[UNSURE]
    found = [chunk.semtropy for chunk in chunks if getattr(chunk, "semtropy", None)]
    assert [each["outcome"] for each in found] == ["flagged"]


def test_a_flagged_answer_is_withheld(withholding: str) -> None:
    reply = ask(withholding, UNSURE)
    assert reply.choices[0].message.content == REFUSAL
    assert reply.choices[0].finish_reason == "content_filter"
    assert ask(withholding, STEADY).choices[0].message.content == "Paris"


def test_a_flagged_stream_is_withheld(withholding: str) -> None:
    chunks = list(ask(withholding, UNSURE, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == REFUSAL
    steady = list(ask(withholding, STEADY, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in steady if chunk.choices) == "Paris"


def test_the_logs_have_numbers_and_no_text(annotating: tuple[str, Path]) -> None:
    ask(annotating[0], UNSURE)
    file = annotating[1] / "log.jsonl"
    until = time.monotonic() + 30
    entries: list[Any] = []
    while not any(entries) and time.monotonic() < until:
        rows = file.read_text().splitlines() if file.exists() else []
        entries = [entry for row in rows for entry in json.loads(row) or []]
        time.sleep(0.1)
    flagged = [entry for entry in entries if entry["guardrail_status"] == "guardrail_flagged"]
    assert flagged
    assert flagged[0]["guardrail_name"] == "semtropy"
    assert flagged[0]["guardrail_response"]["gen_ai.evaluation.score.label"] == "flagged"
    assert "Dr " not in json.dumps(flagged)

"""Progress and retries are visible after two seconds: on a terminal, in a pipe, and from Python."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
import threading

import pytest
from rich.console import Console

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy.cli import _terminal as _waiting
from semtropy.cli._terminal import LivePicture
from semtropy.cli.progress import still_asking
from semtropy.models import Retry, load_model
from semtropy.testing import emulate


class Awaited(io.StringIO):
    """A stream that lets a test wait for its first line."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def flush(self):
        if self.getvalue():
            self.written.set()


def test_a_check_that_takes_long_says_so():
    stream = Awaited()
    with still_asking("openai:m", [], stream, first=0.0):
        assert stream.written.wait(10)
    assert stream.getvalue().startswith("semtropy: asking openai:m: 0 s, no samples yet\n")


def test_a_quick_check_says_nothing():
    stream = Awaited()
    with still_asking("openai:m", [], stream):
        pass
    assert stream.getvalue() == ""


def test_the_live_picture_has_a_line_while_it_waits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_waiting.time, "monotonic", lambda: now[0])
    picture = LivePicture("openai:m", lambda: "picture")

    def shown():
        console = Console(width=80, file=io.StringIO())
        console.print(picture())
        return console.file.getvalue()

    assert shown() == "picture\n"
    now[0] += 2.5
    assert "asking openai:m: 2 s, no samples yet ..." in shown()
    picture.update(1)
    assert shown() == "picture\n"
    now[0] += 3
    assert "asking openai:m: 6 s, 1 sample so far ..." in shown()
    picture.finish()
    assert shown() == "picture\n"


def test_in_a_pipe_the_line_goes_to_stderr():
    with emulate("openai", {"Paris": 1.0}, delay=2.6) as endpoint:
        command = [
            sys.executable,
            "-m",
            "semtropy",
            "check",
            "Capital of France?",
            "--json",
            "--judge",
            "exact",
        ]
        command += ["--model", "openai:gpt-4o-mini", "--base-url", endpoint.base_url, "--max-samples", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "semtropy: asking openai:gpt-4o-mini: 2 s, no samples yet\n" in done.stderr
    assert done.stdout.startswith('{"question"')


async def no_sleep(seconds):
    """Retries at once."""


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        ((429, {"Retry-After": "7"}, {"error": {"message": "secret prompt"}}), "too many requests"),
        ((503, {"Retry-After": "7"}, {"error": {"message": "secret prompt"}}), r"it failed \(503\)"),
    ],
)
def test_a_retry_that_is_waited_for_is_logged_without_what_the_endpoint_said(caplog, failure, says):
    endpoint = ScriptedEndpoint(
        lambda prompt: {"a": 1.0}, lambda number, body: failure if number < 2 else None
    )
    caplog.set_level(logging.INFO, "semtropy.models.endpoint")
    with serving(endpoint) as url:
        model = load_model("openai:m", base_url=url, retry=Retry(times=3), sleep=no_sleep)
        model.sample("Which?", 1)
        model.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "trying again in 7.0 s (2 of 3)" in caplog.text
    assert "secret" not in caplog.text
    assert re.search(says, caplog.text)


def test_a_quick_retry_is_no_warning(caplog):
    endpoint = ScriptedEndpoint(lambda prompt: {"a": 1.0}, lambda number, body: 500 if number < 1 else None)
    caplog.set_level(logging.INFO, "semtropy.models.endpoint")
    with serving(endpoint) as url:
        model = load_model("openai:m", base_url=url, retry=Retry(times=3, base=0.001), sleep=no_sleep)
        model.sample("Which?", 1)
        model.close()
    assert [record.levelno for record in caplog.records] == [logging.INFO]

"""A few hundred cases of every fuzzer, without sanitizers; `make fuzz` runs them all, with."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tools.fuzz import FUZZERS, attack_all

import semtropy.entropy.contour as contour

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from semtropy.entropy import Moments


@pytest.mark.parametrize("name", FUZZERS)
def test_a_short_run_is_clean(name: str) -> None:
    if name == "kernel" and contour._kernel is None:
        pytest.skip("the compiled kernel is not built on this machine")
    module = importlib.import_module(FUZZERS[name])
    assert module.CASES > 0
    module.fuzz(getattr(module, "SHORT", 300), seed=1)


def test_a_fault_names_its_case() -> None:
    def attack(rng: np.random.Generator) -> None:
        if rng.integers(10) == 3:
            raise ZeroDivisionError("as planted")

    with pytest.raises(AssertionError, match=r"case \d+ of seed 0: ZeroDivisionError: as planted"):
        attack_all(attack, 100, seed=0)


def test_a_case_that_takes_too_long_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="took"):
        attack_all(lambda rng: None, 1, seed=0, seconds=-1.0)


def test_the_fuzzer_of_beliefs_sees_other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.fuzz import beliefs

    def shifted(function: Callable[..., Moments], *given: object) -> object:
        found = function(*given)
        return replace(found, mean=found.mean + 1e-5)

    monkeypatch.setattr(beliefs, "_in_numpy", shifted)
    with pytest.raises(AssertionError, match="NumPy: the mean is off by"):
        beliefs.fuzz(40, seed=1)
    with pytest.raises(AssertionError, match="no probabilities"):
        beliefs._probabilities([0.5, 1.0000000000000002])


def test_the_judge_of_damaged_replies_sees_faults() -> None:
    pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    from tools.fuzz.upstreams import judge

    judge(502, '{"error": {"type": "upstream_error"}}')
    failed = "internal error in the gateway; its log names the place"
    for text in (
        '{"error": {"type": "server_error"}}',
        f'{{"semtropy": {{"error": {{"message": "{failed}"}}}}}}',
    ):
        with pytest.raises(AssertionError):
            judge(200, text)


def test_the_gateways_judge_sees_faults() -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    from tools.fuzz.gateway import ANSWER, judge

    def reply(status: int, kind: str = "application/json") -> object:
        return httpx.Response(status, headers={"content-type": kind})

    sound = {"plain": True, "sound": True, "path": "/v1/chat/completions"}
    chunk = '{"choices": [{"delta": {"content": "%s"}}]}'
    whole = json.dumps({"choices": [{"message": {"content": ANSWER}}]})
    judge(reply(200), whole, **sound)
    judge(reply(200, "text/event-stream"), f"data: {chunk % ANSWER}\n\ndata: [DONE]\n\n", **sound)
    judge(reply(502), '{"error": {"type": "upstream_error"}}', plain=True, sound=False, path="/v1/check")
    for status, kind, text in (
        (500, "application/json", '{"error": {"type": "server_error"}}'),
        (400, "application/json", "{}"),
        (200, "application/json", '{"choices": [{"message": {"content": "another"}}]}'),
        (200, "text/event-stream", f"data: {chunk % ANSWER}\n\n"),
        (200, "text/event-stream", f"data: {chunk % 'another'}\n\ndata: [DONE]\n\n"),
    ):
        with pytest.raises(AssertionError):
            judge(reply(status, kind), text, **sound)

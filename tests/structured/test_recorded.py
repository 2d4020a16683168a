"""Recordings replayed with structured answers: a wrong field is named, a right one is not, at one check's samples."""

from __future__ import annotations

import functools
import math
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.structured import (
    NAMES,
    SCHEMA,
    PairedQuestions,
    PairResult,
    Stored,
    check_followers,
    check_pairs,
    labelled_judge,
    main,
    pairs_of,
    summary,
)

from scripted_endpoint import ScriptedEndpoint, serving
from semtropy import check
from semtropy.models import load_model
from semtropy.recording import Row, read_recording
from semtropy.verdict import Outcome

FEW = 6
# `make bench` checks a hundred of each. Qwen's answers differ most, and take longest.
PAIRS = {name: 7 if "Qwen" in name else 12 for name in NAMES.values()}


def made_rows() -> list[Row]:
    """Questions answered right and steadily, and questions answered wrong with scattered samples."""
    rng = np.random.default_rng(0)
    rows = []
    for place in range(8):
        right = place % 2 == 0
        meanings = [0] * 20 if right else rng.integers(0, 30, 20).tolist()
        logprob = -0.1 if right else -math.log(30)
        samples = [{"text": f"text {place} {m}", "meaning": int(m), "logprob": logprob} for m in meanings]
        answer = {"text": samples[0]["text"], "meaning": meanings[0], "correct": right}
        rows.append(Row({"id": f"q{place}", "question": "?", "answer": answer, "samples": samples}))
    return rows


def judged(results: list[PairResult]) -> tuple[list[Outcome], list[Outcome]]:
    """Outcomes of right fields and of wrong ones."""
    pairs = [(each.correct[k], each.fields[k]) for each in results for k in (0, 1)]
    return [outcome for right, outcome in pairs if right], [outcome for right, outcome in pairs if not right]


@pytest.mark.parametrize("logprobs", [False, True])
def test_on_made_data_the_wrong_field_is_named_and_the_right_one_is_not(logprobs: bool) -> None:
    results = check_pairs(list(pairs_of(made_rows(), 4)), logprobs=logprobs)
    right, wrong = judged(results)
    assert right == [Outcome.STEADY] * 4
    assert wrong == [Outcome.FLAGGED] * 4
    assert {each.correct for each in results} == {(True, False), (False, True)}, "in either order"


def test_without_log_probabilities_fields_are_judged_as_plain_answers_at_the_samples_of_one_check() -> None:
    for each in check_pairs(list(pairs_of(made_rows(), 4)), logprobs=False):
        assert each.fields == each.alone
        assert each.samples == max(each.samples_alone)


@functools.cache
def recorded_pairs(path: Path) -> list[tuple[Stored, Stored]]:
    return list(pairs_of(list(read_recording(path)), PAIRS[path.name.removesuffix(".jsonl.gz")]))


@functools.cache
def with_log_probabilities(path: Path) -> list[PairResult]:
    return check_pairs(recorded_pairs(path), logprobs=True)


@pytest.mark.parametrize("name", sorted(NAMES.values()))
def test_on_recordings_fields_are_judged_as_plain_answers_at_the_samples_of_one_check(
    shared_data: Path, name: str
) -> None:
    pairs = recorded_pairs(shared_data / "recordings" / f"{name}.jsonl.gz")
    results = check_pairs(pairs[:FEW], logprobs=False)
    assert [each.samples for each in results] == [max(each.samples_alone) for each in results]
    found = summary(results)
    assert found["steady right"][0] == 0, "a right and steady field is never named"
    assert found["flagged wrong"][0] == found["flagged wrong"][1], "a wrong and unsteady one always is"
    assert found["same outcome"][0] >= 2 * FEW - 1, "only samples drawn for the other field can change it"
    assert found["samples"] < found["two plain checks"]


@pytest.mark.parametrize("name", sorted(NAMES.values()))
def test_with_log_probabilities_wrong_fields_are_named_at_half_a_sample_more_at_most(
    shared_data: Path, name: str
) -> None:
    path = shared_data / "recordings" / f"{name}.jsonl.gz"
    results = with_log_probabilities(path)
    found = summary(results)
    assert found["flagged wrong"][0] == found["flagged wrong"][1], "as many as plain checks flag"
    assert found["samples"] <= found["one plain check"] + 0.5
    named, flagged = check_followers(recorded_pairs(path), results)
    assert named > 0.5 * flagged, "certain given a value that is made up is not certain"


class PairEndpoint(ScriptedEndpoint):
    """Deals the samples of a pair as chat completions with log-probabilities, as an endpoint would."""

    def __init__(self, paired: PairedQuestions) -> None:
        super().__init__(lambda prompt: {})
        self.paired, self.waiting = paired, list(paired.samples)

    def choice(self, body: dict[str, Any], rng: Any, *, bare: bool) -> dict[str, Any]:
        sample = self.paired.answer if body["temperature"] < 1 else self.waiting.pop(0)
        values = sample.token_logprobs or ()
        entries = [
            {"token": piece, "logprob": value, "bytes": list(str(piece).encode())}
            for piece, value in zip(sample.tokens or (), values, strict=True)
        ]
        message = {"role": "assistant", "content": sample.text}
        return {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": entries}}


def test_a_recording_replayed_as_an_endpoint_has_its_wrong_field_named(shared_data: Path) -> None:
    """Over HTTP, with log-probabilities of tokens and without that of the end, as OpenAI sends them."""
    path = shared_data / "recordings" / f"{NAMES['Llama-3.2 SVAMP']}.jsonl.gz"
    clear = [
        (pair, result)
        for pair, result in zip(recorded_pairs(path), with_log_probabilities(path), strict=True)
        if {*result.alone} == {Outcome.STEADY, Outcome.FLAGGED}
        and result.correct[result.alone.index(Outcome.STEADY)]
    ]
    assert len(clear) >= 4
    for pair, result in clear:
        endpoint = PairEndpoint(PairedQuestions(*pair))
        with serving(endpoint) as url:
            model = load_model("openai:replayed", base_url=url)
            with closing(model):
                verdict = check("Answer.", model=model, judge=labelled_judge(pair), schema=SCHEMA)
        wrong = ("first", "second")[result.correct.index(False)]
        assert verdict.untrusted == (wrong,)
        assert verdict.samples <= 10


def test_the_benchmark_says_where_its_recordings_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("benchmarks.structured.SHARED", tmp_path / "nowhere")
    monkeypatch.setattr("sys.argv", ["structured"])
    assert main() == 0
    assert "needs the recordings" in capsys.readouterr().out

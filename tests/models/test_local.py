"""The models that need no weights: scripts and recordings."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

from semtropy.checking import check
from semtropy.errors import InputError, ModelError, RecordingError
from semtropy.models import load_model
from semtropy.models.replay import Replay
from semtropy.models.scripted import ScriptedModel
from semtropy.recording import Row, read_recording


def test_a_script_draws_from_its_distribution_at_any_temperature():
    model = ScriptedModel(default={"a": 0.8, "b": 0.2})
    for temperature in (1.0, 0.5):
        odds = (0.8 / 0.2) ** (1 / temperature)
        truth = {"a": odds / (1 + odds), "b": 1 / (1 + odds)}
        drawn = model.sample("q", 4000, temperature=temperature, rng=np.random.default_rng(1))
        counts = Counter(sample.text for sample in drawn)
        for text, p in truth.items():
            assert counts[text] / 4000 == pytest.approx(p, abs=0.03)
        assert {s.text: math.exp(s.logprob) for s in drawn} == pytest.approx(truth)


@pytest.mark.parametrize("answers", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": math.nan}])
def test_a_script_that_is_no_distribution_is_refused(answers):
    with pytest.raises(InputError, match="the script for 'q'"):
        ScriptedModel({"q": answers})


def test_a_script_knows_only_its_prompts():
    with pytest.raises(ModelError, match="no answers for this prompt"):
        ScriptedModel({"q": {"a": 1.0}}).sample("other", 1)


@pytest.mark.parametrize("content", ["[]", "{", '{"q": 3}'])
def test_a_script_file_that_is_wrong_is_named(tmp_path, content):
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"script\.json"):
        load_model(f"scripted:{path}")
    with pytest.raises(InputError, match=r"missing\.json"):
        load_model(f"scripted:{tmp_path / 'missing.json'}")


def test_a_star_answers_all_other_prompts(tmp_path):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"q": {"a": 1.0}, "*": {"b": 1.0}}))
    model = load_model(f"scripted:{path}")
    assert [model.sample(prompt, 1)[0].text for prompt in ("q", "other")] == ["a", "b"]


def row(**changes):
    fields = {
        "id": "1",
        "question": "How many?",
        "answer": {"text": "4"},
        "samples": [{"text": "4", "logprob": -0.5}],
    }
    return Row(fields | changes)


def test_a_recording_answers_with_and_without_its_context():
    rows = [
        row(id="1", context="Two and two.", samples=[{"text": "4"}]),
        row(id="2", context="Two and three.", samples=[{"text": "5"}]),
    ]
    model = Replay(rows)
    assert model.sample("Two and three.\nHow many?", 1)[0].text == "5"
    assert model.sample("How many?", 1)[0].text == "4"
    with pytest.raises(ModelError, match="no such question"):
        model.sample("Why?", 1)


def test_a_low_temperature_gives_the_recorded_answer():
    model = Replay([row(answer={"text": "low"})])
    assert [model.sample("How many?", 1, temperature=t)[0].text for t in (0.1, 1.0)] == ["low", "4"]


def test_a_question_without_samples_has_none():
    assert Replay([row(samples=[])]).sample("How many?", 3) == []


def test_a_file_that_is_no_recording_is_named(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("{}\n")
    with pytest.raises(RecordingError, match=r"run\.jsonl"):
        load_model(f"replay:{path}")


def test_a_stored_run_under_another_rule(shared_data):
    path = shared_data / "recordings" / "Llama-3.2-3B-Instruct--svamp.jsonl.gz"
    model = load_model(f"replay:{path}")
    first = read_recording(path).rows[0]
    verdict = check(
        f"{first.context}\n{first.question}", model=model, judge="exact", estimator="histogram", rng=1
    )
    assert verdict.answer == first.answer.text
    assert {sample.text for sample in verdict.draws} <= {sample.text for sample in first.samples}
    assert all(meaning.floor > 0 for meaning in verdict.meanings)

"""The tables of order and distance: `benchmarks.recorded` against figures worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.recorded import entropy_of_all, main

from semtropy import Partition, Sample
from semtropy.recording import Header, write_recording
from semtropy.recording.arrays import SampleArrays


def test_the_yardstick_is_miller_and_madows() -> None:
    draws = SampleArrays.of([Sample(text) for text in "aabc"], Partition((0, 0, 1, 2)))
    assert entropy_of_all(draws) == pytest.approx(1.5 * math.log(2) + 2 / 8)


def test_tables_of_questions_whose_order_is_plain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From one meaning to eight, all equally likely; the answers to the scattered half are wrong."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": f"q{place}",
            "question": "?",
            "answer": {"text": "a", "correct": size <= 4, "logprob": -math.log(size)},
            "samples": [{"text": f"t{m}", "meaning": int(m)} for m in rng.permutation(840) % size],
        }
        for place, size in enumerate([1, 2, 3, 4, 5, 6, 7, 8] * 3)
    ]
    path, out = tmp_path / "plain.jsonl.gz", tmp_path / "figures.json"
    write_recording(path, Header.make(model="m", dataset="d"), rows)
    options = ["--processes", "1", "--folds", "2", "--budgets", "1", "40", "--json", str(out)]
    main([str(path), *options, "--estimators", "histogram", "log-likelihood", "p-true"])
    said = capsys.readouterr().out
    assert "24 questions, 12 answered wrong; 4.5 meanings of 840 samples (medians)." in said
    assert "p-true is dropped" in said
    told = {(each["estimator"], each["budget"]): each for each in json.loads(out.read_text())["figures"]}
    assert set(told) == {(name, n) for name in ("histogram", "log-likelihood") for n in (1, 40)}
    blind, sharp = told["histogram", 1], told["histogram", 40]
    truth = [math.log(size) + (size - 1) / 1680 for size in range(1, 9)]
    assert (blind["auroc"], blind["rank_correlation"]) == (0.5, 0.0)
    assert blind["distance"] == pytest.approx(math.sqrt(np.mean(np.square(truth))))
    assert sharp["auroc"] > 0.97
    assert sharp["rank_correlation"] > 0.95
    assert sharp["distance"] < 0.2
    surest = told["log-likelihood", 40]
    assert surest == {**told["log-likelihood", 1], "budget": 40}
    assert (surest["auroc"], surest["rank_correlation"], surest["distance"]) == (
        1.0,
        pytest.approx(1.0),
        None,
    )
    assert "| log-likelihood | 1.000 / 1.00 / - | 1.000 / 1.00 / - |" in said

"""Second opinions in studies: joined recordings, curves against cost, steady errors, and fitted weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semtropy import check
from semtropy.calibration import Calibration
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.models import ScriptedModel
from semtropy.study.second import fit_weights, join, study_second

QUESTIONS = 80


def recording(path: Path, seed: int, share: float, *, steady: float = 0.8) -> str:
    """A model that is right on `share` of the questions, and whose errors are mostly repeated."""
    rng = np.random.default_rng(seed)
    lines: list[dict[str, Any]] = [{"semtropy_recording": 1, "model": path.stem, "dataset": "made"}]
    for number in range(QUESTIONS):
        right = bool(rng.random() < share)
        said = "right" if right else f"wrong {seed}"
        again = steady if right else steady - 0.1
        drawn = [said if rng.random() < again else f"other {seed} {rng.integers(9)}" for _ in range(20)]
        meanings = {text: k for k, text in enumerate(dict.fromkeys([said, *drawn]))}
        answer = {"text": said, "correct": right, "meaning": meanings[said]}
        samples = [{"text": text, "meaning": meanings[text]} for text in drawn]
        lines.append({"id": str(number), "question": f"q{number}?", "answer": answer, "samples": samples})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("second")
    shares = {"first": (1, 0.5), "better": (2, 0.9), "worse": (3, 0.15)}
    return {name: recording(folder / f"{name}.jsonl", *each) for name, each in shares.items()}


def test_a_good_second_model_finds_errors_that_samples_do_not(recordings: dict[str, str]) -> None:
    found = study_second(join(recordings["first"], recordings["better"], "exact"), costs=(2, 5), seeds=2)
    for point in found.points:
        assert point.own < 0.8  # the model repeats its errors
        assert point.both > point.own + 0.1
    assert found.caught is not None
    assert found.false_alarms is not None
    assert found.caught > 0.7 > 0.3 > found.false_alarms
    assert "steady and wrong" in found.table()


def test_refitted_weights_know_a_second_model_that_is_mostly_wrong(recordings: dict[str, str]) -> None:
    good, bad = (
        fit_weights(join(recordings["first"], recordings[name], "exact")) for name in ("better", "worse")
    )
    assert bad.other < good.other
    assert bad.about["questions"] == QUESTIONS


def test_recordings_of_other_questions_are_refused(recordings: dict[str, str], tmp_path: Path) -> None:
    lines = Path(recordings["better"]).read_text().replace("?", "!")
    (tmp_path / "elsewhere.jsonl").write_text(lines)
    with pytest.raises(InputError, match="0 graded questions are in both"):
        join(recordings["first"], tmp_path / "elsewhere.jsonl", "exact")


def test_the_commands(recordings: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [recordings["first"], "--second", recordings["better"], "--judge", "exact"]
    out = tmp_path / "second.json"
    study = ["--budgets", "2", "--seeds", "1", "--processes", "1"]
    assert main(["evaluate", *options, *study, "--json", str(out)]) == 0
    assert json.loads(out.read_text())["second"]["points"][0]["cost"] == 2
    file = tmp_path / "calibration.json"
    assert main(["calibrate", *options, "--out", str(file)]) == 0
    assert "a second opinion counts" in capsys.readouterr().out
    calibration = Calibration.load(file)
    assert calibration.second is not None
    asked = {name: ScriptedModel(default={name: 1.0}) for name in ("Paris", "Lyon")}
    agree, differ = (
        check(
            "Capital?",
            model=asked["Paris"],
            second=asked[name],
            calibration=calibration,
            judge="exact",
            rng=1,
        )
        for name in ("Paris", "Lyon")
    )
    assert agree.probability is not None
    assert differ.probability is not None
    assert agree.probability < differ.probability

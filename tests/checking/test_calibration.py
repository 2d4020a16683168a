"""Calibrations: the curve, its file, and the fit on graded questions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy import Belief
from semtropy.calibration import Calibration, Isotonic, Logistic
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.recording import Header, Recording, Row, write_recording
from semtropy.study.calibrate import draw_reliability, fit_calibration, threshold_for
from semtropy.study.evaluate.figures import figure_bytes

QUESTIONS = 30  # enough for five folds of both kinds of answers
CURVES = [Logistic(2.0, -1.5), Isotonic((0.0, 0.5, 1.5), (0.05, 0.05, 0.9))]


def graded(questions: int, seed: int = 0) -> Recording:
    """Questions whose answers are wrong the more often the more meanings they have."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(questions):
        spread = rng.random()
        meanings = rng.choice(6, size=30, p=_shares(spread))
        rows.append(
            Row(
                {
                    "id": str(place),
                    "question": "?",
                    "answer": {"text": "a", "correct": bool(rng.random() > spread)},
                    "samples": [{"text": f"t{m}", "meaning": int(m)} for m in meanings],
                }
            )
        )
    return Recording(Header.make(model="m", dataset="d"), tuple(rows))


def _shares(spread: float) -> np.ndarray:
    shares = np.full(6, spread / 6)
    shares[0] += 1 - spread
    return shares


@pytest.mark.parametrize("curve", CURVES)
def test_file_holds_all(curve: Logistic | Isotonic, tmp_path: Path) -> None:
    made = Calibration(curve, estimator="histogram", threshold=0.3, target_error=0.1, about={"model": "m"})
    made.save(tmp_path / "c.json")
    read = Calibration.load(tmp_path / "c.json")
    assert read == made
    for mean in (0.0, 0.4, 3.0):
        assert read(Belief(mean)) == made(Belief(mean))
        assert read.flags(Belief(mean)) == (made(Belief(mean)) > 0.3)


@pytest.mark.parametrize("curve", CURVES)
@given(probability=st.floats(0.06, 0.89))
def test_entropy_threshold_is_where_flagging_begins(curve: Logistic | Isotonic, probability: float) -> None:
    made = Calibration(curve, estimator="bayes", threshold=probability)
    entropy = made.entropy_threshold
    assert entropy is not None
    assert not made.flags(Belief(entropy - 1e-6))
    assert made.flags(Belief(entropy + 1e-6))


def test_without_a_threshold_nothing_is_flagged_or_passed() -> None:
    assert Calibration(CURVES[0], estimator="bayes").flags(Belief(5.0)) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"semtropy_calibration": 9}, "semtropy_calibration: expected 1"),
        ({"kind": "spline"}, "kind is 'spline'"),
        ({"slope": None}, "c.json"),
        ({"kind": "isotonic"}, "knots: is missing"),
        ({"kind": "isotonic", "knots": [0, 1], "values": [0.5, 0.2]}, "values fall"),
        ({"kind": "isotonic", "knots": [1, 1], "values": [0.2, 0.5]}, "knots do not grow"),
    ],
)
def test_a_wrong_file_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    held = Calibration(CURVES[0], estimator="bayes").to_dict()
    path.write_text(json.dumps({**held, **change}))
    with pytest.raises(InputError, match=message) as caught:
        Calibration.load(path)
    assert "c.json" in str(caught.value)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-1e400", "9" * 400, "[" * 100_000])
@pytest.mark.parametrize("field", ["slope", "intercept", "threshold", "target_error"])
def test_a_number_of_a_file_is_a_number(field: str, text: str, tmp_path: Path) -> None:
    # With NaN every probability was NaN, and NaN compares as "not flagged".
    held = json.dumps({**Calibration(CURVES[0], estimator="bayes").to_dict(), field: "HERE"})
    (tmp_path / "c.json").write_text(held.replace('"HERE"', text))
    with pytest.raises(InputError, match=r"c\.json"):
        Calibration.load(tmp_path / "c.json")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Logistic(math.nan, 0.0),
        lambda: Logistic(1.0, math.inf),
        lambda: Isotonic((math.nan, 1.0), (0.1, 0.9)),
        lambda: Isotonic((0.0, math.inf), (0.1, 0.9)),
        lambda: Isotonic((0.0, 1.0), (0.1, math.nan)),
        lambda: Isotonic((0.0, 1.0), (-1.0, 5.0)),
        lambda: Calibration(CURVES[0], "bayes", threshold=math.nan),
        lambda: Calibration(CURVES[0], "bayes", threshold=2.0),
        lambda: Calibration(CURVES[0], "bayes", threshold=-1.0),
        lambda: Calibration(CURVES[0], "bayes", target_error=math.nan),
    ],
)
def test_no_curve_or_threshold_without_a_probability(make: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        make()


def test_a_file_that_is_no_json_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        Calibration.load(tmp_path / "c.json")
    with pytest.raises(InputError, match="cannot be read"):
        Calibration.load(tmp_path / "none.json")


def test_fitted_probabilities_hold_on_other_questions() -> None:
    fitted = fit_calibration(graded(400), estimator="histogram", budgets=[10])
    others = graded(400, seed=1)
    beliefs = [row.evidence() for row in others]
    wrong = np.array([not row["answer"]["correct"] for row in others])
    from semtropy.estimators import load_estimator

    means = load_estimator("histogram").batch(beliefs).mean
    promised = fitted.calibration.curve(means)
    for low, high in [(0.0, 0.35), (0.35, 0.65), (0.65, 1.0)]:
        group = (promised >= low) & (promised < high)
        assert wrong[group].mean() == pytest.approx(promised[group].mean(), abs=0.12)
    assert fitted.ece < 0.08


def test_the_curve_with_the_lower_held_out_loss_is_taken() -> None:
    fitted = fit_calibration(graded(300), estimator="histogram", budgets=[5])
    kind = type(fitted.calibration.curve).__name__.lower()
    assert fitted.losses[kind] == min(fitted.losses.values())
    assert set(fitted.losses) == {"logistic", "isotonic"}


def test_the_target_error_is_kept() -> None:
    fitted = fit_calibration(graded(400), estimator="histogram", budgets=[10], target_error=0.2)
    assert fitted.error is not None
    assert fitted.error <= 0.2
    assert fitted.kept is not None
    assert fitted.kept > 0.1


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1, max_size=15))
def test_threshold_is_the_largest_that_keeps_the_target(answers: list[tuple[float, bool]]) -> None:
    probabilities, wrong = np.array([p for p, _ in answers]), np.array([bad for _, bad in answers])
    good = [p for p in sorted(set(probabilities)) if wrong[probabilities <= p].mean() <= 0.3]
    assert threshold_for(probabilities, wrong, 0.3) == (good[-1] if good else None)


def test_too_few_grades_are_refused() -> None:
    with pytest.raises(InputError, match="at least 5 wrong and 5 right"):
        fit_calibration(graded(6), estimator="histogram")
    with pytest.raises(InputError, match="target error"):
        fit_calibration(graded(200), estimator="histogram", target_error=1.5)


def test_row_order_does_not_matter() -> None:
    recording = graded(60)
    turned = Recording(recording.header, tuple(reversed(recording.rows)))
    assert fit_calibration(recording, estimator="histogram") == fit_calibration(turned, estimator="histogram")


def test_reliability_figure_is_the_same_every_time() -> None:
    fitted = fit_calibration(graded(100), estimator="histogram")
    first, second = (figure_bytes(draw_reliability(fitted), "png") for _ in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG")


def test_command(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = shared_data / "recordings" / "Llama-2-7b-chat--svamp.jsonl.gz"
    out = tmp_path / "c.json"
    options = ["--estimator", "histogram", "--budgets", "5-10", "--target-error", "0.35"]
    assert main(["calibrate", str(recording), "--out", str(out), *options]) == 0
    said = capsys.readouterr().out
    assert "held-out log loss" in said
    calibration = Calibration.load(out)
    assert calibration.about["questions"] == 300
    assert calibration(Belief(2.0)) > 0.8 > 0.5 > calibration(Belief(0.0))
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    threshold = calibration.threshold
    assert threshold is not None
    scored = ["score", str(recording), "--estimator", "histogram", "--calibration", str(out), "--json"]
    assert main(scored) == 0
    verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(verdicts) == 300
    for verdict in verdicts:
        assert verdict["probability"] == pytest.approx(calibration(Belief(verdict["entropy"]["mean"])))
        assert verdict["flagged"] == (verdict["probability"] > threshold)


@pytest.mark.parametrize(("estimator", "other"), [("histogram", "bayes"), ("bayes", "histogram")])
def test_calibrate_then_score_then_check(
    estimator: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file, made by one command and taken by the two others."""
    recording, file, script = (str(tmp_path / name) for name in ("run.jsonl", "fitted.json", "script.json"))
    write_recording(recording, graded(0).header, graded(QUESTIONS).rows)
    answers = {"Sure?": {"yes": 1.0}, "Who?": {f"name {k}": 0.1 for k in range(10)}}
    Path(script).write_text(json.dumps(answers))

    def told(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
        assert main([*arguments, "--calibration", file, "--json"]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    made = ["--estimator", estimator, "--budgets", "5", "--target-error", "0.3"]
    assert main(["calibrate", recording, "--out", file, *made]) == 0
    calibration = Calibration.load(file)
    assert calibration.threshold is not None
    capsys.readouterr()
    scored = told("score", recording, "--estimator", estimator)
    assert len(scored) == QUESTIONS
    assert {verdict["flagged"] for verdict in scored} == {True, False}
    asked = ["--model", f"scripted:{script}", "--judge", "exact", "--seed", "1", "--estimator"]
    checked = told("check", "Sure?", *asked, estimator) + told("check", "Who?", *asked, estimator, code=3)
    for verdict in scored + checked:
        assert verdict["probability"] == pytest.approx(calibration(Belief(verdict["entropy"]["mean"])))
        assert verdict["flagged"] == (verdict["probability"] > calibration.threshold)
        assert not any("calibration" in warning for warning in verdict["warnings"])

    assert main(["score", recording, "--calibration", file, "--estimator", other]) != 0
    assert f"was fitted for the estimator {estimator}, not {other}" in capsys.readouterr().err
    [mismatched] = told("check", "Who?", *asked, other, code=3)
    assert any(f"was fitted for the estimator {estimator}" in text for text in mismatched["warnings"])


@pytest.mark.parametrize("command", ["score", "check"])
def test_a_calibration_that_is_none_is_named(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(tmp_path / "run.jsonl", graded(0).header, graded(3).rows)
    (tmp_path / "c.json").write_text('{"semtropy_calibration": 9}')
    what = str(tmp_path / "run.jsonl") if command == "score" else "Who?"
    assert main([command, what, "--calibration", str(tmp_path / "c.json")]) != 0
    assert "c.json" in capsys.readouterr().err

"""Guarantees: bounds against SciPy's, how often a promise is broken, and what a verdict says of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy import Belief, check
from semtropy.calibration import Calibration, Guarantee, Logistic, PassedAnswers, upper_bound
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.models import ScriptedModel
from semtropy.recording import Header, Recording, Row, write_recording
from semtropy.study.calibrate import THRESHOLDS, fit_calibration

EDGES = np.linspace(0.05, 1.0, 12)
PROMISE = Guarantee(0.05, 0.95, 0.4, 214, 120, 1, 10, "m on d")


def graded(questions: int, seed: int = 0, *, inverted: bool = False) -> Recording:
    """Half of the questions are steady, and answered rightly 49 times in 50; the others vary, and are mostly wrong."""
    rng, rows = np.random.default_rng(seed), []
    for place in range(questions):
        steady = place % 2 == 0
        meanings = [0] * 12 if steady else rng.integers(0, 6, size=12).tolist()
        right = bool(rng.random() < (0.98 if steady is not inverted else 0.2))
        samples = [{"text": f"t{m}", "meaning": m} for m in meanings]
        answer = {"text": "t0", "meaning": 0, "correct": right}
        rows.append(Row({"id": str(place), "question": "?", "answer": answer, "samples": samples}))
    return Recording(Header.make(model="m", dataset="d"), tuple(rows))


@given(st.integers(0, 20), st.integers(21, 300), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bound_is_clopper_and_pearsons(wrong, n, confidence):
    from scipy.stats import binomtest  # takes longer to import than all of semtropy

    exact = binomtest(wrong, n, alternative="less").proportion_ci(confidence, method="exact").high
    assert upper_bound(wrong, n, confidence) == pytest.approx(exact, abs=1e-9)


def drawn(n, rng):
    """Scores, and errors that become more frequent with them; the error up to each threshold is known."""
    scores = rng.random(n)
    return scores[None] <= EDGES[:, None], rng.random(n) < 0.25 * scores


@pytest.mark.parametrize(("at_most", "n"), [(0.05, 3000), (0.1, 400)])
def test_a_promise_is_broken_no_more_often_than_it_says(at_most, n):
    """The error among scores up to t is 0.125 t."""
    rng, broken, kept, runs = np.random.default_rng(0), 0, [], 600
    for _ in range(runs):
        row = PassedAnswers(*drawn(n, rng)).largest(at_most, 0.95)
        broken += row is not None and 0.125 * EDGES[row] > at_most
        kept.append(0.0 if row is None else EDGES[row])
    assert broken <= 0.05 * runs
    assert np.mean(kept) > 0.4 * at_most / 0.125  # not needlessly low


def test_without_a_fixed_order_promises_would_be_broken():
    """The control: the largest threshold whose own bound holds, chosen after looking at all of them."""
    rng, broken = np.random.default_rng(0), 0
    for _ in range(1000):
        passed, wrong = drawn(600, rng)
        wrong = rng.random(wrong.size) < 0.1  # just what is promised not to be reached, at every threshold
        good = [row for row in passed if upper_bound(int(wrong[row].sum()), int(row.sum()), 0.95) <= 0.0999]
        broken += bool(good)
    assert broken > 80


def test_claims_of_one_answer_are_one_trial():
    rng = np.random.default_rng(1)
    answers = np.repeat(np.arange(60), 10)
    bad = np.repeat(rng.random(60) < 0.12, 10)  # all claims of an answer, or none
    passed = np.ones((1, 600), dtype=bool)
    assert PassedAnswers(passed, bad, answers).largest(0.15, 0.95) is None
    assert PassedAnswers(passed, bad).p_value(0, 0.2) < 0.05  # as if 600 claims were 600 trials
    broken = 0
    for _ in range(500):
        bad = np.repeat(rng.random(150) < 0.16, 4)
        row = PassedAnswers(np.ones((1, 600), dtype=bool), bad, np.repeat(np.arange(150), 4)).largest(
            0.15, 0.95
        )
        broken += row is not None
    assert broken <= 25
    few = PassedAnswers(passed, np.zeros(600, dtype=bool), answers)
    assert few.largest(0.15, 0.95) == 0


def test_what_it_would_take_is_said():
    passed, wrong = np.ones((1, 40), dtype=bool), np.zeros(40, dtype=bool)
    more = PassedAnswers(passed, wrong).more_needed(0.05, 0.95)
    assert 15 <= more <= 50
    assert (
        PassedAnswers(np.ones((1, 40 + more), dtype=bool), np.zeros(40 + more, dtype=bool)).largest(
            0.05, 0.95
        )
        == 0
    )
    assert PassedAnswers(passed, ~wrong).more_needed(0.05, 0.95) is None


def test_a_calibration_carries_its_guarantee(tmp_path):
    fitted = fit_calibration(graded(300), estimator="histogram", budgets=[10], at_most=0.05)
    held = fitted.calibration.guarantee
    assert held.threshold in THRESHOLDS
    assert (held.graded, held.at_most, held.confidence, held.samples) == (300, 0.05, 0.95, 10)
    assert upper_bound(held.wrong, held.passed, 0.95) <= 0.05
    assert (fitted.calibration.flags(Belief(0.0)), fitted.calibration.flags(Belief(2.0))) == (False, True)
    fitted.calibration.save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json") == fitted.calibration


def test_few_grades_are_not_enough_and_bad_ones_never_are():
    with pytest.raises(InputError, match=r"needs about \d+ more"):
        fit_calibration(graded(60), estimator="histogram", budgets=[10], at_most=0.05)
    with pytest.raises(InputError, match="more grades do not change that"):
        fit_calibration(graded(300), estimator="histogram", budgets=[10], at_most=0.005)


def test_bayes_is_replayed_as_it_checks():
    fitted = fit_calibration(graded(50), budgets=[5], at_most=0.3, seeds=1)
    assert 20 <= fitted.calibration.guarantee.passed <= 27
    assert fitted.error <= 0.3


def test_an_inverted_calibration_is_refused():
    with pytest.raises(InputError, match="steadier than right ones"):
        fit_calibration(graded(200, inverted=True), estimator="histogram")


@pytest.mark.parametrize(
    "options",
    [
        {"folds": -3},
        {"folds": 1},
        {"folds": 2.5},
        {"seeds": 0},
        {"at_most": 0.0},
        {"at_most": 1.0},
        {"confidence": 2},
    ],
)
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError):
        fit_calibration(graded(100), estimator="histogram", **options)


def test_verdicts_repeat_the_promise_and_what_it_does_not_cover():
    calibration = Calibration(Logistic(2.0, -1.0), "bayes", 0.4, guarantee=PROMISE)
    verdict = check(
        "Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", calibration=calibration
    )
    assert verdict.guarantee == PROMISE.sentence()
    assert PROMISE.sentence() in verdict.explain().splitlines()
    assert verdict.to_dict()["guarantee"] == PROMISE.sentence()
    assert (
        "214 graded answers of m on d; other questions or another model are not covered" in verdict.guarantee
    )
    learning = {"judge": "exact", "calibration": calibration, "prior": "learn"}
    learned = check("Capital?", model=ScriptedModel(default={"Paris": 1.0}), **learning)
    assert learned.guarantee is None  # it was fitted with another prior
    assert any("The prior learns" in note for note in learned.warnings)
    other = dataclasses.replace(calibration, estimator="nsb")
    assert (
        check(
            "Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", calibration=other
        ).guarantee
        is None
    )


@pytest.mark.parametrize(
    "wrong", [{"at_most": 0}, {"confidence": 1}, {"threshold": 0}, {"wrong": 500}, {"passed": 500}]
)
def test_no_guarantee_without_sense(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(PROMISE, **wrong)


def test_the_command_line_promises_or_says_what_it_would_take(tmp_path, capsys):
    many, few, out = tmp_path / "many.jsonl", tmp_path / "few.jsonl", tmp_path / "c.json"
    for path, questions in ((many, 300), (few, 60)):
        recording = graded(questions)
        write_recording(path, recording.header, recording.rows)
    options = ["--out", str(out), "--estimator", "histogram", "--budgets", "10", "--at-most", "0.05"]
    assert main(["calibrate", str(few), *options]) != 0
    assert "needs about" in capsys.readouterr().err
    assert not out.exists()
    assert main(["calibrate", str(many), *options, "--confidence", "0.9"]) == 0
    assert "with 90% confidence at most 5%" in capsys.readouterr().out

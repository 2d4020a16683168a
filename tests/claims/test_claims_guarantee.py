"""A guarantee about claims: how often it is broken, what a recording gives, and what verdicts make of it."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

from semtropy import check
from semtropy.calibration import Calibration, Guarantee, Isotonic, PassedAnswers
from semtropy.cli import main
from semtropy.errors import InputError
from semtropy.models import ScriptedModel
from semtropy.recording import Header, Recording, Row, write_recording
from semtropy.study.calibrate import DOUBTS, fit_calibration

ANSWER = "Ada Lovelace was born in 1815. Ada Lovelace wrote notes. Ada Lovelace lived in Rome."
AGAIN = ["Ada Lovelace was born in 1815. Ada Lovelace wrote notes."] * 3


def labelled(answers: int, *, wrong: float = 0.02, seed: int = 0) -> Recording:
    """Half of the claims are supported by every sample, and wrong now and then; the others by few, and mostly wrong."""
    rng, rows = np.random.default_rng(seed), []
    for place in range(answers):
        claims = []
        for number in range(8):
            known = number % 2 == 0
            supports = [1] * 5 if known else (rng.random(5) < 0.2).astype(int).tolist()
            correct = bool(rng.random() > (wrong if known else 0.7))
            claims.append({"text": f"claim {number}", "correct": correct, "supports": supports})
        samples = [{"text": "sample"}] * 5
        answer = {"text": "answer", "correct": None}
        held = {"id": str(place), "question": "?", "answer": answer, "samples": samples, "claims": claims}
        rows.append(Row(held))
    return Recording(Header.make(model="m", dataset="d"), tuple(rows))


def calibrated(doubt: float) -> Calibration:
    promised = Guarantee(0.05, 0.95, doubt, 900, 400, 4, 5, "m on d", answers=120)
    return Calibration(Isotonic((0.0, 1.0), (0.0, 1.0)), "claims", doubt, 0.05, guarantee=promised)


@pytest.mark.parametrize("alike", [True, False], ids=["all claims of an answer", "each claim"])
def test_a_promise_about_claims_is_broken_no_more_often_than_it_says(alike):
    """A little more is wrong than is promised: whoever promises it all the same breaks the promise."""
    rng, broken, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        sizes = rng.integers(1, 15, size=150)
        answers = np.repeat(np.arange(150), sizes)
        bad = rng.random(150)[answers] < 0.11 if alike else rng.random(answers.size) < 0.11
        everything = np.ones((1, answers.size), dtype=bool)
        broken += PassedAnswers(everything, bad, answers).largest(0.1, 0.95) is not None
    assert broken <= 0.05 * runs


def test_claims_that_fail_together_are_worth_less_than_single_ones():
    answers, kept = np.repeat(np.arange(100), 8), np.ones((1, 800), dtype=bool)
    together, apart = np.arange(800) < 16, np.arange(800) % 50 == 0
    assert together.sum() == apart.sum()
    found = [PassedAnswers(kept, bad, answers).p_value(0, 0.1) for bad in (together, apart)]
    assert found[1] < found[0] / 2
    assert PassedAnswers(kept, together).p_value(0, 0.1) < found[1]  # as if claims were independent


@pytest.fixture(scope="module")
def long_recording(tmp_path_factory):
    """A hundred answers with labelled claims, as a file."""
    recording, path = labelled(100), tmp_path_factory.mktemp("long") / "long.jsonl"
    write_recording(path, recording.header, recording.rows)
    return path


@pytest.fixture(scope="module")
def written(long_recording):
    """What `semtropy calibrate` writes for it, and prints."""
    out, printed = long_recording.with_name("c.json"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert (
            main(["calibrate", str(long_recording), "--claims", "--at-most", "0.15", "--out", str(out)]) == 0
        )
    return Calibration.load(out), printed.getvalue()


def test_a_long_recording_gives_a_guarantee_or_what_it_would_take(written):
    held = written[0].guarantee
    assert (held.answers, held.graded, held.samples) == (100, 800, 5)
    assert held.threshold in DOUBTS
    assert held.passed >= 300  # the claims that all samples support
    assert held.wrong / held.passed < 0.15
    with pytest.raises(InputError, match=r"12 graded answers are too few .* needs about \d+ more"):
        fit_calibration(labelled(12), estimator="claims", at_most=0.15)
    with pytest.raises(InputError, match="more of the claims that are kept are wrong"):
        fit_calibration(labelled(20, wrong=0.4), estimator="claims", at_most=0.05)
    with pytest.raises(InputError, match="wrong and right ones in at least 5 answers"):
        fit_calibration(labelled(3), estimator="claims")


def test_the_command_line_writes_it_and_checks_repeat_it(written, long_recording, tmp_path):
    calibration, printed = written
    assert "of claims are kept" in printed
    promise = "with 95% confidence at most 15% of the claims that are kept are wrong (800 graded claims in 100 answers"
    assert promise in printed
    verdict = check("Ada?", answer=ANSWER, samples=AGAIN, judge="exact", calibration=calibration)
    assert promise in verdict.guarantee
    assert promise in verdict.explain()
    assert promise in verdict.to_dict()["guarantee"]
    words = ["calibrate", str(long_recording), "--claims", "--second", "x", "--out", str(tmp_path / "c.json")]
    assert main(words) != 0


def test_the_threshold_of_the_guarantee_decides_which_claims_are_kept():
    """The samples are the same; what is kept is what the promise is about."""

    def outcomes(doubt):
        calibration = None if doubt is None else calibrated(doubt)
        options = {"answer": ANSWER, "samples": AGAIN, "judge": "exact", "calibration": calibration}
        return [str(claim.outcome) for claim in check("Ada?", **options).claims]

    assert outcomes(None)[:2] == ["steady", "steady"]
    assert outcomes(0.02)[:2] == ["undecided", "undecided"]  # three samples do not show that much agreement
    assert outcomes(0.3)[:2] == ["steady", "steady"]
    assert outcomes(0.3)[2] != "steady"


def test_with_a_calibration_of_claims_claims_have_probabilities():
    verdict = check("Ada?", answer=ANSWER, samples=AGAIN, judge="exact", calibration=calibrated(0.3))
    for claim in verdict.claims:
        assert claim.score == pytest.approx(claim.agreement.mean)
    assert verdict.probability == pytest.approx(1 - min(claim.agreement.mean for claim in verdict.claims))
    assert verdict.score == pytest.approx(1 - verdict.probability)


def test_a_promise_covers_nothing_but_what_was_replayed():
    """Short answers, second models and follow-up questions are not covered."""
    model = ScriptedModel(default={"Paris": 1.0})
    short = check("Capital?", model=model, judge="exact", calibration=calibrated(0.3))
    assert (short.guarantee, short.probability) == (None, None)
    assert any("about claims" in note for note in short.warnings)
    given = {"answer": ANSWER, "samples": AGAIN, "judge": "exact", "calibration": calibrated(0.3)}
    assert check("Ada?", **given, second=[AGAIN[0]], second_when="always").guarantee is None
    with pytest.raises(InputError, match="follow-up questions"):
        check("Ada?", **given, ask=True)

"""Samples and evidence are checked where they are made: nothing that is no number reaches an estimator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from semtropy import Budget, Evidence, FixedSamples, Sample, check, load_estimator, score
from semtropy.errors import InputError
from semtropy.estimators import NAMES
from semtropy.evidence import JudgedAnswer
from semtropy.recording import Row
from semtropy.scoring import row_scoring
from semtropy.verdict import Outcome

NAN, INF = math.nan, math.inf


class Says:
    """A model that gives one answer, always the same."""

    name = "says"

    def __init__(self, sample: Sample) -> None:
        self.answer = sample

    def sample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        return [self.answer] * n


@pytest.mark.parametrize("name", ["logprob", "sampling_logprob", "prefix_logprob"])
@pytest.mark.parametrize(
    "value",
    [NAN, INF, -INF, 0.7, -(10**400), 10**400, -(10**5000), "x", "-1", [-1.0]],
    ids=lambda value: type(value).__name__,  # str() refuses 10**5000
)
def test_a_log_probability_is_a_finite_number_at_most_0(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} is "):
        Sample("a", **{name: value})
    if name != "sampling_logprob":
        with pytest.raises(InputError, match=f"^{name} is "):
            JudgedAnswer(0, **{name: value})


@pytest.mark.parametrize("value", [NAN, INF, 0.7, 1000.0, -(10**400), "x"])
def test_so_is_that_of_a_token(value: Any) -> None:
    # NaN was "steady, 0" with rescaled-length, and 1000 an OverflowError in every check.
    with pytest.raises(InputError, match=r"^token_logprobs\[1\] is "):
        Sample("a", -0.3, token_logprobs=(-0.1, value))


@pytest.mark.parametrize("value", [NAN, -5, 1.5, "x", True])
def test_a_number_of_tokens_is_a_whole_number(value: Any) -> None:
    with pytest.raises(InputError, match="token_count is "):
        Sample("a", token_count=value)


@pytest.mark.parametrize("logprob", [0.0, -0.0, 5e-324, 0.005, 0.01])
def test_a_log_probability_above_0_is_no_more_believed_than_0(logprob: float) -> None:
    model = Says(Sample("a", logprob, token_logprobs=(logprob,)))
    verdict = check("?", model=model, judge="exact", budget=Budget(samples=2))
    assert verdict.samples > 0
    assert verdict.entropy.variance is not None
    assert verdict.entropy.variance > 0


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "no sample": {"counts": (0,)},
    "a meaning without a sample": {"counts": (0, 1)},
    "a negative count": {"counts": (-3,)},
    "NaN": {"counts": (NAN,)},
    "infinity": {"counts": (INF,)},
    "half a sample": {"counts": (1.5,)},
    "text": {"counts": ("2",)},
    "10**400": {"counts": (10**400,)},
    "a negative floor": {"counts": (1,), "floors": (-0.1,)},
    "a floor of NaN": {"counts": (1,), "floors": (NAN,)},
    "an infinite floor": {"counts": (1,), "floors": (INF,)},
    "a floor that is text": {"counts": (1,), "floors": ("a",)},
    "-1 distinct": {"counts": (1,), "floors": (0.5,), "distinct": (-1,)},
    "NaN distinct": {"counts": (1,), "floors": (0.5,), "distinct": (NAN,)},
    "more distinct than drawn": {"counts": (1,), "floors": (0.5,), "distinct": (10**9,)},
    "-1 without": {"counts": (1,), "floors": (0.5,), "no_logprob": (-1,)},
    "NaN without": {"counts": (1,), "floors": (0.5,), "no_logprob": (NAN,)},
    "NaN among logprobs": {"counts": (1,), "floors": (0.5,), "logprobs": ((NAN,),)},
    "3 among logprobs": {"counts": (1,), "floors": (0.5,), "logprobs": ((3.0,),)},
    "other logprobs than distinct": {"counts": (3,), "floors": (0.5,), "logprobs": ((-1.0, -2.0),)},
    "NaN for a string": {"counts": (1,), "string_floors": (NAN,)},
    "-0.5 for a string": {"counts": (1, 1), "string_floors": (-0.5, 0.1)},
    "NaN for a length": {"counts": (1,), "length_weights": (NAN,)},
    "infinity for a length": {"counts": (1, 1), "length_weights": (INF, 1.0)},
    "NaN for a prefix": {"counts": (1,), "prefix_logprobs": ((NAN,),)},
    "800 for a prefix": {"counts": (1,), "prefix_logprobs": ((800.0,),)},
    "more prefixes than draws": {"counts": (1,), "prefix_logprobs": ((-0.1,),), "prefix_draws": (7,)},
    "an answer without a place": {
        "counts": (2,),
        "floors": (0.5,),
        "answer": JudgedAnswer(0, -0.7, sequence=7),
    },
    "an answer before the first": {
        "counts": (2,),
        "floors": (0.5,),
        "answer": JudgedAnswer(0, -0.7, sequence=-7),
    },
    "a place among none": {"counts": (2,), "answer": JudgedAnswer(0, -0.7, sequence=0)},
    "a place among no prefixes": {"counts": (2,), "answer": JudgedAnswer(0, prefix_logprob=-1.0, sequence=0)},
    "half a meaning": {"counts": (2,), "answer": JudgedAnswer(0.5)},  # type: ignore[arg-type]
}


@pytest.mark.parametrize("given", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_evidence_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Evidence(**given)


def test_evidence_of_arrays_is_that_of_plain_numbers() -> None:
    # The sum of counts of eight bits wrapped around: a negative number of samples.
    small = Evidence(np.array([100, 100], dtype=np.int8), np.array([0.5, 0.1]))  # type: ignore[arg-type]
    plain = Evidence((100, 100), (0.5, 0.1))
    assert small == plain
    assert small.n == 200
    for name in ("miller-madow", "chao-shen", "pitman-yor"):
        assert load_estimator(name)(small).mean == load_estimator(name)(plain).mean


@pytest.mark.parametrize("distinct", [1, 2])
@pytest.mark.parametrize("floor", [5e-324, 0.0])
def test_a_floor_too_small_for_a_double_is_one_all_the_same(floor: float, distinct: int) -> None:
    belief = load_estimator("bayes")(Evidence((2,), (floor,), (distinct,)))
    assert math.isfinite(belief.mean)
    assert belief.variance is not None
    assert belief.variance > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("counts", [(), (2, 0)])
def test_no_method_divides_by_the_samples_it_does_not_have(name: str, counts: tuple[int, ...]) -> None:
    # The judged answer has a meaning of its own; a method that does not use it sees what the samples say.
    evidence = Evidence(counts, answer=JudgedAnswer(max(0, len(counts) - 1)))
    estimator = load_estimator(name)
    try:
        belief, many = estimator(evidence), estimator.batch([evidence])
    except InputError:
        return
    assert math.isfinite(belief.mean)
    assert belief.mean == pytest.approx(float(many.mean[0]), abs=1e-6)
    assert counts or estimator.uses_answer, "an entropy from no samples"


def test_an_answer_spelled_like_a_sample_of_another_meaning() -> None:
    row = Row(
        {
            "id": "1",
            "question": "?",
            "answer": {"text": "b", "sampling_logprob": -1.0, "meaning": 0},
            "samples": [
                {"text": "a", "logprob": -2.0, "meaning": 0},
                {"text": "c", "logprob": -3.0, "meaning": 1},
                {"text": "b", "logprob": -1.0, "meaning": 1},
            ],
        }
    )
    assert row.arrays().evidence([0, 1, 2]) == row.evidence()
    assert math.isfinite(load_estimator("bayes")(row.evidence()).mean)


def test_a_token_of_probability_0_weighs_nothing() -> None:
    verdict = check(
        "?",
        model=Says(Sample("a", -0.3, token_logprobs=(-1e5, -0.3))),
        judge="exact",
        estimator="rescaled-length",
        rule=FixedSamples(2),
    )
    assert verdict.outcome is Outcome.STEADY


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence((50,), answer=JudgedAnswer(0, -0.559008977274827)),
        Evidence((6,), (0.0,), (1,), (0,), ((-10000.0,),), answer=JudgedAnswer(0)),
    ],
)
def test_no_probability_of_an_agreement_is_above_1(evidence: Evidence) -> None:
    agreement = load_estimator("bayes")(evidence).agreement
    assert agreement is not None
    found = [agreement.probability_below(x) for x in (0.0, 0.1, 0.5, 0.9, 1.0)]
    assert found == sorted(found)
    assert 0 <= found[0] <= found[-1] <= 1


@pytest.mark.parametrize("zero", [0.0, -0.0, -1e-300])
def test_a_probability_of_exactly_1_is_not_believed(zero: float) -> None:
    """Servers that do not compute log-probabilities send zeros, and recordings have them by rounding."""
    counted = score(["Rome"], meanings=[0])
    believed = score(["Rome"], logprobs=[zero], meanings=[0])
    assert (believed.mean, believed.variance) == (counted.mean, counted.variance)
    given = score([], answer=Sample("Paris", logprob=zero))
    assert given.mean == score([], answer="Paris").mean
    assert given.agreement is not None
    assert given.agreement.mean < 0.95


def test_a_recorded_zero_is_no_lower_bound_but_what_published_methods_read() -> None:
    """The paper's code takes it for a probability, and so do the methods that repeat what it computes."""
    samples = [{"text": "4", "logprob": 0.0, "meaning": 0}, {"text": "5", "logprob": -2.0, "meaning": 1}]
    answer = {"text": "4", "sampling_logprob": 0.0, "meaning": 0}
    row = Row({"id": "1", "question": "2 + 2?", "answer": answer, "samples": samples})
    evidence = row.evidence()
    assert (evidence.no_logprob, evidence.distinct) == ((1, 0), (0, 1))
    assert evidence.string_floors == (1.0, math.exp(-2.0))
    assert evidence.answer is not None
    assert evidence.answer.logprob is None
    assert row.arrays().evidence([0, 1]) == evidence
    assert row.arrays().evidence([0, 0, 1]).no_logprob == (2, 0)


def test_a_recorded_zero_is_a_rounded_one_where_every_text_is_the_same() -> None:
    samples = [{"text": "4", "logprob": 0.0, "meaning": 0}] * 10
    answer = {"text": "4", "sampling_logprob": 0.0, "meaning": 0}
    row = Row({"id": "1", "question": "2 + 2?", "answer": answer, "samples": samples})
    evidence = row.evidence()
    assert (evidence.no_logprob, evidence.distinct) == ((0,), (1,))
    assert row.arrays().evidence(range(10)) == evidence
    believed = load_estimator("bayes")(row.arrays().evidence([]))
    assert believed.mean < 1e-9
    assert believed.agreement is not None
    assert believed.agreement.mean > 1 - 1e-9


def test_score_says_what_check_says_of_impossible_log_probabilities() -> None:
    belief = score(["Paris", "Rome"], logprobs=[-0.1, -0.1], meanings=[0, 1])
    assert belief.mean == score(["Paris", "Rome"], meanings=[0, 1]).mean
    assert any("sum to more than 1" in note for note in belief.notes)
    rows = [{"text": text, "logprob": -0.1, "meaning": n} for n, text in enumerate(("Paris", "Rome"))]
    [line] = row_scoring()([Row({"id": "1", "question": "?", "samples": rows})])
    assert any("sum to more than 1" in note for note in line.verdict.warnings)

"""Log-probabilities that leave out the end token, and priors that combine several fits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recordings_made import graded_recording
from semtropy import Evidence, Prior, Sample, read_recording, score
from semtropy.errors import InputError
from semtropy.estimators import load_estimator
from semtropy.estimators.bayes import Bayes
from semtropy.estimators.fitting import DEFAULT_ENDS, fit_ends, readings
from semtropy.nouns import JudgedAnswer, Partition
from semtropy.recording import Recording
from semtropy.recording.arrays import SampleArrays
from semtropy.recording.schema import Header, Row

BAYES = Bayes()
SAMPLES = [
    Sample("Paris", prefix_logprob=-0.3),
    Sample("Rome", prefix_logprob=-2.0),
    Sample("Paris", prefix_logprob=-0.3),
    Sample("Rome", prefix_logprob=-3.0),
    Sample("Bonn"),
]
MEANINGS = Partition((0, 1, 0, 1, 2))


def test_prefixes_are_kept_apart_from_lower_bounds() -> None:
    evidence = Evidence.gather(SAMPLES, MEANINGS)
    assert evidence.floors == (0.0, 0.0, 0.0)
    assert evidence.no_logprob == evidence.counts == (2, 2, 1)
    assert evidence.prefix_logprobs == ((-0.3,), (-2.0, -3.0), ())
    assert evidence.prefix_draws == (2, 2, 0)


def test_draws_give_the_same_evidence() -> None:
    answer = Sample("Paris", prefix_logprob=-0.3)
    draws = SampleArrays.of(SAMPLES, MEANINGS, answer, 0)
    for order in ([0, 1, 2, 3, 4], [3, 4], [1, 1, 0]):
        labels = [MEANINGS.meanings[i] for i in order]
        meaning = dict(zip(labels, Partition.of(labels).meanings, strict=True)).get(
            0, Partition.of(labels).size
        )
        picked = [SAMPLES[i] for i in order]
        assert draws.evidence(order) == Evidence.gather(picked, Partition.of(labels), answer, meaning)


def test_each_draw_is_evidence_for_the_end() -> None:
    """A sequence drawn again and again was drawn with its whole probability, so the end is probable."""
    once = Evidence(counts=(1,), prefix_logprobs=((math.log(0.9),),))
    often = replace(once, counts=(9,), no_logprob=(9,), prefix_draws=(9,))
    weights = [math.log(end) for end in DEFAULT_ENDS]
    assert [w for _, w in readings(once, DEFAULT_ENDS)] == pytest.approx(weights)
    assert [w for _, w in readings(often, DEFAULT_ENDS)] == pytest.approx([9 * w for w in weights])
    assert BAYES(often).mean < BAYES(once).mean


def test_a_belief_lies_between_its_readings() -> None:
    evidence = Evidence.gather(SAMPLES[:4], Partition((0, 1, 0, 1)), Sample("Paris", prefix_logprob=-0.3), 0)
    whole = [BAYES(read).mean for read, _ in readings(evidence, DEFAULT_ENDS)]
    belief = BAYES(evidence)
    assert min(whole) <= belief.mean <= max(whole)
    assert BAYES.batch([evidence, evidence]).mean == pytest.approx([belief.mean] * 2)
    assert BAYES.agreements([evidence])[0] == pytest.approx(belief.agreement.mean)
    assert any("leave out the end token" in note for note in belief.notes)


def test_nearly_known_ends_are_as_good_as_known_ones() -> None:
    """With an end whose probability is known, the belief is that of the whole log-probabilities."""
    prior = Prior.default()
    cut = Evidence(counts=(2, 1), prefix_logprobs=((-0.5,), (-2.0,)), prefix_draws=(2, 1))
    shift = math.log(0.9)
    whole = Evidence(
        counts=(2, 1),
        floors=(math.exp(-0.5 + shift), math.exp(-2.0 + shift)),
        logprobs=((-0.5 + shift,), (-2.0 + shift,)),
    )
    assert Bayes(replace(prior, ends=(0.9,)))(cut).mean == pytest.approx(Bayes(prior)(whole).mean, abs=1e-6)


def test_ends_that_cannot_be_are_improbable() -> None:
    """Prefixes that sum to 1.3 leave no room for an end of probability 0.9."""
    cut = Evidence(counts=(1, 1), prefix_logprobs=((math.log(0.7),), (math.log(0.6),)))
    low, high = (weight for _, weight in readings(cut, (0.6, 0.9)))
    assert high < low - 5
    assert math.isfinite(BAYES(cut).mean)


def test_other_methods_see_counts_alone() -> None:
    evidence = Evidence.gather(SAMPLES, MEANINGS)
    plain = Evidence(counts=evidence.counts)
    for name in ("histogram", "bayes-paper"):
        estimator = load_estimator(name)
        assert estimator(evidence).mean == estimator(plain).mean


@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.floats(-60, 0))), min_size=0, max_size=6),
    st.one_of(st.none(), st.floats(-60, -1e-9)),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_left_out_the_belief_is_finite(drawn: list, answer: float | None) -> None:
    partition = Partition.of([label for label, _ in drawn])
    samples = [Sample(f"{label} {logprob}", prefix_logprob=logprob) for label, logprob in drawn]
    judged = Sample("the answer", prefix_logprob=answer)
    belief = BAYES(Evidence.gather(samples, partition, judged, partition.size))
    assert math.isfinite(belief.mean)
    assert belief.variance >= 0
    assert 0 <= belief.agreement.mean <= 1


def test_a_recording_without_ends_is_used() -> None:
    rows = [{"id": "1", "question": "?", "samples": [{"text": "a", "logprob": -0.4, "meaning": 0}]}]
    header = Header.make(model="m", temperature=1.0, eos_included=False)
    row = Row({**rows[0], "answer": {"text": "a", "sampling_logprob": -0.4}}, header=header)
    assert header.ends_left_out
    assert not header.logprobs_usable
    assert row.samples[0].logprob is None
    assert row.samples[0].prefix_logprob == -0.4
    evidence = row.evidence()
    assert evidence.answer == JudgedAnswer(0, None, 0, None, -0.4)
    assert row.arrays().evidence([0]) == evidence
    hot = Header.make(model="m", temperature=0.7, eos_included=False)
    assert not hot.ends_left_out


def test_prior_fit_learns_the_ends_and_takes_recordings_without_them() -> None:
    assert fit_ends([math.log(0.5)] * 3) == DEFAULT_ENDS
    found = fit_ends(np.log(np.linspace(0.4, 1.0, 301)))
    assert found == pytest.approx((0.5, 0.7, 0.9), abs=0.01)
    samples = [{"text": "a", "logprob": -0.4, "meaning": 0}] * 10
    header = Header.make(model="m", temperature=1.0, eos_included=False)
    row = Row({"id": "1", "question": "?", "samples": samples, "answer": {"text": "a"}}, header=header)
    prior = Prior.fit(Recording(header, (row,) * 5))
    assert prior.ends == DEFAULT_ENDS
    assert prior.trained_on == 5


def test_score_takes_an_answer_without_its_end() -> None:
    sure = score([], answer=Sample("Paris", prefix_logprob=-0.01), judge="exact")
    unsure = score([], answer=Sample("Paris", prefix_logprob=-4.0), judge="exact")
    assert sure.mean < unsure.mean


def test_a_combined_prior_is_the_mean_of_its_fits_predictions(tmp_path) -> None:
    """Given the answer alone, its belief is the average of the beliefs of its parts."""
    rows = list(read_recording(graded_recording(tmp_path / "made.jsonl", questions=24)))
    fits = [Prior.fit(rows[:12]), Prior.fit(rows[12:])]
    both = Prior.combine(fits)
    assert both.trained_on == sum(fit.trained_on for fit in fits)
    evidence = Evidence(counts=(), answer=JudgedAnswer(0, -1.0))
    parts = [Bayes(fit)(evidence).mean for fit in fits]
    assert Bayes(both)(evidence).mean == pytest.approx(np.mean(parts), abs=1e-5)
    both.save(tmp_path / "both.json")
    again = Prior.load(tmp_path / "both.json")
    assert Bayes(again)(evidence).mean == pytest.approx(Bayes(both)(evidence).mean, abs=1e-4)
    with pytest.raises(InputError, match="combine at least one"):
        Prior.combine([])

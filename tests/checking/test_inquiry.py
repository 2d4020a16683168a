"""The sampling loop, driven by hand: what it asks for, in which order, and how it ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semtropy.errors import InputError, ModelTimeout, NoAnswer
from semtropy.estimators.bayes import Bayes
from semtropy.estimators.prior import Prior
from semtropy.inquiry.conclusion import conclude
from semtropy.inquiry.loop import Compare, Draw, Drawn, Terms, estimated, inquire
from semtropy.inquiry.steps import PENDING, Step
from semtropy.nouns import Belief, Evidence, Partition, Sample
from semtropy.stopping import Budget, FixedSamples, Reason, Rounds, VarianceBelow


class ByText:
    """Same text, same meaning; a new text is compared with every older one in one batch."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def place(self, text, tokens=None):
        if text not in self.texts:
            if self.texts:
                judged = yield [("q", old, text) for old in self.texts]
                assert len(judged) == len(self.texts)
            self.texts.append(text)
        return self.texts.index(text)


class Shrinking:
    """An estimator whose variance is 1/n."""

    name = "shrinking"
    has_variance = True
    uses_answer = False

    def __call__(self, evidence):
        return Belief(float(len(evidence.counts)), 1 / evidence.n, notes=("A made-up estimator.",))

    def batch(self, evidences):
        raise NotImplementedError


def terms(**changes) -> Terms:
    settings = {"estimator": Shrinking(), "rule": VarianceBelow(0.2), "budget": Budget(samples=10)}
    return Terms(**(settings | changes))


def drive(texts, *, terms=None, clock=lambda: 0.0, question="q"):
    """Play a model that says `texts` in turn; returns every event in order."""
    script = iter(texts)
    loop = inquire(question, terms, ByText(), clock=clock)
    events, reply = [], None
    while True:
        try:
            event = loop.send(reply)
        except StopIteration:
            return events
        events.append(event)
        reply = None
        if isinstance(event, Draw):
            drawn = [Sample(t, -1.0, (t,)) for t in islice(script, event.n)]
            reply = Drawn(drawn, Sample("low", -0.1, ("low",)) if event.answer_at is not None else None)
        elif isinstance(event, Compare):
            reply = np.zeros(len(event.pairs))


def steps_of(events):
    return [event for event in events if isinstance(event, Step)]


def test_the_answer_is_drawn_once_with_the_first_round():
    draws = [e for e in drive("aaaaaaaaaa", terms=terms()) if isinstance(e, Draw)]
    assert [draw.answer_at for draw in draws] == [0.1] + [None] * (len(draws) - 1)
    assert all(draw.temperature == 1.0 for draw in draws)


def test_it_stops_at_the_first_round_whose_variance_is_low_enough():
    steps = steps_of(drive("abcabcabca", terms=terms()))
    assert [step.spent.samples for step in steps] == [1, 2, 3, 5]
    assert [step.reason for step in steps] == [None, None, None, Reason.VARIANCE]
    assert steps[-1].partition == Partition((0, 1, 2, 0, 1))


def test_the_budget_cuts_the_last_round_and_ends_the_loop():
    steps = steps_of(drive("abcabcabca", terms=terms(rule=VarianceBelow(0.0), budget=Budget(samples=4))))
    assert [step.spent.samples for step in steps] == [1, 2, 3, 4]
    assert steps[-1].reason is Reason.SAMPLES


def test_a_fixed_number_goes_out_in_one_round():
    (draw,) = (e for e in drive("abcab", terms=terms(rule=FixedSamples(5))) if isinstance(e, Draw))
    assert draw.n == 5


def test_time_is_read_from_the_clock_given():
    ticks = iter(range(100))
    allowed = terms(rule=VarianceBelow(0.0), budget=Budget(samples=10, seconds=2.5))
    steps = steps_of(drive("aaaaaaaaaa", terms=allowed, clock=lambda: float(next(ticks))))
    assert steps[-1].reason is Reason.SECONDS
    assert steps[-1].spent.seconds == 3.0


def test_tokens_and_judge_calls_are_counted():
    last = steps_of(drive("abc", terms=terms(rule=FixedSamples(3))))[-1]
    assert last.spent.tokens == 4  # three samples and the answer
    assert last.spent.judge_calls == 1 + 2 + 3  # each is compared with the answer too


def test_a_model_that_returns_nothing_at_first_is_an_error():
    with pytest.raises(NoAnswer):
        drive("", terms=terms())


def test_a_model_that_runs_dry_ends_with_what_is_known():
    last = steps_of(drive("ab", terms=terms(rule=VarianceBelow(0.0))))[-1]
    assert (last.reason, last.spent.samples) == (Reason.EXHAUSTED, 2)


def test_time_running_out_in_a_draw_ends_with_what_is_known():
    loop = inquire("q", terms(), ByText(), clock=lambda: 0.0)
    next(loop)
    first = loop.send(Drawn([Sample("a")], Sample("a")))
    assert isinstance(first, Step)
    next(loop)
    last = loop.send(Drawn((), late=True))
    assert isinstance(last, Step)
    assert last.reason is Reason.SECONDS


def test_time_running_out_before_any_answer_is_an_error():
    loop = inquire("q", terms(), ByText())
    next(loop)
    with pytest.raises(ModelTimeout):
        loop.send(Drawn((), late=True))


@pytest.mark.parametrize("prompt", ["", "  \n\t"])
def test_an_empty_prompt_is_refused_before_anything_is_asked(prompt):
    with pytest.raises(InputError, match="prompt is empty"):
        drive("a", terms=terms(), question=prompt)


def test_a_step_without_a_reason_concludes_as_interrupted():
    first = steps_of(drive("abcab", terms=terms()))[0]
    verdict = conclude(first, terms())
    assert verdict.reason is Reason.INTERRUPTED
    assert (verdict.samples, verdict.answer) == (1, "low")


def test_flagging_is_by_threshold_or_by_calibration():
    class Sigmoid:
        estimator = "bayes"

        def __call__(self, belief):
            return 0.4

        def flags(self, belief):
            return None

    last = steps_of(drive("abcab", terms=terms()))[-1]
    assert conclude(last, terms(threshold=2.9)).flagged
    assert not conclude(last, terms(threshold=3.0)).flagged
    calibrated = conclude(last, terms(threshold=0.1, calibration=Sigmoid()))
    assert (calibrated.probability, calibrated.flagged) == (0.4, False)
    assert "fitted for the estimator bayes, not for shrinking" in " ".join(calibrated.warnings)


def test_warnings_name_what_was_missing():
    allowed = terms(rule=FixedSamples(4), budget=Budget(tokens=100))
    loop = inquire("q", allowed, ByText(), clock=lambda: 0.0)
    next(loop)
    step = loop.send(
        Drawn([Sample("a"), Sample("a", -1.0, complete=False), Sample("a", -1.0), Sample("a", -1.0)])
    )
    assert isinstance(step, Step)
    warnings = " ".join(conclude(step, allowed).warnings)
    assert "A made-up estimator." in warnings
    assert "1 of 4 samples came without the log-probability" in warnings
    assert "1 of 4 samples was cut off" in warnings
    assert "token budget could not be kept" in warnings


def test_meanings_are_shown_by_their_commonest_wording():
    samples = (Sample("paris"), Sample("Paris"), Sample("Paris"), Sample("Rome"))
    last = steps_of(drive("abca", terms=terms(rule=FixedSamples(4))))[-1]
    partition = Partition((0, 0, 0, 1))
    step = replace(
        last,
        answer=Sample("PARIS"),
        samples=samples,
        partition=partition,
        answer_meaning=0,
        evidence=Evidence.gather(samples, partition),
    )
    found = step.meanings()
    assert [(m.text, m.count) for m in found] == [("Paris", 3), ("Rome", 1)]
    assert [(w.text, w.count) for w in found[0].wordings] == [("Paris", 2), ("paris", 1), ("PARIS", 0)]


@settings(deadline=None)
@given(
    texts=st.lists(st.sampled_from("abcdé漢"), min_size=10, max_size=10),
    gamma=st.floats(0, 1),
    growth=st.floats(1, 3),
    samples=st.integers(1, 10),
)
def test_whatever_happens_steps_grow_and_only_the_last_has_a_reason(texts, gamma, growth, samples):
    allowed = terms(rule=VarianceBelow(gamma), budget=Budget(samples=samples), rounds=Rounds(growth=growth))
    steps = steps_of(drive(texts, terms=allowed))
    assert [step.reason is None for step in steps] == [True] * (len(steps) - 1) + [False]
    counts = [step.spent.samples for step in steps]
    assert counts == sorted(set(counts))
    assert counts[-1] <= samples
    for earlier, later in pairwise(steps):
        assert later.partition.meanings[: earlier.spent.samples] == earlier.partition.meanings


def test_an_inquiry_goes_on_from_an_earlier_one_once_the_answer_is_there():
    """The rule is asked about the answer: what was enough without it may not be enough with it."""

    class ForOneMeaning:
        """Stops after two samples where all agree, the answer included, else after four."""

        def __call__(self, belief, spent):
            return Reason.DECIDED_LOW if spent.samples >= (2 if belief.mean == 1 else 4) else None

    class Meanings(Shrinking):
        uses_answer = True

        def __call__(self, evidence):
            new = evidence.answer is not None and evidence.answer.meaning == len(evidence.counts)
            return Belief(float(len(evidence.counts) + new), 0.1)

    asked = terms(estimator=Meanings(), rule=ForOneMeaning(), rounds=Rounds(growth=1.0))

    def play(loop):
        events, reply = [], None
        while True:
            try:
                event = loop.send(reply)
            except StopIteration:
                return events
            events.append(event)
            reply = Drawn([Sample("Paris")] * event.n) if isinstance(event, Draw) else None
            if isinstance(event, Compare):
                reply = np.zeros(len(event.pairs))

    earlier = steps_of(play(inquire("q", asked, ByText(), answer=PENDING)))[-1]
    assert (earlier.spent.samples, earlier.reason) == (2, Reason.DECIDED_LOW)
    for text, drawn in (("Paris", 2), ("Berlin", 4)):
        events = play(inquire("q", asked, ByText(), answer=Sample(text), earlier=earlier))
        last = steps_of(events)[-1]
        assert last.spent.samples == len(last.samples) == drawn
        assert sum(event.n for event in events if isinstance(event, Draw)) == drawn - 2
        assert last.spent.rounds >= earlier.spent.rounds
        assert [meaning.has_answer for meaning in last.meanings()] == (
            [True] if drawn == 2 else [False, True]
        )


def test_equal_evidence_is_estimated_once_by_bayes_whatever_the_check_and_anew_by_others(monkeypatch):
    asked = []
    whole = Bayes.__call__
    monkeypatch.setattr(Bayes, "__call__", lambda self, evidence: asked.append(1) or whole(self, evidence))
    evidence = Evidence(counts=(7, 5, 3, 2))
    first, again = (estimated(Bayes(), evidence) for _ in range(2))
    assert first is again
    assert len(asked) == 1
    assert estimated(Bayes(replace(Prior.default(), trained_on=3)), evidence) is not first
    assert estimated(Bayes(), Evidence(counts=(7, 5, 3, 1))).mean != first.mean
    assert len(asked) == 3

    def counted(evidence):
        asked.append(1)
        return Belief(float(len(asked)))

    assert estimated(counted, evidence) != estimated(counted, evidence)

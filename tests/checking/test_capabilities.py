"""Waiting less: what goes out together, and that no sample is drawn that a verdict could not need."""

from __future__ import annotations

import math
from contextlib import closing

import pytest

from semtropy import Budget, Evidence, FixedSamples, Sample, check, load_estimator, stream
from semtropy.capabilities import AT_ONCE, Pace, samples_until_agreement
from semtropy.checking import Checker
from semtropy.models import ScriptedModel
from semtropy.nouns import JudgedAnswer
from semtropy.stopping import RELAXATION, Decided, Rounds, VarianceBelow
from semtropy.testing import PROVIDERS, emulate
from semtropy.testing.providers import BY_NAME

QUESTION = "Which city has the tower?"
SURE = {"Paris": 0.999, "Lyon": 0.001}
RULE = Decided(math.log(2), relaxation=RELAXATION)


def ahead(counts, *, samples=10, rule=RULE, answered=True):
    """How far a verdict is if further samples mean what the last of those counted mean."""
    estimator, drawn = load_estimator("bayes"), sum(counts)

    def believe(more):
        seen = (*counts[:-1], counts[-1] + more) if counts else (more,)
        return estimator(Evidence(seen, answer=JudgedAnswer(len(seen) - 1) if answered else None))

    return samples_until_agreement(believe, rule, drawn=drawn, most=samples - drawn)


def test_the_fewest_samples_that_could_end_in_a_verdict_for_the_answer():
    needed = ahead(())
    assert 2 <= needed <= 8
    for drawn in range(1, needed):
        assert ahead((drawn,)) == needed - drawn
    assert ahead((), samples=needed - 1) is None
    assert ahead((3, 3, 3)) is None  # too torn to be decided soon
    assert ahead((), answered=False) >= 1


def test_other_rules_are_asked_too():
    assert ahead((), rule=VarianceBelow(0.2)) >= 1
    assert ahead((), rule=VarianceBelow(0.0)) is None


@pytest.mark.parametrize("name", sorted({*PROVIDERS} - {"ollama", "placeholder-zeros"}))
def test_a_steady_verdict_takes_at_most_two_round_trips(name):
    with emulate(name, SURE) as endpoint, closing(endpoint.model()) as model:
        first = check(QUESTION, model=model, judge="exact", rng=1)
        later = check(QUESTION, model=model, judge="exact", rng=2)
    assert (first.outcome, later.outcome) == ("steady", "steady")
    assert first.spent.rounds <= 2
    if BY_NAME[name].logprobs == "end":
        assert (first.samples, later.samples) == (1, 1)
    elif BY_NAME[name].logprobs == "no end":  # the answer comes alone first: without its end it may decide
        assert later.spent.rounds <= 2
    else:
        assert later.spent.rounds == 1
        assert later.samples == first.samples


def test_the_first_round_waits_for_the_answer_only_where_it_may_decide():
    known = ScriptedModel(default={"Paris": 0.999, "Lyon": 0.001})
    steps = [*stream(QUESTION, model=known, judge="exact", rng=1)]
    assert (steps[0].spent.samples, len(steps)) == (0, 1)
    with emulate("openai", SURE) as endpoint, closing(endpoint.model()) as model:
        steps = [*stream(QUESTION, model=model, judge="exact", rng=1)]
        assert steps[0].spent.samples == 1


def test_a_budget_is_never_overspent():
    with emulate("anthropic", SURE) as endpoint, closing(endpoint.model()) as model:
        check(QUESTION, model=model, judge="exact", rng=1)
        two = check(QUESTION, model=model, judge="exact", budget=Budget(samples=2), rng=1)
        assert two.samples == 2
        dear = [*stream(QUESTION, model=model, judge="exact", budget=Budget(samples=9, tokens=10_000), rng=1)]
        assert dear[0].spent.samples == 1
        one_by_one = check(QUESTION, model=model, judge="exact", rounds=Rounds(growth=1.0), rng=1)
        assert one_by_one.spent.rounds == one_by_one.samples
        alone = check(QUESTION, model=model, judge="exact", budget=Budget(samples=0), rng=1)
        assert (alone.samples, alone.outcome) == (0, "undecided")


def test_a_fixed_number_still_goes_out_at_once():
    with emulate("gemini", SURE) as endpoint, closing(endpoint.model()) as model:
        verdict = check(QUESTION, model=model, judge="exact", rule=FixedSamples(7), rng=1)
    assert (verdict.samples, verdict.spent.rounds) == (7, 1)


def test_functions_are_asked_like_endpoints():
    calls = []

    def ask(messages, n, temperature):
        calls.append((n, temperature))
        return ["Paris"] * n

    check(QUESTION, model=ask, judge="exact")
    assert calls[:2] == [(1, 1.0), (1, 0.1)]
    assert len(calls) == 3


def test_what_a_function_gives_is_found_out():
    from semtropy.models.function import as_model

    texts, weighed = as_model(lambda *_: ["Paris"]), as_model(lambda *_: [Sample("Paris", -0.1)])
    assert texts.pace == weighed.pace == Pace(weighs_answer=False)
    texts.sample("Where?", 1)
    weighed.sample("Where?", 1)
    assert (texts.pace.weighs_samples, weighed.pace.weighs_samples) == (False, True)


def test_no_more_than_five_samples_go_out_together() -> None:
    """A verdict for the answer takes eight; one against it, which is as probable, takes two."""
    with emulate("anthropic", {"Paris": 1.0}) as endpoint, closing(endpoint.model()) as model:
        checker = Checker.load(model=model, judge="exact", rule=Decided(math.log(2), 0.97))
        checker.check(QUESTION, rng=1)  # finds out what the endpoint gives
        drawn = [step.spent.samples for step in checker.stream(QUESTION, rng=2)]
    sizes = [after - before for before, after in zip([0, *drawn], drawn, strict=False)]
    assert sum(sizes) > AT_ONCE
    assert max(sizes) == AT_ONCE

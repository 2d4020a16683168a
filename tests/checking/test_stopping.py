"""Rules, budgets and rounds: pure, so every property can be checked without a model."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.errors import InputError
from semtropy.estimators import load_estimator
from semtropy.nouns import Belief, Evidence, KnownAgreement
from semtropy.stopping import (
    Budget,
    Decided,
    FixedSamples,
    Price,
    Reason,
    Rounds,
    Rule,
    Spent,
    VarianceBelow,
)


class Above:
    """A distribution that is above any point with a fixed probability."""

    def __init__(self, above: float) -> None:
        self.above = above

    def cdf(self, points):
        return [1 - self.above for _ in points]

    def quantile(self, level: float) -> float:
        return level


def test_the_papers_rule_samples_on_while_the_variance_is_above_gamma():
    rule = VarianceBelow(0.05)
    assert rule(Belief(1.0, 0.0500001), Spent()) is None
    assert rule(Belief(1.0, 0.05), Spent()) is Reason.VARIANCE


def test_decided_stops_on_either_side_and_not_between():
    rule = Decided(0.7, confidence=0.9)
    verdicts = [rule(Belief(1.0, 0.1, Above(p)), Spent()) for p in (0.95, 0.5, 0.05)]
    assert verdicts == [Reason.DECIDED_HIGH, None, Reason.DECIDED_LOW]


class Unasked:
    """A distribution that must not be worked out."""

    def cdf(self, points):
        raise AssertionError("the mean and the variance were enough")

    quantile = cdf


def test_decided_does_not_ask_for_what_mean_and_variance_prove():
    rule = Decided(0.7, confidence=0.9)
    assert rule(Belief(5.0, 0.5, Unasked()), Spent()) is Reason.DECIDED_HIGH
    assert rule(Belief(0.1, 0.03, Unasked()), Spent()) is Reason.DECIDED_LOW
    assert rule(Belief(0.7, 0.0, Above(0.5)), Spent()) is None
    with pytest.raises(AssertionError, match="were enough"):
        rule(Belief(1.0, 0.1, Unasked()), Spent())


@pytest.mark.parametrize("threshold", [0.1, 0.4, 0.7, 1.2, 3.0])
def test_what_is_proven_is_what_the_distribution_says(threshold):
    for evidence in (Evidence((1,), (0.95,)), Evidence((3, 1), (0.5, 0.1)), Evidence((1,) * 5, (1e-6,) * 5)):
        belief = load_estimator("bayes")(evidence)
        above = belief.probability_above(threshold)
        expected = Reason.DECIDED_HIGH if above >= 0.9 else Reason.DECIDED_LOW if above <= 0.1 else None
        assert Decided(threshold, 0.9)(belief, Spent()) is expected


def test_rules_that_need_more_than_a_mean_say_so():
    with pytest.raises(InputError, match="no variance to stop on: use FixedSamples"):
        VarianceBelow(0.1)(Belief(1.0), Spent())
    with pytest.raises(InputError, match="no distribution to decide on"):
        Decided(0.7)(Belief(1.0), Spent())


def test_without_a_distribution_only_what_is_proven_decides():
    assert Decided(0.7)(Belief(5.0, 0.1), Spent()) is Reason.DECIDED_HIGH
    assert Decided(0.7)(Belief(1.0, 0.2), Spent()) is None


def test_an_answer_the_model_mostly_contradicts_is_decided_against():
    low = Belief(0.1, 1e-6, Above(0.0))
    assert Decided(0.7)(replace(low, agreement=KnownAgreement(0.95)), Spent()) is Reason.DECIDED_LOW
    assert Decided(0.7)(replace(low, agreement=KnownAgreement(0.03)), Spent()) is Reason.DECIDED_HIGH


def test_fixed_samples_ignore_the_belief():
    rule = FixedSamples(3)
    assert rule(Belief(0.0, 0.0), Spent(samples=2)) is None
    assert rule(Belief(9.0), Spent(samples=3)) is Reason.FIXED
    assert all(isinstance(r, Rule) for r in (rule, VarianceBelow(1), Decided(1)))


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: VarianceBelow(-1), "gamma"),
        (lambda: VarianceBelow(math.nan), "gamma"),
        (lambda: Decided(0), "threshold"),
        (lambda: Decided(math.nan), "threshold"),
        (lambda: Decided(math.inf), "threshold"),
        (lambda: Decided(-1), "threshold"),
        (lambda: Decided(0.5, 1.0), "confidence"),
        (lambda: FixedSamples(0), "n is 0"),
        (lambda: Budget(samples=-1), "samples"),
        (lambda: Budget(tokens=0), "tokens"),
        (lambda: Budget(seconds=-1), "seconds"),
        (lambda: Budget(cost=1.0), "price"),
        (lambda: Rounds(first=0), "first"),
        (lambda: Rounds(growth=0.5), "growth"),
        (lambda: Rounds(growth=10**400), "growth"),
        (lambda: Decided(10**400), "threshold"),
        (lambda: Decided(0.5, 0.9, "x"), "relaxation"),
        (lambda: Budget(tokens=10**400), "tokens"),
        (lambda: Budget(cost=1, price=3), "price"),
        (lambda: Price(per_sample=math.nan), "per_sample"),
        (lambda: Price(per_token=-1), "per_token"),
        (lambda: Price(per_token=math.inf), "per_token"),
    ],
)
def test_senseless_settings_are_refused_by_name(make, names):
    with pytest.raises(InputError, match=names):
        make()


@pytest.mark.parametrize(
    ("budget", "spent", "reason"),
    [
        (Budget(samples=4), Spent(samples=4), Reason.SAMPLES),
        (Budget(samples=9, tokens=50), Spent(samples=4, tokens=45), Reason.TOKENS),
        (Budget(samples=9, seconds=1), Spent(samples=1, seconds=1.0), Reason.SECONDS),
        (Budget(samples=9, cost=1, price=Price(per_sample=0.5)), Spent(samples=1), Reason.COST),
        (Budget(samples=9), Spent(samples=4, tokens=10**9, seconds=1e9), None),
    ],
)
def test_each_limit_has_its_own_reason(budget, spent, reason):
    assert budget.exhausted(spent) is reason
    assert not (reason and reason.firm)


@pytest.mark.parametrize(
    "budget",
    [
        Budget(samples=10**400),
        Budget(samples=9, tokens=math.inf),
        Budget(samples=9, seconds=math.inf),
        Budget(samples=9, cost=math.inf, price=Price(1.0)),
        Budget(samples=9, cost=1e308, price=Price(5e-324)),
        Budget(samples=9, cost=1.0, price=Price(1e308, 1e308)),
    ],
)
def test_limits_may_be_as_large_as_they_like(budget):
    spent = Spent(samples=3, rounds=1, tokens=30)
    assert (budget.room(spent) == 0) == (budget.exhausted(spent) is not None)


@pytest.mark.parametrize("growth", [math.inf, 1e308])
def test_a_round_is_as_large_as_the_budget_allows(growth):
    assert Rounds(growth=growth).size(Spent(samples=5)) >= 10**6


@pytest.mark.parametrize(
    "belief", [Belief(math.nan, 0.0), Belief(math.inf, 0.0), Belief(0.4, math.nan), Belief(0.4, -1.0)]
)
@pytest.mark.parametrize("rule", [VarianceBelow(0.1), Decided(0.69), FixedSamples(1)])
def test_no_rule_stops_on_what_is_no_belief(rule, belief):
    with pytest.raises(InputError, match="no rule can stop on that"):
        rule(belief, Spent(samples=3))


def test_a_threshold_beyond_all_entropies_is_never_reached():
    assert Decided(1e308)(Belief(0.4, 0.1), Spent()) is Reason.DECIDED_LOW


spending = st.builds(
    Spent, samples=st.integers(0, 30), tokens=st.none() | st.integers(0, 500), seconds=st.floats(0, 10)
)
budgets = st.builds(Budget, samples=st.integers(1, 30), tokens=st.none() | st.integers(1, 500))


@given(budget=budgets, spent=spending)
def test_there_is_room_exactly_while_nothing_is_exhausted(budget, spent):
    assert (budget.room(spent) == 0) == (budget.exhausted(spent) is not None)
    assert spent.samples + budget.room(spent) <= max(budget.samples, spent.samples)


@given(limit=st.integers(1, 500), samples=st.integers(1, 20), each=st.integers(1, 20))
def test_a_round_never_costs_more_tokens_than_are_left_at_the_average(limit, samples, each):
    used = each * (samples + 1)
    room = Budget(samples=1000, tokens=limit).room(Spent(samples=samples, tokens=used))
    assert room == 0 or used + room * each <= limit


@given(first=st.integers(1, 8), growth=st.floats(1, 4), n=st.integers(0, 200))
def test_rounds_always_go_forward(first, growth, n):
    size = Rounds(first, growth).size(Spent(samples=n))
    assert size >= 1
    assert size <= max(first, math.ceil(n * (growth - 1)), 1)


def test_reasons_are_sentences():
    for reason in Reason:
        assert reason.endswith(".")
        assert reason[0].isupper()
    assert Reason(str(Reason.SAMPLES)) is Reason.SAMPLES

"""A belief over two cases is the average of the beliefs in each."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from semtropy import Evidence, load_estimator
from semtropy.evidence import JudgedAnswer
from semtropy.inquiry.steps import OwnValues, mixed
from semtropy.nouns import Belief

BAYES = load_estimator("bayes")
STEADY = BAYES(Evidence(counts=(3,), answer=JudgedAnswer(0, math.log(0.95))))
TORN = BAYES(Evidence(counts=(1, 1, 1), answer=JudgedAnswer(0)))


def test_probabilities_are_averaged() -> None:
    belief = mixed(STEADY, TORN, 0.25)
    assert belief.mean == pytest.approx(0.25 * STEADY.mean + 0.75 * TORN.mean)
    above = [each.probability_above(0.69) for each in (STEADY, TORN, belief)]
    assert above[2] == pytest.approx(0.25 * (above[0] or 0) + 0.75 * (above[1] or 0))
    assert belief.agreement is not None
    assert STEADY.agreement is not None
    assert TORN.agreement is not None
    below = belief.agreement.probability_below(0.5)
    one, other = (each.agreement.probability_below(0.5) for each in (STEADY, TORN))
    assert below == pytest.approx(0.25 * one + 0.75 * other)
    assert STEADY.agreement.mean > belief.agreement.mean > TORN.agreement.mean
    assert STEADY.agreement.rival < belief.agreement.rival < TORN.agreement.rival


def test_variance_has_the_spread_between_the_cases() -> None:
    belief = mixed(Belief(0.0, 0.1), Belief(2.0, 0.3), 0.5)
    assert belief.variance == pytest.approx(0.2 + 1.0)
    assert mixed(Belief(0.0), Belief(2.0, 0.3), 0.5).variance is None


def test_intervals_are_those_of_the_average() -> None:
    belief = mixed(STEADY, TORN, 0.5)
    low, high = belief.interval(0.5) or (0.0, 0.0)
    assert belief.distribution is not None
    assert belief.distribution.cdf([low, high]) == pytest.approx([0.25, 0.75], abs=0.002)
    assert belief.agreement is not None
    low, high = belief.agreement.interval(0.5) or (0.0, 0.0)
    ends = [belief.agreement.probability_below(x) for x in (low, high)]
    assert ends == pytest.approx([0.25, 0.75], abs=0.01)


def test_each_note_is_kept_once() -> None:
    both = mixed(Belief(0.1, notes=("a", "b")), Belief(0.1, notes=("b", "c")), 0.5)
    assert both.notes == ("a", "b", "c")


@pytest.mark.parametrize(
    ("agreeing", "differing", "agreement", "expected"),
    [(0, 0, 0.9, 1 / 2), (1, 0, 1.0, 2 / 3), (3, 0, 1.0, 4 / 5), (0, 1, 1.0, 0.0), (1, 1, 0.5, 0.6)],
)
def test_samples_with_other_earlier_fields_tell_whether_those_matter(
    agreeing: int, differing: int, agreement: float, expected: float
) -> None:
    own = OwnValues(None, (), certain=False, agreeing=agreeing, differing=differing)
    assert own.independence(agreement) == pytest.approx(expected)
    assert OwnValues(None, (), certain=True, differing=9).independence(1.0) == 1.0


@pytest.mark.parametrize(("agreeing", "differing"), [(600, 600), (5000, 5000), (2000, 1), (0, 3000)])
@pytest.mark.parametrize("agreement", [0.0, 0.25, 0.5, 0.9375, 1.0])
def test_many_samples_tell_whether_earlier_fields_matter(
    agreeing: int, differing: int, agreement: float
) -> None:
    # From about 1,030 samples on the binomial coefficient is no float any more.
    own = OwnValues(None, (), certain=False, agreeing=agreeing, differing=differing)
    n, exact = agreeing + differing, Fraction(agreement)
    free, bound = exact**agreeing * (1 - exact) ** differing, Fraction(1, (n + 1) * math.comb(n, agreeing))
    assert own.independence(agreement) == pytest.approx(float(free / (free + bound)), abs=1e-9)

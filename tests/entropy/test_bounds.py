"""Floors without sequences: bare lower bounds, as a field of a structured answer has them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semtropy import Evidence, load_estimator
from semtropy.entropy import moments
from semtropy.entropy.components import DirichletComponent, Observations, SequencePrior
from semtropy.entropy.two_level import component_moments
from semtropy.evidence import JudgedAnswer
from semtropy.stopping import suspicion

PRIORS = (
    SequencePrior(0.1),
    SequencePrior(2.0),
    SequencePrior(0.1, main=2, evenness=1.0),
    SequencePrior(2.0, discount=0.5),
)


def bare(counts: tuple[int, ...], floors: tuple[float, ...], **more: JudgedAnswer) -> Evidence:
    return Evidence(counts, floors, (0,) * len(counts), counts, **more)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(
    ("counts", "floors"), [((3, 1), (0.4, 0.1)), ((2,), (0.3,)), ((1, 4, 2), (0.0, 0.5, 0.01))]
)
def test_bare_bounds_cut_off_the_dirichlet_whatever_the_prior_of_sequences(
    prior: SequencePrior, counts: tuple[int, ...], floors: tuple[float, ...]
) -> None:
    seen = Observations.of(bare(counts, floors))
    found = component_moments([seen], [DirichletComponent(0.5, prior, (3, 5))], on_failure="raise")
    paper = moments(counts, floors, [3, 5], 0.5)
    for name in ("mean", "variance", "log_evidence"):
        np.testing.assert_allclose(getattr(found, name)[0], getattr(paper, name), rtol=1e-7)


def test_a_bound_of_a_meaning_that_was_not_drawn_counts() -> None:
    """Numerically: Dirichlet(0.5, 0.5, 0.5) with one draw of the first, and the second known to be above 0.3."""
    seen = Observations.of(bare((1, 0), (0.0, 0.3)))
    found = component_moments([seen], [DirichletComponent(0.5, PRIORS[0], (3,))], on_failure="raise")
    draws = np.random.default_rng(0).dirichlet([1.5, 0.5, 0.5], 400_000)
    kept = draws[draws[:, 1] >= 0.3]
    entropy = -(kept * np.log(np.maximum(kept, 1e-300))).sum(axis=1)
    assert found.mean[0, 0] == pytest.approx(entropy.mean(), abs=0.005)


def test_a_higher_bound_is_less_entropy_and_less_suspicion() -> None:
    bayes = load_estimator("bayes")
    beliefs = [bayes(bare((2,), (bound,), answer=JudgedAnswer(0))) for bound in (0.0, 0.2, 0.5, 0.8, 0.97)]
    means = [belief.mean for belief in beliefs]
    doubts = [suspicion(belief, math.log(2)) for belief in beliefs]
    assert means == sorted(means, reverse=True)
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[-1] == pytest.approx(0, abs=1e-12)
    counted = bayes(Evidence((2,), answer=JudgedAnswer(0)))
    assert means[0] == pytest.approx(counted.mean, abs=1e-12), "a bound of 0 says nothing"


def test_the_bounds_of_settled_shares_settle_the_entropy() -> None:
    belief = load_estimator("bayes")(bare((1, 1), (0.5, 0.5), answer=JudgedAnswer(0)))
    assert belief.mean == pytest.approx(math.log(2), abs=1e-6)


def test_as_bounds_drops_what_sums_to_more_than_one_and_keeps_the_counts() -> None:
    many = Evidence((1, 2), (0.7, 0.6), (1, 1))
    assert many.as_bounds().floors == (0.0, 0.0)
    assert many.as_bounds().no_logprob == many.counts
    known = Evidence(
        (2,), (0.4,), (1,), logprobs=((math.log(0.4),),), answer=JudgedAnswer(0, math.log(0.4), 0)
    )
    assert known.as_bounds().floors == (0.4,), "the answer is the sequence that was drawn"

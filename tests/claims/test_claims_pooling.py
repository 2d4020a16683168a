"""The pooled posterior against sums written out, limits, and stored votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.claims import LIMITS, _rows, coverage, measure, stored_votes
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, betaln

from semtropy.claims import ClaimPrior, posterior
from semtropy.errors import InputError

ARRAYS = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=6)
)
SOFT = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1, max_size=5)
)


def written_out(votes: Any, prior: ClaimPrior, points: Any) -> tuple[Any, Any]:
    """Means, and P(theta <= point), by the closed forms of the Beta distribution."""
    votes = np.asarray(votes, dtype=float)
    k, n = votes.sum(axis=1)[:, None], votes.shape[1]
    means = len(prior.weights[0])
    m = np.tile((np.arange(means) + 0.5) / means, len(prior.strengths))
    s = np.repeat(prior.strengths, means)
    a, b = s * m, s * (1 - m)
    log = (betaln(a + k, b + n - k) - betaln(a, b)).sum(axis=0) + np.log(np.ravel(prior.weights))
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    below = betainc((a + k)[:, :, None], (b + n - k)[:, :, None], np.asarray(points)[None, None])
    return ((a + k) / (s + n)) @ weights, np.einsum("cgp,g->cp", below, weights)


@given(ARRAYS)
def test_counts_give_the_exact_posterior(votes: list[list[int]]) -> None:
    beliefs = posterior(votes)
    points = [0.05, 0.3, 0.5, 0.9]
    means, below = written_out(votes, ClaimPrior.default(), points)
    np.testing.assert_allclose([belief.mean for belief in beliefs], means, atol=2e-4)
    found = [[belief.probability_below(point) for point in points] for belief in beliefs]
    np.testing.assert_allclose(found, below, atol=2e-3)


@given(SOFT)
def test_beliefs_are_distributions_whatever_the_votes(votes: list[list[float]]) -> None:
    for belief in posterior(votes):
        low, high = belief.interval(0.9)
        assert 0 <= low <= high <= 1
        assert 0 < belief.mean < 1
        assert belief.probability_below(high) - belief.probability_below(low) == pytest.approx(0.9, abs=0.02)
        assert belief.probability_below(0.0) == 0.0
        assert belief.probability_below(1.0) == pytest.approx(1.0)
        narrow = belief.interval(0.5)
        assert narrow[1] - narrow[0] <= high - low + 1e-9


@given(ARRAYS, st.randoms(use_true_random=False))
def test_order_of_claims_and_samples_does_not_matter(votes: list[list[int]], random: Any) -> None:
    claims, samples = list(range(len(votes))), list(range(len(votes[0])))
    random.shuffle(claims)
    random.shuffle(samples)
    shuffled = np.array(votes)[np.ix_(claims, samples)]
    before = [belief.mean for belief in posterior(votes)]
    after = [belief.mean for belief in posterior(shuffled)]
    np.testing.assert_allclose(after, [before[n] for n in claims], rtol=1e-9)


@given(ARRAYS, st.data())
def test_another_vote_for_a_claim_raises_all_claims(votes: list[list[int]], data: st.DataObject) -> None:
    array = np.array(votes)
    zeros = np.argwhere(array == 0)
    if not len(zeros):
        return
    changed = array.copy()
    changed[tuple(data.draw(st.sampled_from(zeros.tolist())))] = 1
    before, after = ([belief.mean for belief in posterior(each)] for each in (array, changed))
    assert all(b <= a + 1e-9 for b, a in zip(before, after, strict=True))


def test_a_vote_of_one_half_says_nothing() -> None:
    plain = [belief.mean for belief in posterior([[1, 0], [1, 1]])]
    doubtful = [belief.mean for belief in posterior([[1, 0, 0.5], [1, 1, 0.5]])]
    np.testing.assert_allclose(doubtful, plain, rtol=1e-9)


def test_the_judges_errors_weaken_its_votes() -> None:
    sure, unsure = posterior([[1, 1, 1]]), posterior([[1, 1, 1]], errors=(0.2, 0.2))
    assert 0.5 < unsure[0].mean < sure[0].mean


def test_a_claim_is_believed_by_its_company() -> None:
    among_good = posterior([[1, 1, 1]] * 5 + [[0, 0, 0]])[-1]
    among_bad = posterior([[0, 0, 0]] * 5 + [[0, 0, 0]])[-1]
    assert among_good.mean > 3 * among_bad.mean
    assert among_bad.interval()[0] == 0.0


def test_no_votes_leave_the_prior() -> None:
    beliefs = posterior(np.zeros((2, 0)))
    assert beliefs[0].mean == pytest.approx(0.5, abs=1e-6)
    assert posterior([]) == []


def test_many_claims_and_samples_stay_finite() -> None:
    votes = np.random.default_rng(0).random((300, 50)) < 0.3
    means = [belief.mean for belief in posterior(votes)]
    assert np.isfinite(means).all()
    assert posterior(np.ones((300, 200)))[0].mean > 0.99


@pytest.mark.parametrize(
    ("support", "said"),
    [
        ([0.5, 1.0], "claims x samples"),
        ([[1.2]], "probabilities"),
        ([[float("nan")]], "probabilities"),
        ([["yes"]], "not an array"),
        ([[1], [1, 0]], "not an array"),
    ],
)
def test_wrong_votes_are_refused(support: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        posterior(support)


def test_wrong_priors_levels_and_errors_are_refused() -> None:
    with pytest.raises(InputError, match="ClaimPrior"):
        posterior([[1]], prior="wide")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="errors"):
        posterior([[1]], errors=(0.5, 0.0))
    with pytest.raises(InputError, match="level"):
        posterior([[1]])[0].interval(1.5)
    with pytest.raises(InputError, match="sum to 1"):
        ClaimPrior((1.0,), ((0.2, 0.2),))
    with pytest.raises(InputError, match="one row"):
        ClaimPrior((1.0, 2.0), ((1.0,),))
    with pytest.raises(InputError, match="not a claim prior"):
        ClaimPrior.from_dict({"weights": [[1.0]]})


def test_fitting_learns_level_and_closeness() -> None:
    rng = np.random.default_rng(0)
    level = rng.beta(8, 2, size=80)
    answers = [(rng.random((8, 6)) < m).astype(float) for m in level]  # the claims of an answer are alike
    prior = ClaimPrior.fit(answers)
    weights = np.array(prior.weights)
    strength = weights.sum(axis=1) @ np.log(prior.strengths)
    assert prior.trained_on == 80
    assert weights.sum() == pytest.approx(1.0)
    assert weights.sum(axis=0) @ (np.arange(60) + 0.5) / 60 == pytest.approx(level.mean(), abs=0.06)
    assert np.exp(strength) > 5
    assert posterior([[0.0]], prior=prior)[0].mean > posterior([[0.0]])[0].mean
    read = ClaimPrior.from_dict(prior.as_dict())
    np.testing.assert_allclose(read.weights, prior.weights, atol=1e-5)
    assert ClaimPrior.fit([]) == ClaimPrior.default()


def test_a_share_of_further_samples_spreads_more_than_the_rate() -> None:
    belief = posterior([[1, 1, 0, 1, 0]])[0]
    low, high = belief.interval(0.9)
    few = belief.interval(0.9, samples=3)
    assert few[0] <= low
    assert few[1] >= high
    assert belief.interval(0.9, samples=5000) == pytest.approx((low, high), abs=0.03)


@pytest.mark.parametrize("name", ["wikibio-gpt3", "factscore--gpt-4", "popqa--gpt-3.5-turbo"])
def test_stored_votes_reach_the_published_figures(shared_data: Path, name: str) -> None:
    path = shared_data / "long" / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("needs the long answers in ../shared/data, which are not part of the project")
    answers = stored_votes(_rows(path))
    for n in (3, 20):
        if (name, n) in LIMITS:
            share, pooled, _, _ = measure(answers, n)
            assert round(pooled, 3) >= LIMITS[name, n]
            assert pooled > share
    if answers[0].votes.shape[1] == 20:
        assert 0.85 <= coverage(answers, 3) <= 0.95

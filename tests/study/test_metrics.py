"""The figures a study tells, against definitions written out in the plainest way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semtropy.errors import InputError
from semtropy.study.evaluate import metrics as bootstrap
from semtropy.study.evaluate.metrics import (
    accuracy_rejection_area,
    auroc,
    calibration_error,
    cross_fitted,
    half_width,
    interval,
    isotonic,
    log_loss,
    logistic,
    resampled_auroc,
    round_scores,
    sigmoid,
)

# Few different values, so that ties are common.
SCORED = st.lists(
    st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.5]), st.booleans()), min_size=2, max_size=12
)


def by_pairs(scores: list[float], wrong: list[bool]) -> float:
    won = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for (a, wrong_a), (b, wrong_b) in itertools.product(zip(scores, wrong, strict=True), repeat=2)
        if wrong_a and not wrong_b
    ]
    return float(np.mean(won))


@given(SCORED)
def test_auroc_counts_pairs(scored: list[tuple[float, bool]]) -> None:
    scores, wrong = [score for score, _ in scored], [bad for _, bad in scored]
    if all(wrong) or not any(wrong):
        assert np.isnan(auroc(scores, wrong))
    else:
        assert float(auroc(scores, wrong)) == pytest.approx(by_pairs(scores, wrong), abs=1e-12)


def test_auroc_of_many_rows_is_that_of_each() -> None:
    rng = np.random.default_rng(1)
    scores, wrong = rng.integers(0, 4, (3, 5, 40)).astype(float), rng.random(40) < 0.4
    together = auroc(scores, wrong)
    assert together.shape == (3, 5)
    assert together[2, 1] == auroc(scores[2, 1], wrong)


@given(SCORED)
def test_auroc_ignores_any_increasing_change_of_scale(scored: list[tuple[float, bool]]) -> None:
    scores, wrong = np.array([score for score, _ in scored]), [bad for _, bad in scored]
    np.testing.assert_array_equal(auroc(scores, wrong), auroc(np.exp(3 * scores), wrong))


@given(SCORED.filter(lambda scored: len(scored) <= 6))
def test_rejection_area_averages_over_the_orders_of_ties(scored: list[tuple[float, bool]]) -> None:
    areas = []
    for order in itertools.permutations(scored):
        ranked = [not bad for _, bad in sorted(order, key=lambda each: each[0])]
        areas.append(np.mean(np.cumsum(ranked) / np.arange(1, len(ranked) + 1)))
    found = accuracy_rejection_area([score for score, _ in scored], [bad for _, bad in scored])
    assert float(found) == pytest.approx(float(np.mean(areas)), abs=1e-12)


def test_rejection_area_rewards_the_right_order() -> None:
    wrong = np.array([False, False, True, True])
    assert accuracy_rejection_area([0, 1, 2, 3], wrong) > accuracy_rejection_area([3, 2, 1, 0], wrong)


def test_calibration_error_by_bins() -> None:
    probabilities = np.array([0.05, 0.15, 0.16, 0.95, 1.0])
    wrong = np.array([True, False, False, True, True])
    gaps = 0.95 / 5 + (0.155 * 2) / 5 + (0.05 + 0.0) / 5
    assert float(calibration_error(probabilities, wrong)) == pytest.approx(gaps)
    both = calibration_error(np.stack([probabilities, probabilities[::-1]]), wrong)
    assert both.shape == (2,)
    assert both[0] == pytest.approx(gaps)


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.1, np.nan], "NaN"), ([0.1, 0.2, 0.3], "last axis"), ([0.1, np.inf], "infinity")],
)
def test_scores_that_cannot_be_ranked_are_refused(scores: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        auroc(scores, [True, False])


def test_probabilities_outside_their_range_are_refused() -> None:
    with pytest.raises(InputError, match="outside"):
        calibration_error([0.2, 1.2], [True, False])


def test_half_width_of_one_draw_is_zero() -> None:
    assert float(half_width([0.7])) == 0.0
    assert half_width(np.zeros((4, 5))).shape == (4,)


def test_settle_makes_ties_of_rounding() -> None:
    assert round_scores(1 / 3 + 1 / 5 + 1 / 7) == round_scores(1 / 7 + 1 / 5 + 1 / 3)
    assert round_scores(0.5) != round_scores(0.5 + 1e-6)


def resampled_plainly(scores: np.ndarray, wrong: np.ndarray, repeats: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, wrong.size, size=(repeats, wrong.size))
    drawn = np.random.default_rng([seed, len(scores)]).multinomial(
        len(scores), [1 / len(scores)] * len(scores), size=repeats
    )
    return np.array(
        [
            auroc(np.repeat(scores[:, pick], times, axis=0), wrong[pick]).mean()
            for pick, times in zip(picks, drawn, strict=True)
        ]
    )


def test_bootstrap_is_auroc_of_resampled_questions_and_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    scores, wrong = rng.integers(0, 5, (3, 30)).astype(float), rng.random(30) < 0.5
    plain = resampled_plainly(scores, wrong, repeats=50, seed=7)
    np.testing.assert_allclose(resampled_auroc(scores, wrong, resamples=50, seed=7), plain, atol=1e-6)
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 30 * 8)  # the same resamples, block by block
    np.testing.assert_allclose(resampled_auroc(scores, wrong, resamples=50, seed=7), plain, atol=1e-6)


def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for trial in range(200):
        wrong = rng.random(60) < 0.5
        strong, weak = rng.normal(wrong * 1.0), rng.normal(wrong * 1.0)  # equally good: the difference is 0
        resamples = resampled_auroc(np.stack([strong, weak])[:, None], wrong, resamples=200, seed=trial)
        low, high = interval(resamples[0] - resamples[1])
        covered += low <= 0 <= high
    assert 0.88 <= covered / 200 <= 0.99


def test_logistic_solves_its_equations() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(3, 200)) * 2 + 1
    wrong = rng.random(200) < sigmoid(1.5 * scores[0] - 1)
    slope, intercept = logistic(scores, wrong)
    gap = wrong - sigmoid(slope[:, None] * scores + intercept[:, None])
    np.testing.assert_allclose(gap.mean(axis=1), 0, atol=1e-5)
    assert slope[0] == pytest.approx(1.5, abs=0.5)
    assert abs(slope[1]) < 0.3


def test_logistic_weights_are_repeats() -> None:
    scores, wrong = np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, True, False, True])
    weights = np.array([1, 2, 3, 1])
    repeated = logistic(np.repeat(scores, weights), np.repeat(wrong, weights))
    np.testing.assert_allclose(logistic(scores, wrong, weights), repeated)


@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 10.0, 11.0]])
def test_logistic_of_constant_or_separable_scores_is_finite(scores: list[float]) -> None:
    slope, intercept = logistic(scores, [False, False, True, True])
    assert np.isfinite([slope, intercept]).all()
    assert (slope == 0) == (scores[0] == scores[-1])


@given(SCORED)
def test_isotonic_beats_every_other_rising_curve(scored: list[tuple[float, bool]]) -> None:
    scores, wrong = np.array([score for score, _ in scored]), np.array([bad for _, bad in scored])
    knots, values = isotonic(scores, wrong)
    assert (np.diff(values) >= 0).all()
    fitted = values[np.searchsorted(knots, scores)]
    best = ((fitted - wrong) ** 2).sum()
    assert fitted.sum() == pytest.approx(wrong.sum())
    for other in itertools.combinations_with_replacement([0, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1], len(knots)):
        rival = np.array(other)[np.searchsorted(knots, scores)]
        assert ((rival - wrong) ** 2).sum() >= best - 1e-9


def test_cross_fitted_never_sees_its_own_label() -> None:
    rng = np.random.default_rng(5)
    scores, wrong = rng.normal(size=(1, 50)), rng.random(50) < 0.5
    before = cross_fitted(scores, wrong)
    flipped = wrong.copy()
    flipped[7] ^= True
    after = cross_fitted(scores, flipped)
    assert before[0, 7] == after[0, 7]
    assert before[0, 8] != after[0, 8]


def test_log_loss_is_finite_for_the_surely_wrong() -> None:
    assert np.isfinite(log_loss([0.0, 1.0], [True, False]))


@pytest.mark.parametrize("metric", [auroc, accuracy_rejection_area, calibration_error])
@pytest.mark.parametrize("wrong", [[None, True], [np.nan, 0.0], [2, 0], ["no", "yes"]])
def test_labels_that_are_neither_are_refused(metric, wrong) -> None:
    # A question that was not graded counted as a correct answer.
    with pytest.raises(InputError, match="wrong"):
        metric([0.1, 0.2], wrong)


@pytest.mark.parametrize("metric", [auroc, accuracy_rejection_area, calibration_error])
def test_of_no_question_nothing_is_known(metric) -> None:
    assert np.isnan(metric([], []))
    assert np.isnan(metric(np.empty((2, 0)), [])).tolist() == [True, True]


@pytest.mark.parametrize("metric", [auroc, accuracy_rejection_area, calibration_error])
def test_scores_that_are_no_numbers_are_refused(metric) -> None:
    with pytest.raises(InputError, match="scores"):
        metric(["a", "b"], [True, False])
